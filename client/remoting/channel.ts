import { ConnectError, type RocketMQError } from "../errors.ts";
import type { Endpoint, Host, Timer } from "../host.ts";
import type { Connection } from "./connection.ts";

/** Pauses before an address is tried again, in ms: the first, the longest, and how much they are spread. */
const PAUSE_FIRST = 100;
const PAUSE_MAX = 10_000;
const PAUSE_SPREAD = 0.2;

export interface ChannelOptions {
  readonly addr: string;
  readonly endpoint: Endpoint;
  readonly host: Host;
  readonly connectTimeout: number;
  readonly random: () => number;
  /** Makes the connection, without a socket; may throw `OverloadError`. */
  readonly create: (channel: Channel) => Connection;
  readonly onConnect: (connection: Connection) => void;
}

/** Told once, when a connection is there or will not be. */
export interface ConnectWaiter {
  readonly connected: (connection: Connection) => void;
  readonly failed: (error: RocketMQError) => void;
}

/**
 * One address and the connection to it. There is one connect at a time, for however many callers. After a failure the
 * next one comes after a pause, and whoever calls meanwhile waits for it. A connection counts as a failure as well when
 * it ends, or tells us to go away, before its first proper answer.
 */
export class Channel {
  readonly addr: string;
  /** Why there is no connection, if the last attempt failed. */
  lastError: RocketMQError | undefined;
  readonly #options: ChannelOptions;
  readonly #waiters = new Set<ConnectWaiter>();
  #connection: Connection | undefined;
  #isProven = false;
  #failures = 0;
  #notBefore = 0;
  #pause: Timer | undefined;
  #abort: AbortController | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.addr = options.addr;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** The connection for new requests: the one that is there, or one that is being made from now on. */
  use(): Connection {
    if (this.#connection) return this.#connection;
    const { clock } = this.#options.host;
    const connection = this.#connection = this.#options.create(this);
    const pause = this.#notBefore - clock.monotonic();
    this.#isProven = false;
    if (pause > 0) this.#pause = clock.setTimer(Math.ceil(pause), () => this.#connect(connection));
    else this.#connect(connection);
    return connection;
  }

  /** Tells `waiter` when the connection for new requests is connected. Returns the function that makes it forget. */
  await(waiter: ConnectWaiter): () => void {
    this.#waiters.add(waiter);
    return () => this.#waiters.delete(waiter);
  }

  /** The peer has answered properly: the next connect after this one needs no pause. */
  proved(connection: Connection): void {
    if (this.#isProven || connection !== this.#connection) return;
    this.#isProven = true;
    this.#failures = 0;
    this.lastError = undefined;
  }

  /** New requests need another connection; this one stays for the answers that are still to come. */
  retire(connection: Connection): void {
    if (connection !== this.#connection) return;
    this.#connection = undefined;
    if (!this.#isProven) this.#backOff();
  }

  /** The connection has ended. */
  closed(connection: Connection, error: RocketMQError | undefined): void {
    if (connection !== this.#connection) return;
    this.#connection = undefined;
    this.#stopConnecting(connection, error);
    if (!this.#isProven && error) {
      this.lastError = error;
      this.#backOff();
    }
    const failure = error ?? new ConnectError(`The connection to ${this.addr} was closed`, { addr: this.addr });
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const { failed } of waiters) failed(failure);
  }

  async #connect(connection: Connection): Promise<void> {
    const { host, endpoint, connectTimeout, onConnect } = this.#options;
    const abort = new AbortController();
    this.#pause = undefined;
    this.#abort = abort;
    const timer = host.clock.setTimer(connectTimeout, () => {
      abort.abort(new Error(`${this.addr}: no connection within ${connectTimeout} ms`));
    });
    try {
      const socket = await host.connect(endpoint, connection.inbox, abort.signal);
      timer.cancel();
      if (this.#abort === abort) this.#abort = undefined;
      connection.attach(socket);
    } catch (error) {
      timer.cancel();
      if (this.#abort === abort) this.#abort = undefined;
      connection.inbox.closed(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if (connection.isClosed) return;
    onConnect(connection);
    if (connection !== this.#connection) return;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const { connected } of waiters) connected(connection);
  }

  /** Ends the pause or the attempt that `connection` was waiting for. */
  #stopConnecting(connection: Connection, error: RocketMQError | undefined): void {
    const pause = this.#pause, abort = this.#abort;
    this.#pause = this.#abort = undefined;
    abort?.abort(error ?? new ConnectError(`The connection to ${this.addr} was closed`, { addr: this.addr }));
    if (!pause) return;
    pause.cancel();
    connection.inbox.closed(error);
  }

  #backOff(): void {
    const { host, random } = this.#options;
    const pause = Math.min(PAUSE_MAX, PAUSE_FIRST * 2 ** this.#failures);
    this.#failures++;
    this.#notBefore = host.clock.monotonic() + pause * (1 - PAUSE_SPREAD + 2 * PAUSE_SPREAD * random());
  }
}
