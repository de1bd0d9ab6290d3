import { ArgumentError, ClosedError } from "./errors.ts";
import { checkWait } from "./options.ts";
import { type ClientEvents, Emitter, reasonOf } from "./events.ts";
import { didNotStart, type Instance, type Member } from "./instance.ts";
import { SharedAttempt } from "./shared_attempt.ts";

export interface CallOptions {
  signal?: AbortSignal;
  timeout?: number;
}

export interface ClientStats {
  readonly connections: number;
  readonly inFlight: number;
  readonly bytesIn: bigint;
  readonly bytesOut: bigint;
  readonly coreBytesInUse: number;
}

export type ClientState = "created" | "running" | "draining" | "closed";

/** What producers, consumers and shared clients have in common. */
export interface Client<Events extends object = ClientEvents> extends AsyncDisposable {
  /** Empty until the first connection is made. */
  readonly clientId: string;
  readonly state: ClientState;
  /** Optional: the first call that needs it starts the client. */
  start(options?: CallOptions): Promise<this>;
  /** Idempotent, callable from inside a handler: stop intake, drain, persist offsets, unregister, close. The timeout always wins. */
  shutdown(options?: { timeout?: number }): Promise<void>;
  on<Name extends keyof Events & string>(
    event: Name,
    listener: (detail: Events[Name]) => void,
    options?: { signal?: AbortSignal },
  ): () => void;
  stats(): ClientStats;
}

const SHUTDOWN_TIMEOUT = 30_000;
/** What closing sockets may take when the time is over, ms. */
const CLOSE_TIME = 250;

/** Start, shutdown and events of one member of an instance. */
export abstract class BaseClient<Events extends ClientEvents = ClientEvents> implements Client<Events>, Member {
  readonly instance: Instance;
  /** Whether the instance ends with this member. */
  readonly #ownsInstance: boolean;
  readonly #emitter: Emitter<Events>;
  #state: ClientState = "created";
  #aborted: (() => void) | undefined;
  readonly #starting: SharedAttempt<void>;
  #closing: Promise<void> | undefined;

  constructor(instance: Instance, ownsInstance: boolean) {
    this.instance = instance;
    this.#ownsInstance = ownsInstance;
    this.#emitter = new Emitter<Events>((error) =>
      instance.log("error", "An event listener threw", { error: reasonOf(error) })
    );
    this.#starting = new SharedAttempt(
      instance.host.clock,
      instance.signals,
      (timeout, signal) => this.#start(timeout, signal),
      didNotStart,
    );
    const { signal } = instance.options;
    if (ownsInstance && signal) {
      const aborted = this.#aborted = (): void => void this.shutdown();
      if (signal.aborted) instance.host.defer(aborted);
      else signal.addEventListener("abort", aborted, { once: true });
    }
  }

  /** Once, when the instance is there. */
  protected abstract started(timeout: number, signal: AbortSignal | undefined): Promise<void>;
  /** Stop intake, drain, say goodbye; `timeLeft` says how many ms there are. */
  protected abstract stopped(timeLeft: () => number): Promise<void>;

  get clientId(): string {
    return this.instance.clientId;
  }

  get state(): ClientState {
    return this.#state;
  }

  async start(options?: CallOptions): Promise<this> {
    const { timeout, signal } = options ?? {};
    checkWait(timeout, signal);
    await this.ready(timeout ?? this.instance.options.requestTimeout, signal);
    return this;
  }

  /** Starts unless it has started. A failed start can be tried again. */
  ready(timeout: number, signal?: AbortSignal): Promise<void> {
    if (this.#state === "running") return Promise.resolve();
    return this.#starting.join(timeout, signal);
  }

  async #start(timeout: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    this.#checkOpen();
    this.instance.join(this);
    try {
      await this.instance.start(timeout, signal);
      this.#checkOpen();
      await this.started(timeout, signal);
      this.#checkOpen();
    } catch (error) {
      if (this.#state === "created") this.instance.leave(this);
      throw error;
    }
    this.#state = "running";
  }

  #checkOpen(): void {
    if (this.#closing) throw this.closedError();
  }

  closedError(): ClosedError {
    return new ClosedError("The client was closed");
  }

  shutdown(options?: { timeout?: number }): Promise<void> {
    const { timeout = SHUTDOWN_TIMEOUT } = options ?? {};
    if (typeof timeout !== "number" || !(timeout >= 0)) {
      return Promise.reject(new ArgumentError(`timeout must be a number of milliseconds, got ${String(timeout)}`));
    }
    return this.#closing ??= this.#shutdown(Math.min(timeout, 2 ** 31 - 1));
  }

  /** Whether there is anything to stop. */
  protected get mustStop(): boolean {
    return this.#state === "running" || this.#starting.isRunning;
  }

  async #shutdown(timeout: number): Promise<void> {
    const { clock } = this.instance.host;
    const deadline = clock.monotonic() + timeout;
    const mustStop = this.mustStop;
    this.#state = "draining";
    if (this.#aborted) this.instance.options.signal?.removeEventListener("abort", this.#aborted);
    const timeLeft = (): number => Math.max(0, deadline - clock.monotonic());
    if (mustStop) await this.within(timeLeft(), this.stopped(timeLeft));
    this.instance.leave(this);
    // Sockets end within a turn, unless something is very wrong with one: the timeout wins over that too.
    if (this.#ownsInstance) await this.within(Math.max(timeLeft(), CLOSE_TIME), this.instance.close());
    this.#state = "closed";
  }

  /** Settles with `work`, or after `timeout` ms, whatever comes first. What `work` throws is reported. */
  protected within(timeout: number, work: Promise<void>): Promise<void> {
    return new Promise<void>((resolve) => {
      const timer = this.instance.host.clock.setTimer(timeout, resolve);
      work.catch((error: unknown) => this.instance.report(error)).finally(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  on<Name extends keyof Events & string>(
    event: Name,
    listener: (detail: Events[Name]) => void,
    options?: { signal?: AbortSignal },
  ): () => void {
    return this.#emitter.on(event, listener, options);
  }

  emit<Name extends keyof Events & string>(event: Name, detail: Events[Name]): void {
    this.#emitter.emit(event, detail);
  }

  stats(): ClientStats {
    return { ...this.instance.remoting.stats, coreBytesInUse: this.instance.core.bytesInUse };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }
}
