import type { Core, Frame } from "../client/core.ts";
import { isRocketMQError } from "../client/errors.ts";
import type { AcceptedSocket, Host, Inbox, Timer } from "../client/host.ts";
import { ONEWAY_FLAG, RESPONSE_FLAG } from "../client/protocol/codes.ts";
import { encodeCommand, type Request } from "../client/protocol/command.ts";
import { Connection } from "../client/remoting/connection.ts";
import type { Outgoing } from "../client/remoting/outgoing.ts";
import { type Asked, type Caller, hostBytes } from "./answer.ts";

export interface PeerOptions {
  readonly core: Core;
  readonly host: Host;
  readonly socket: AcceptedSocket;
  /** A whole frame, lent for this call. Throwing closes the connection. */
  readonly onFrame: (peer: Peer, frame: Frame) => void;
  readonly onClosed: (peer: Peer) => void;
}

/** The other end of a connection that a server has accepted. */
export class Peer implements Caller {
  readonly addr: string;
  readonly hostBytes: Uint8Array;
  readonly #connection: Connection;
  readonly #clock: Host["clock"];
  readonly #timers = new Set<Timer>();
  #opaque = 0;

  /** Throws `OverloadError` when the core has no room for one more. */
  constructor({ core, host, socket, onFrame, onClosed }: PeerOptions) {
    this.addr = socket.remoteAddress;
    this.hostBytes = hostBytes(this.addr);
    this.#clock = host.clock;
    this.#connection = new Connection({
      core,
      host,
      addr: this.addr,
      onFrame: (_, frame) => onFrame(this, frame),
      onClosed: () => {
        for (const timer of this.#timers) timer.cancel();
        onClosed(this);
      },
    });
    this.#connection.attach(socket);
  }

  get inbox(): Inbox {
    return this.#connection.inbox;
  }

  get isClosed(): boolean {
    return this.#connection.isClosed;
  }

  answer({ opaque, flag, serializeType }: Asked, answer: Outgoing): void {
    if ((flag & ONEWAY_FLAG) !== 0) return;
    if ("program" in answer) this.#try(() => this.#connection.send(opaque, answer));
    else this.send(encodeCommand({ ...answer, opaque, flag: RESPONSE_FLAG, serializeType }));
  }

  tell(request: Request): void {
    const opaque = this.#opaque = (this.#opaque + 1) & 0x7fffffff;
    this.send(encodeCommand({ ...request, opaque, flag: ONEWAY_FLAG, serializeType: "JSON" }));
  }

  /** Sends any bytes. */
  send(bytes: Uint8Array): void {
    this.#try(() => this.#connection.sendBytes(bytes));
  }

  /** Does something after `delay` ms, unless the connection has ended before. */
  later(delay: number, task: () => void): void {
    const timer = this.#clock.setTimer(delay, () => {
      this.#timers.delete(timer);
      task();
    });
    this.#timers.add(timer);
  }

  close(): void {
    this.#connection.close();
  }

  /** A peer that does not read its answers is not waited for. */
  #try(send: () => void): void {
    if (this.#connection.isClosed) return;
    try {
      send();
    } catch (error) {
      this.#connection.close(isRocketMQError(error) ? error : undefined);
    }
  }
}
