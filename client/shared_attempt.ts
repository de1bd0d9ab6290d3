import type { RocketMQError } from "./errors.ts";
import type { Clock } from "./host.ts";
import { TIMER_MAX } from "./limit.ts";
import type { Signals } from "./signals.ts";

type Work<T> = (timeout: number, signal: AbortSignal | undefined) => Promise<T>;

interface Running<T> {
  readonly deadline: number;
  /** Never rejects. */
  readonly ended: Promise<Ended<T>>;
}

type Ended<T> =
  | { readonly value: T }
  /** Taken back by its owner, which says nothing to others; or out of the owner's time, of which others may have more. */
  | { readonly error: unknown; readonly wasAborted: boolean; readonly wasLate: boolean };

/** Callers whose deadlines differ by less, in ms, share the failure too. */
const SAME = 10;

/**
 * One attempt for many callers, each with a deadline and a signal of its own. Whoever comes first makes it; the others wait
 * and share its outcome, unless it failed only because the first one gave up: then the next of them tries.
 */
export class SharedAttempt<T> {
  readonly #clock: Clock;
  readonly #signals: Signals;
  readonly #work: Work<T>;
  readonly #late: (timeout: number) => RocketMQError;
  #running: Running<T> | undefined;

  /** `late` makes the error of a caller whose time is over before the attempt of another one has ended. */
  constructor(clock: Clock, signals: Signals, work: Work<T>, late: (timeout: number) => RocketMQError) {
    this.#clock = clock;
    this.#signals = signals;
    this.#work = work;
    this.#late = late;
  }

  /** Whether somebody tries just now. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /**
   * `timeout` in ms; Infinity leaves it to the attempt itself. Rejects with what the attempt failed with, with `late`'s error,
   * or with `signal.reason`.
   */
  async join(timeout: number, signal: AbortSignal | undefined): Promise<T> {
    const deadline = this.#clock.monotonic() + timeout;
    while (true) {
      signal?.throwIfAborted();
      const timeLeft = deadline - this.#clock.monotonic();
      const others = this.#running;
      if (!others) {
        if (timeLeft <= 0) throw this.#late(timeout);
        const ended = await this.#run(timeLeft, signal);
        if ("value" in ended) return ended.value;
        throw ended.error;
      }
      const ended = await this.#wait(others, timeLeft, signal);
      if (!ended) {
        signal?.throwIfAborted();
        throw this.#late(timeout);
      }
      if ("value" in ended) return ended.value;
      const mayTry = ended.wasAborted || (ended.wasLate && deadline >= others.deadline + SAME);
      if (!mayTry) throw ended.error;
    }
  }

  #run(timeout: number, signal: AbortSignal | undefined): Promise<Ended<T>> {
    const deadline = this.#clock.monotonic() + timeout;
    const ended = this.#work(timeout, signal).then(
      (value) => {
        this.#running = undefined;
        return { value };
      },
      (error: unknown) => {
        this.#running = undefined;
        return { error, wasAborted: signal?.aborted === true, wasLate: this.#clock.monotonic() >= deadline - 1 };
      },
    );
    this.#running = { deadline, ended };
    return ended;
  }

  /** Until the attempt has ended, the time is over, or the signal is aborted; then undefined. */
  #wait(
    { deadline, ended }: Running<T>,
    timeout: number,
    signal: AbortSignal | undefined,
  ): Promise<Ended<T> | undefined> {
    const now = this.#clock.monotonic();
    return new Promise((resolve) => {
      const end = (outcome?: Ended<T>): void => {
        timer.cancel();
        forget?.();
        resolve(outcome);
      };
      // An attempt that ends at about the same time says why; the clock does not.
      const patience = Math.abs(now + timeout - deadline) < SAME ? timeout + 2 * SAME : timeout;
      const timer = this.#clock.setTimer(Math.max(0, Math.min(patience, TIMER_MAX)), () => end());
      const forget = signal && this.#signals.listen(signal, () => end());
      void ended.then(end);
    });
  }
}
