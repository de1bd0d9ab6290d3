import { FIELD_READ } from "../../core-as/abi.ts";
import type { Core, Frame } from "../core.ts";
import {
  ClosedError,
  ConnectError,
  InternalError,
  isRocketMQError,
  OverloadError,
  type RocketMQError,
  TimeoutError,
} from "../errors.ts";
import type { Endpoint, Host } from "../host.ts";
import { RESPONSE_FLAG, ResponseCode } from "../protocol/codes.ts";
import { readCommand, type RemotingCommand, type Request, type Response } from "../protocol/command.ts";
import { readHeader } from "../protocol/header.ts";
import type { UniqueIds } from "../protocol/ids.ts";
import { TIMER_MAX } from "../limit.ts";
import { reasonOf } from "../show.ts";
import { Signals } from "../signals.ts";
import { parseAddress } from "./address.ts";
import { Calls, CALLS_MAX } from "./calls.ts";
import { Channel } from "./channel.ts";
import { ColdPrograms } from "./cold_programs.ts";
import { Connection } from "./connection.ts";
import { sendOneway } from "./oneway.ts";
import type { Call, Outgoing } from "./outgoing.ts";
import { Pulse, SILENCE_MAX } from "./pulse.ts";
import { type RequestHandler, Requests } from "./requests.ts";

export type { Call, Outgoing, ProgramRequest } from "./outgoing.ts";
export type { RequestHandler } from "./requests.ts";

export interface RemotingOptions {
  readonly host: Host;
  readonly core: Core;
  /** Shared with whoever else waits for the same signals; of its own unless given. */
  readonly signals?: Signals;
  /** Header kind of cold requests; hot ones have it in their programs. */
  readonly serializeType: "JSON" | "ROCKETMQ";
  /** ms */
  readonly connectTimeout: number;
  /** Tells the core when the month began, for the unique ids that it makes. */
  readonly uniqueIds?: UniqueIds;
  readonly onConnect?: (addr: string, localAddress: string) => void;
  readonly onDisconnect?: (addr: string, error?: RocketMQError) => void;
  /** Failures that have no caller. */
  readonly onError?: (error: RocketMQError) => void;
  /** 0 ≤ random < 1, for pauses; Math.random unless given. */
  readonly random?: () => number;
}

export interface InvokeOptions {
  /** ms, for everything: connecting, sending, waiting for the answer. */
  readonly timeout: number;
  readonly signal?: AbortSignal;
}

export interface RemotingStats {
  readonly connections: number;
  readonly inFlight: number;
  readonly bytesIn: bigint;
  readonly bytesOut: bigint;
}

/**
 * Requests and their answers, over one connection per address. Calls wait in `Calls` and nowhere else; each ends exactly
 * once: by its answer, its timeout, its signal, or the loss of its connection, at once.
 */
export class Remoting {
  readonly #options: RemotingOptions;
  readonly #host: Host;
  readonly #core: Core;
  readonly #signals: Signals;
  readonly #calls: Calls<Connection>;
  readonly #requests: Requests;
  readonly #cold: ColdPrograms;
  readonly #channels = new Map<string, Channel>();
  /** The one of `#channels` that was used last. */
  #lastChannel: Channel | undefined;
  /** Every connection that has not been released, and what is known of its health. */
  readonly #connections = new Map<Connection, Pulse>();
  /** Slots of requests that were sent again after GO_AWAY. */
  readonly #resent = new Set<number>();
  /** Connections that end with their last answer. */
  readonly #retiring = new Set<Connection>();
  #closed: RocketMQError | undefined;
  #whenReleased: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #bytesIn = 0;
  #bytesOut = 0;
  /** The time of this turn, once it has been asked for. */
  #isTimed = false;
  #now = 0;

  constructor(options: RemotingOptions) {
    this.#options = options;
    this.#host = options.host;
    this.#core = options.core;
    this.#signals = options.signals ?? new Signals();
    this.#calls = new Calls<Connection>({
      clock: options.host.clock,
      expired: (slot, tick) => this.#expired(slot, tick),
      watch: (now) => this.#watch(now),
    });
    this.#requests = new Requests((error) => this.#report(error));
    this.#cold = new ColdPrograms(options.core, options.serializeType);
  }

  /** The time of this turn, one look at the clock for all its calls: ms that never go back. */
  get now(): number {
    return this.#closed || this.#core.failure ? this.#host.clock.monotonic() : this.#turn();
  }

  /**
   * The hot call: no promise. Exactly one of `settle` (the frame is lent; a response of any code) and `fail` is called,
   * never during this call. A `settle` that throws fails the call with what it threw. `fail` gets `signal.reason` when
   * that is why.
   */
  begin(addr: string, call: Call, timeout: number, signal?: AbortSignal): void {
    const now = this.now;
    const closed = this.#closed ?? this.#core.failure;
    if (closed !== undefined) return this.#failLater(call, closed);
    if (signal !== undefined && signal.aborted) return this.#failLater(call, signal.reason);
    const slot = this.#calls.take(call, bounded(timeout), now);
    if (slot < 0) {
      return this.#failLater(
        call,
        new OverloadError(`Cannot call ${addr}: ${CALLS_MAX} calls are in flight`, { addr }),
      );
    }
    if (signal !== undefined) {
      try {
        this.#listen(slot, signal);
      } catch (error) {
        this.#calls.release(slot);
        return this.#failLater(call, asRocketMQError(error, addr));
      }
    }
    this.#dispatch(slot, addr, call);
  }

  /** The same for a request and two functions. */
  call(
    addr: string,
    outgoing: Outgoing,
    timeout: number,
    settle: (frame: Frame) => void,
    fail: (error: RocketMQError) => void,
    signal?: AbortSignal,
  ): void {
    this.begin(addr, { outgoing, settle, fail }, timeout, signal);
  }

  /**
   * Takes a call of `begin` back: neither of its functions will be called. False when it has ended, or its failure is on its
   * way. For whoever makes one call after the other: a signal does the same, but listening for each call leaves garbage
   * that lives long.
   */
  withdraw(call: Call): boolean {
    const slot = this.#calls.call.indexOf(call);
    if (slot >= 0) this.#release(slot);
    return slot >= 0;
  }

  /** Cold: a promise of a copied response of any code; the caller judges it. */
  invoke(addr: string, request: Request, { timeout, signal }: InvokeOptions): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.call(addr, request, timeout, (frame) => resolve(toResponse(readCommand(frame))), reject, signal);
    });
  }

  /** Sends a request that has no answer. Settles when the socket has taken its bytes. */
  async invokeOneway(addr: string, request: Request, options: InvokeOptions): Promise<void> {
    if (!this.#closed) this.#turn();
    const closed = this.#closed ?? this.#core.failure;
    if (closed) throw closed;
    options.signal?.throwIfAborted();
    const connection = this.#channel(addr).use();
    connection.inFlight++;
    try {
      await sendOneway(connection, request, this.#host.clock, options);
    } finally {
      this.#leave(connection);
    }
  }

  /**
   * Answers requests of `code` from the peer; `undefined` is no answer. A handler that throws answers SYSTEM_ERROR with
   * the error's text. Codes without a handler are answered REQUEST_CODE_NOT_SUPPORTED.
   */
  handle(code: number, handler: RequestHandler): void {
    this.#requests.handle(code, handler);
  }

  /** Makes sure of a connection. */
  async connect(addr: string, { timeout, signal }: InvokeOptions): Promise<{ readonly localAddress: string }> {
    const closed = this.#closed ?? this.#core.failure;
    if (closed) throw closed;
    signal?.throwIfAborted();
    const channel = this.#channel(addr);
    const connection = channel.use();
    if (connection.isConnected) return connection;
    return await new Promise<Connection>((resolve, reject) => {
      const end = () => {
        timer.cancel();
        forget();
        unlisten?.();
      };
      const failed = (error: RocketMQError) => (end(), reject(error));
      const forget = channel.await({ connected: (connection) => (end(), resolve(connection)), failed });
      const timer = this.#host.clock.setTimer(bounded(timeout), () => failed(this.#notConnected(addr, timeout)));
      const unlisten = signal && this.#signals.listen(signal, () => failed(signal.reason));
    });
  }

  /** Whether a request to this address can leave now. */
  isConnected(addr: string): boolean {
    return this.#channels.get(addr)?.connection?.isConnected === true;
  }

  /** Every address that was called and has not been disconnected. */
  get addresses(): readonly string[] {
    return [...this.#channels.keys()];
  }

  /** Ends the connection to an address that is no longer wanted, after the answers it still owes. */
  disconnect(addr: string): void {
    const channel = this.#channels.get(addr);
    const connection = channel?.connection;
    this.#channels.delete(addr);
    this.#lastChannel = undefined;
    if (!channel || !connection) return;
    if (connection.isConnected) this.#retire(channel, connection);
    else connection.close(new ConnectError(`The connection to ${addr} is no longer wanted`, { addr }));
  }

  get stats(): RemotingStats {
    let connections = 0, bytesIn = this.#bytesIn, bytesOut = this.#bytesOut;
    for (const connection of this.#connections.keys()) {
      if (connection.isConnected) connections++;
      bytesIn += connection.bytesIn;
      bytesOut += connection.bytesOut;
    }
    return { connections, inFlight: this.#calls.inFlight, bytesIn: BigInt(bytesIn), bytesOut: BigInt(bytesOut) };
  }

  /** Every waiting call fails with `ClosedError`; resolves when all sockets have ended. */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#whenReleased = resolve;
      this.#end(new ClosedError("The client was closed"));
      if (this.#connections.size === 0) resolve();
    });
    return this.#closing;
  }

  #end(error: RocketMQError): void {
    this.#closed ??= error;
    for (const connection of [...this.#connections.keys()]) connection.close(error);
    this.#calls.each(undefined, (slot) => this.#fail(slot, error));
    this.#calls.close();
    this.#channels.clear();
    this.#lastChannel = undefined;
    this.#cold.close();
  }

  // ── calls ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** One look at the clock per turn, for deadlines and for the timestamps the core writes. */
  #turn(): number {
    if (!this.#isTimed) {
      const { clock } = this.#host;
      this.#isTimed = true;
      this.#now = clock.monotonic();
      const now = clock.now();
      try {
        this.#core.clock(now, this.#options.uniqueIds?.sinceMonth(now));
      } catch (error) {
        // Whoever asks for the time is told by its call.
        if (!this.#core.failure) throw error;
        this.#broken(this.#core.failure);
      }
      this.#host.defer(this.#turnOver);
    }
    return this.#now;
  }

  readonly #turnOver = (): void => {
    this.#isTimed = false;
  };

  #dispatch(slot: number, addr: string, call: Call): void {
    const calls = this.#calls;
    try {
      const connection = this.#channel(addr).use();
      if (connection.inFlight++ === 0) this.#connections.get(connection)!.start(this.#now, connection.bytesIn);
      calls.owner[slot] = connection;
      const waiting = connection.send(calls.opaque(slot), call.outgoing);
      if (waiting !== undefined) calls.waiting[slot] = waiting;
    } catch (error) {
      this.#release(slot);
      this.#failLater(call, asRocketMQError(error, addr));
      if (this.#core.failure) this.#broken(this.#core.failure);
    }
  }

  #listen(slot: number, signal: AbortSignal): void {
    this.#calls.unlisten[slot] = this.#signals.listen(signal, () => this.#fail(slot, signal.reason));
  }

  /** The call is over; whoever ends it calls one of its two functions. */
  #release(slot: number): void {
    const connection = this.#calls.owner[slot], waiting = this.#calls.waiting[slot];
    this.#calls.release(slot);
    if (this.#resent.size > 0) this.#resent.delete(slot);
    if (!connection) return;
    if (waiting) connection.withdraw(waiting);
    this.#leave(connection);
  }

  #leave(connection: Connection): void {
    if (--connection.inFlight === 0 && this.#retiring.delete(connection)) connection.close();
  }

  #fail(slot: number, error: RocketMQError): void {
    const call = this.#calls.call[slot]!;
    this.#release(slot);
    this.#callFail(call, error);
  }

  #failLater(call: Call, error: RocketMQError): void {
    this.#host.defer(() => this.#callFail(call, error));
  }

  #callFail(call: Call, error: RocketMQError): void {
    try {
      call.fail(error);
    } catch (thrown) {
      this.#report(asRocketMQError(thrown));
    }
  }

  #expired(slot: number, tick: number): void {
    const connection = this.#calls.owner[slot], timeout = this.#calls.timeout(slot);
    if (!connection?.isConnected) return this.#fail(slot, this.#notConnected(connection?.addr ?? "", timeout));
    const { addr } = connection;
    const pulse = this.#connections.get(connection)!;
    const isDead = pulse.timedOut(tick, this.#host.clock.monotonic(), timeout, connection.bytesIn);
    this.#fail(slot, new TimeoutError(`No answer from ${addr} within ${Math.round(timeout)} ms`, { addr }));
    if (isDead) connection.close(new ConnectError(`${addr} does not answer: two calls in a row timed out`, { addr }));
  }

  #notConnected(addr: string, timeout: number): ConnectError {
    const last = this.#channels.get(addr)?.lastError ??
      new Error(`${addr}: no connection within ${Math.round(timeout)} ms`);
    const cause = last.cause instanceof AggregateError ? last.cause : new AggregateError([last], last.message);
    return new ConnectError(`Cannot connect to ${addr} within ${Math.round(timeout)} ms: ${cause.message}`, {
      addr,
      cause,
    });
  }

  #watch(now: number): void {
    for (const [connection, pulse] of this.#connections) {
      if (!connection.isConnected || connection.inFlight === 0) pulse.start(now, connection.bytesIn);
      else if (pulse.isSilent(now, connection.bytesIn)) {
        const { addr } = connection;
        connection.close(new ConnectError(`${addr} has sent nothing for ${SILENCE_MAX} ms while calls wait`, { addr }));
      }
    }
  }

  // ── frames ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  #received(channel: Channel, connection: Connection, frame: Frame): void {
    if ((frame.fields & FIELD_READ) === 0) complete(frame);
    if ((frame.flag & RESPONSE_FLAG) === 0) {
      channel.proved(connection);
      return this.#requests.serve(connection, readCommand(frame));
    }
    const calls = this.#calls;
    const slot = calls.slotOf(frame.opaque);
    // A late answer, or one to another connection's request: its caller has been told otherwise already.
    if (slot < 0 || calls.owner[slot] !== connection) return;
    // Nobody can answer what has not been sent.
    if (calls.waiting[slot]?.outgoing !== undefined) return;
    if (frame.code !== ResponseCode.GO_AWAY) channel.proved(connection);
    else if (this.#goneAway(channel, connection, slot)) return;
    const call = calls.call[slot]!;
    this.#release(slot);
    try {
      call.settle(frame);
    } catch (error) {
      this.#callFail(call, asRocketMQError(error, channel.addr));
    }
  }

  /**
   * The peer is about to leave: the request goes out again, with a new opaque and the time it has left, over a new
   * connection. False when it has been sent again before: then the answer is its caller's.
   */
  #goneAway(channel: Channel, connection: Connection, slot: number): boolean {
    const calls = this.#calls;
    const again = !this.#resent.has(slot);
    if (again) {
      this.#resent.add(slot);
      calls.renew(slot);
      calls.owner[slot] = undefined;
      connection.inFlight--;
    }
    this.#retire(channel, connection);
    if (again) {
      this.#turn();
      if (!this.#closed) this.#dispatch(slot, channel.addr, calls.call[slot]!);
    }
    return again;
  }

  #retire(channel: Channel, connection: Connection): void {
    channel.retire(connection);
    if (connection.inFlight === 0) connection.close();
    else this.#retiring.add(connection);
  }

  // ── connections ────────────────────────────────────────────────────────────────────────────────────────────────────

  #channel(addr: string): Channel {
    // Calls in a row mostly go to few addresses, and one look is cheaper than a search.
    const last = this.#lastChannel;
    if (last !== undefined && last.addr === addr) return last;
    return this.#lastChannel = this.#channels.get(addr) ?? this.#openChannel(addr);
  }

  #openChannel(addr: string): Channel {
    const channel = new Channel({
      addr,
      endpoint: endpointOf(addr),
      host: this.#host,
      connectTimeout: this.#options.connectTimeout,
      random: this.#options.random ?? Math.random,
      create: (channel) => this.#openConnection(channel),
      onConnect: (connection) => {
        // Calls that waited for the connection have not waited for the peer yet.
        this.#connections.get(connection)!.start(this.#host.clock.monotonic(), connection.bytesIn);
        this.#options.onConnect?.(addr, connection.localAddress);
      },
    });
    this.#channels.set(addr, channel);
    return channel;
  }

  #openConnection(channel: Channel): Connection {
    const connection = new Connection({
      core: this.#core,
      host: this.#host,
      addr: channel.addr,
      serializeType: this.#options.serializeType,
      cold: this.#cold,
      onFrame: (connection, frame) => this.#received(channel, connection, frame),
      onClosed: (connection, error) => this.#lost(channel, connection, error),
      onReleased: (connection) => this.#forget(connection),
      onUnsent: (connection, opaque, error) => this.#unsent(connection, opaque, error),
    });
    this.#connections.set(connection, new Pulse());
    return connection;
  }

  /** The connection's calls fail at once: whoever made them may try another broker. */
  #lost(channel: Channel, connection: Connection, error: RocketMQError | undefined): void {
    this.#retiring.delete(connection);
    channel.closed(connection, error);
    if (connection.inFlight > 0) {
      const failure = error ?? new ConnectError(`The connection to ${channel.addr} was closed`, { addr: channel.addr });
      this.#calls.each(connection, (slot) => this.#fail(slot, failure));
    }
    if (connection.localAddress !== "") this.#options.onDisconnect?.(channel.addr, error);
    if (this.#core.failure) this.#broken(this.#core.failure);
  }

  #unsent(connection: Connection, opaque: number, error: RocketMQError): void {
    const slot = this.#calls.slotOf(opaque);
    if (slot >= 0 && this.#calls.owner[slot] === connection) this.#fail(slot, error);
  }

  #forget(connection: Connection): void {
    this.#connections.delete(connection);
    this.#bytesIn += connection.bytesIn;
    this.#bytesOut += connection.bytesOut;
    if (this.#connections.size === 0) this.#whenReleased?.();
  }

  /** After a panic of the core nothing can be sent or read: every waiting call fails with it. */
  #broken(failure: RocketMQError): void {
    if (this.#closed) return;
    this.#end(failure);
    this.#report(failure);
  }

  #report(error: RocketMQError): void {
    this.#options.onError?.(error);
  }
}

/** What the core did not read of a header: everything. Throws `FrameError` when there is no sense in it. */
function complete(frame: Frame): void {
  const { opaque, code, flag } = readHeader(frame.headerBytes(), frame.serializeType);
  frame.complete(opaque, code, flag);
}

/** An address that came in a route is not the caller's fault: another broker may have a better one. */
function endpointOf(addr: string): Endpoint {
  try {
    return parseAddress(addr);
  } catch (cause) {
    throw new ConnectError(`Cannot connect to ${JSON.stringify(addr)}: it is no address`, { addr, cause });
  }
}

function toResponse({ code, remark = "", extFields, body, version, language }: RemotingCommand): Response {
  return { code, remark, extFields, body, version, language };
}

function bounded(timeout: number): number {
  return timeout > 0 ? Math.min(timeout, TIMER_MAX) : 0;
}

/** What is not an error of ours is a fault of ours: calling again does not help. */
function asRocketMQError(error: unknown, addr?: string): RocketMQError {
  if (isRocketMQError(error)) return error;
  const message = reasonOf(error);
  const detail = addr === undefined ? { cause: error } : { cause: error, addr };
  return new InternalError(
    `A call${addr === undefined ? "" : ` to ${addr}`} met a fault of the client: ${message}`,
    detail,
  );
}
