import { ArgumentError, ClosedError, type CoreError } from "./errors.ts";
import { CLIENT_EVENTS, type ClientEvents, Emitter } from "./events.ts";
import { didNotStart, type Instance, type Member } from "./instance.ts";
import { TIMER_MAX } from "./limit.ts";
import { checkNames } from "./option_names.ts";
import { checkWait } from "./options.ts";
import { SharedAttempt } from "./shared_attempt.ts";
import { show } from "./show.ts";

export interface CallOptions {
  signal?: AbortSignal;
  /** ms, more than 0. */
  timeout?: number;
}
const CALL_OPTIONS = ["signal", "timeout"];

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
  /**
   * Optional: the first call that needs it starts the client. Rejects with `signal.reason` when aborted, with `TimeoutError`
   * after `timeout` ms; what had been done is undone then, and the start can be tried again. Without a timeout every
   * request of the start has its own limit, `requestTimeout`.
   */
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
  readonly #unlistenBroken: () => void;
  readonly #unlisten: () => void;
  /** What ended the client, if it was not its user. */
  protected failure: CoreError | undefined;

  /** `events` are those it has. */
  constructor(instance: Instance, ownsInstance: boolean, events: readonly string[] = CLIENT_EVENTS) {
    this.instance = instance;
    this.#ownsInstance = ownsInstance;
    this.#emitter = new Emitter<Events>(
      events,
      (event, error) => instance.listenerFailed(`A listener of "${event}"`, error),
    );
    this.#unlisten = instance.listen(this);
    this.#unlistenBroken = instance.whenBroken((failure) => {
      this.failure = failure;
      void this.shutdown({ timeout: 0 });
    });
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

  /** Once, when the instance is there. Has `timeLeft` ms, and undoes what it did when it rejects. */
  protected abstract started(timeLeft: number, signal: AbortSignal | undefined): Promise<void>;
  /** Stop intake, drain, say goodbye; `timeLeft` says how many ms there are. */
  protected abstract stopped(timeLeft: () => number): Promise<void>;

  get clientId(): string {
    return this.instance.clientId;
  }

  get state(): ClientState {
    return this.#state;
  }

  async start(options?: CallOptions): Promise<this> {
    checkNames(options ?? {}, CALL_OPTIONS);
    const { timeout, signal } = options ?? {};
    checkWait(timeout, signal);
    await this.ready(timeout ?? Infinity, signal);
    return this;
  }

  /** Starts unless it has started. A failed start can be tried again. `timeout` in ms; Infinity: each step has its own. */
  ready(timeout: number, signal?: AbortSignal): Promise<void> {
    if (this.#state === "running") return Promise.resolve();
    return this.#starting.join(timeout, signal);
  }

  async #start(timeout: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    this.#checkOpen();
    const { host: { clock }, options: { requestTimeout } } = this.instance;
    const deadline = clock.monotonic() + timeout;
    this.instance.join(this);
    try {
      await this.instance.start(timeout === Infinity ? requestTimeout : timeout, signal);
      this.#checkOpen();
      await this.started(deadline - clock.monotonic(), signal);
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
    const cause = this.failure;
    return cause
      ? new ClosedError("The client was closed: its core broke down", { cause })
      : new ClosedError("The client was closed");
  }

  shutdown(options?: { timeout?: number }): Promise<void> {
    try {
      checkNames(options ?? {}, ["timeout"]);
    } catch (error) {
      return Promise.reject(error);
    }
    const { timeout = SHUTDOWN_TIMEOUT } = options ?? {};
    if (typeof timeout !== "number" || !(timeout >= 0)) {
      return Promise.reject(new ArgumentError(`timeout must be a number of milliseconds, got ${show(timeout)}`));
    }
    return this.#closing ??= this.#shutdown(Math.min(timeout, TIMER_MAX));
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
    this.#unlisten();
    // Sockets end within a turn, unless something is very wrong with one: the timeout wins over that too.
    if (this.#ownsInstance) await this.within(Math.max(timeLeft(), CLOSE_TIME), this.instance.close());
    this.#unlistenBroken();
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
    return new Stats({ ...this.instance.remoting.stats, coreBytesInUse: this.instance.core.bytesInUse });
  }

  /** What printing it shows. */
  toJSON(): Record<string, unknown> {
    const { producerGroup } = this as Member;
    return { clientId: this.clientId, state: this.state, ...(producerGroup === undefined ? {} : { producerGroup }) };
  }

  [Symbol.for("nodejs.util.inspect.custom")](): unknown {
    return this.toJSON();
  }

  [Symbol.for("Deno.customInspect")](
    inspect: (value: unknown, options?: unknown) => string,
    options?: unknown,
  ): string {
    return inspect(this.toJSON(), options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }
}

/** JSON has no bigint: there they are decimal strings. */
class Stats implements ClientStats {
  readonly connections: number;
  readonly inFlight: number;
  readonly bytesIn: bigint;
  readonly bytesOut: bigint;
  readonly coreBytesInUse: number;

  constructor({ connections, inFlight, bytesIn, bytesOut, coreBytesInUse }: ClientStats) {
    this.connections = connections;
    this.inFlight = inFlight;
    this.bytesIn = bytesIn;
    this.bytesOut = bytesOut;
    this.coreBytesInUse = coreBytesInUse;
  }

  toJSON(): Record<string, unknown> {
    const { connections, inFlight, bytesIn, bytesOut, coreBytesInUse } = this;
    return { connections, inFlight, bytesIn: String(bytesIn), bytesOut: String(bytesOut), coreBytesInUse };
  }
}
