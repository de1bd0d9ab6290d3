import { type ClosedError, TimeoutError } from "./errors.ts";
import type { Clock } from "./host.ts";

type Work = (timeout: number, signal: AbortSignal | undefined) => Promise<void>;

interface Running {
  readonly settled: Promise<void>;
  error: unknown;
  hasFailed: boolean;
  /** Its owner took it back, or gave it less time than others have: that says nothing to them. */
  wasGivenUp: boolean;
}

/**
 * One attempt for many callers, each with a deadline and a signal of its own. Whoever comes first makes it; the others wait
 * and share its outcome, unless it failed only because the first one gave up: then the next of them tries.
 */
export class SharedAttempt {
  readonly #clock: Clock;
  readonly #work: Work;
  readonly #isDone: () => boolean;
  readonly #closed: () => ClosedError | undefined;
  #running: Running | undefined;

  constructor(clock: Clock, work: Work, isDone: () => boolean, closed: () => ClosedError | undefined) {
    this.#clock = clock;
    this.#work = work;
    this.#isDone = isDone;
    this.#closed = closed;
  }

  /** Whether somebody tries just now. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  async join(timeout: number, signal: AbortSignal | undefined): Promise<void> {
    const deadline = this.#clock.monotonic() + timeout;
    while (!this.#isDone()) {
      const closed = this.#closed();
      if (closed) throw closed;
      signal?.throwIfAborted();
      const timeLeft = deadline - this.#clock.monotonic();
      if (!this.#running) {
        const own = this.#run(Math.max(1, timeLeft), signal);
        await own.settled;
        if (own.hasFailed) throw own.error;
        return;
      }
      const others = this.#running;
      if (timeLeft <= 0) throw new TimeoutError(`The client did not start within ${timeout} ms`);
      await this.#wait(others, timeLeft, signal);
      if (others.hasFailed && !others.wasGivenUp) throw others.error;
    }
  }

  #run(timeout: number, signal: AbortSignal | undefined): Running {
    const deadline = this.#clock.monotonic() + timeout;
    const settled = this.#work(timeout, signal).then(
      () => {
        this.#running = undefined;
      },
      (error: unknown) => {
        this.#running = undefined;
        running.hasFailed = true;
        running.error = error;
        running.wasGivenUp = signal?.aborted === true || this.#clock.monotonic() >= deadline - 1;
      },
    );
    const running: Running = { settled, error: undefined, hasFailed: false, wasGivenUp: false };
    this.#running = running;
    return running;
  }

  /** Until the attempt has settled, the time is over, or the signal is aborted. */
  #wait({ settled }: Running, timeout: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = this.#clock.setTimer(timeout, end);
      signal?.addEventListener("abort", end);
      void settled.then(end);
    });
  }
}
