import type { Core, Frame } from "../core.ts";
import { ConnectError, type RocketMQError } from "../errors.ts";
import type { Host, Inbox, Socket } from "../host.ts";
import { ColdPrograms } from "./cold_programs.ts";
import { connectError, lostError } from "./connect_error.ts";
import { Outbox, type Waiting } from "./outbox.ts";
import type { Outgoing } from "./outgoing.ts";

export interface ConnectionOptions {
  readonly core: Core;
  readonly host: Pick<Host, "defer" | "separateBodyAbove">;
  /** The peer, for errors. */
  readonly addr: string;
  /** Header kind of cold requests; JSON unless given. */
  readonly serializeType?: "JSON" | "ROCKETMQ";
  /** Programs of cold requests, shared by the connections of one core; its own unless given. */
  readonly cold?: ColdPrograms;
  /** A whole frame, lent for this call. May send and may close; throwing closes the connection with what was thrown. */
  readonly onFrame: (connection: Connection, frame: Frame) => void;
  /** Once: no frame comes and none leaves any more. Without an error it was closed here, on purpose. */
  readonly onClosed: (connection: Connection, error?: RocketMQError) => void;
  /** Once, after `onClosed`: its socket has ended, and its part of the arena is free again. */
  readonly onReleased?: (connection: Connection) => void;
  /** A request that had to wait cannot be encoded. */
  readonly onUnsent?: (connection: Connection, opaque: number, error: RocketMQError) => void;
}

/**
 * One socket, its inbox in the core, and what waits to be sent through it. It takes requests before the socket is there.
 * Whoever makes one gives `inbox` to a host and calls `attach`, or `inbox.closed` when no socket came of it.
 */
export class Connection {
  readonly addr: string;
  readonly inbox: Inbox;
  /** Waiting calls, counted by whoever makes them. */
  inFlight = 0;
  bytesIn = 0;
  /** Requests of the peer that wait for a handler, and answers that wait for the socket. */
  answersOwed = 0;
  readonly #options: ConnectionOptions;
  readonly #core: Core;
  readonly #handle: number;
  readonly #outbox: Outbox;
  readonly #ownCold: ColdPrograms | undefined;
  readonly #sink: (frame: Frame) => void;
  #socket: Socket | undefined;
  #feeding = false;
  #isClosed = false;
  #socketEnded = false;
  #released = false;

  /** Throws `OverloadError` when the core has no room for an inbox. */
  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#core = options.core;
    this.addr = options.addr;
    this.#handle = options.core.openConnection();
    const { core, host, serializeType = "JSON" } = options;
    this.#ownCold = options.cold ? undefined : new ColdPrograms(core, serializeType);
    this.#outbox = new Outbox({
      core,
      host,
      serializeType,
      cold: options.cold ?? this.#ownCold!,
      onUnsent: (opaque, error) => options.onUnsent?.(this, opaque, error),
      onLost: (cause) => this.#lost(cause),
      onEnded: () => this.#release(),
    });
    this.#sink = (frame) => {
      if (!this.#isClosed) options.onFrame(this, frame);
    };
    this.inbox = {
      room: () => this.#room(),
      received: (length) => this.#received(length),
      closed: (error) => this.#ended(error),
    };
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The socket is there and has not been lost. */
  get isConnected(): boolean {
    return this.#socket !== undefined && !this.#isClosed;
  }

  /** Our own address; empty before there is a socket. */
  get localAddress(): string {
    return this.#socket?.localAddress ?? "";
  }

  get bytesOut(): number {
    return this.#outbox.bytesOut;
  }

  /** Bytes of bodies that wait to be encoded. */
  get waitingBytes(): number {
    return this.#outbox.waitingBytes;
  }

  /** The socket is there: what waits leaves now. */
  attach(socket: Socket): void {
    this.#socket = socket;
    if (this.#isClosed) socket.close();
    else this.#outbox.attach(socket);
  }

  /**
   * Sends a request, at the end of this turn or when there is room; one that waits is returned and can be withdrawn. `done`
   * comes when the socket has taken it, with an error when it never will.
   * Throws `OverloadError` when more than 64 MiB wait, `ArgumentError` when the frame is too large for the protocol.
   */
  send(opaque: number, outgoing: Outgoing, done?: (error?: RocketMQError) => void): Waiting | undefined {
    if (this.#isClosed) throw lostError(this.addr);
    return this.#outbox.send(opaque, outgoing, done);
  }

  /** The same for a ready frame. */
  sendBytes(frame: Uint8Array): Waiting | undefined {
    if (this.#isClosed) throw lostError(this.addr);
    return this.#outbox.send(0, frame);
  }

  /** The same for the answer to a request of the peer, which owes it until the socket has taken it. */
  answer(opaque: number, answer: Outgoing): void {
    this.answersOwed++;
    this.send(opaque, answer, () => void this.answersOwed--);
  }

  withdraw(waiting: Waiting): void {
    this.#outbox.withdraw(waiting);
  }

  /** Ends the connection at once; bytes that still wait are dropped. May be called inside `onFrame`, and again. */
  close(error?: RocketMQError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#outbox.close(error ?? new ConnectError(`The connection to ${this.addr} was closed`, { addr: this.addr }));
    this.#options.onClosed(this, error);
    this.#socket?.close();
    this.#release();
  }

  #room(): Uint8Array {
    if (this.#isClosed || this.#core.failure) return new Uint8Array(DISCARD_BYTES);
    return this.#core.room(this.#handle);
  }

  #received(length: number): void {
    if (this.#isClosed) return;
    this.bytesIn += length;
    this.#feeding = true;
    let failure: unknown;
    try {
      this.#core.feed(this.#handle, length, this.#sink);
    } catch (error) {
      failure = error;
    }
    this.#feeding = false;
    if (failure !== undefined) this.close(lostError(this.addr, failure));
    else if (this.#isClosed) this.#release();
  }

  #lost(cause: Error): RocketMQError {
    const error = lostError(this.addr, cause);
    this.close(error);
    return error;
  }

  #ended(error?: Error): void {
    if (this.#socketEnded) return;
    this.#socketEnded = true;
    const cause = this.#socket ? lostError(this.addr, error) : connectError(this.addr, error);
    this.close(cause);
    this.#release();
  }

  /** Frees what lies in the arena: not while a frame is lent, nor while a socket reads into it or writes out of it. */
  #release(): void {
    if (this.#released || !this.#isClosed || !this.#socketEnded || this.#feeding || this.#outbox.isWriting) return;
    this.#released = true;
    this.#outbox.free();
    this.#ownCold?.close();
    this.#core.closeConnection(this.#handle);
    this.#options.onReleased?.(this);
  }
}

/** Bytes for a closed connection are read into such a buffer and forgotten. */
const DISCARD_BYTES = 16_384;
