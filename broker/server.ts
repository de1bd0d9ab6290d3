import type { Core, Frame } from "../client/core.ts";
import { isRocketMQError } from "../client/errors.ts";
import type { AcceptedSocket, Host, Inbox, Listener } from "../client/host.ts";
import { ONEWAY_FLAG, RESPONSE_FLAG, ResponseCode } from "../client/protocol/codes.ts";
import { encodeCommand, readCommand, type RemotingCommand, type Request } from "../client/protocol/command.ts";
import { Connection } from "../client/remoting/connection.ts";
import { type Caller, type Handler, Refusal } from "./answer.ts";
import type { Faults } from "./faults.ts";

export interface ServerOptions {
  readonly host: Host;
  readonly listener: Listener;
  readonly core: Core;
  readonly faults: Faults;
  readonly handler: Handler;
  /** A connection has ended. */
  readonly disconnected: (caller: Caller) => void;
}

/** One listening port: frames in, answers out. Nothing that arrives can throw out of it. */
export class Server {
  readonly #connections: Set<Connection>;
  readonly #listening: { readonly port: number; close(): Promise<void> };

  private constructor(listening: { readonly port: number; close(): Promise<void> }, connections: Set<Connection>) {
    this.#listening = listening;
    this.#connections = connections;
  }

  /** Rejects with `ConnectError` when the port is taken. */
  static async listen(options: ServerOptions, host: string, port: number): Promise<Server> {
    const connections = new Set<Connection>();
    const listening = await options.listener.listen(host, port, (socket) => accept(options, connections, socket));
    return new Server(listening, connections);
  }

  get port(): number {
    return this.#listening.port;
  }

  async close(): Promise<void> {
    for (const connection of [...this.#connections]) connection.close();
    await this.#listening.close();
  }
}

function accept(options: ServerOptions, connections: Set<Connection>, socket: AcceptedSocket): Inbox {
  const { core, host } = options;
  const connection = new Connection({
    core,
    host,
    addr: socket.remoteAddress,
    onFrame: (connection, frame) => received(options, peer, connection, frame),
    onClosed: (connection) => {
      connections.delete(connection);
      options.disconnected(peer);
    },
  });
  const peer = new Peer(connection);
  connections.add(connection);
  connection.attach(socket);
  return connection.inbox;
}

/** The other end of a connection. */
class Peer implements Caller {
  readonly #connection: Connection;
  #opaque = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get addr(): string {
    return this.#connection.addr;
  }

  get isClosed(): boolean {
    return this.#connection.isClosed;
  }

  answer({ opaque, serializeType, flag }: RemotingCommand, answer: Request): void {
    if ((flag & ONEWAY_FLAG) === 0) {
      this.#send(encodeCommand({ ...answer, opaque, flag: RESPONSE_FLAG, serializeType }));
    }
  }

  tell(request: Request): void {
    const opaque = this.#opaque = (this.#opaque + 1) & 0x7fffffff;
    this.#send(encodeCommand({ ...request, opaque, flag: ONEWAY_FLAG, serializeType: "JSON" }));
  }

  /** A peer that does not read its answers is not waited for. */
  #send(frame: Uint8Array): void {
    if (this.#connection.isClosed) return;
    try {
      this.#connection.sendBytes(frame);
    } catch (error) {
      this.#connection.close(isRocketMQError(error) ? error : undefined);
    }
  }
}

function received(options: ServerOptions, peer: Peer, connection: Connection, frame: Frame): void {
  const request = readCommand(frame);
  if ((request.flag & RESPONSE_FLAG) !== 0) return;
  const fault = options.faults.next(request.code);
  if (fault === undefined) return serve(options, peer, request);
  if (fault === "drop") return;
  if (fault === "close") return connection.close();
  if (fault === "garble") {
    connection.sendBytes(new Uint8Array(GARBAGE).fill(0xa5));
  } else if ("delay" in fault) {
    options.host.clock.setTimer(fault.delay, () => serve(options, peer, request));
  } else {
    peer.answer(request, { code: fault.answer, remark: fault.remark ?? "a fault was asked for" });
  }
}

/** Bytes that are no frame. */
const GARBAGE = 64;

function serve({ handler }: ServerOptions, peer: Peer, request: RemotingCommand): void {
  let answer: Request | undefined;
  try {
    answer = handler(request, peer);
  } catch (error) {
    answer = refusal(error);
  }
  if (answer) peer.answer(request, answer);
}

/** As Java answers: what has no code of its own is a system error, with the reason. */
function refusal(error: unknown): Request {
  if (error instanceof Refusal) return { code: error.responseCode, remark: error.message };
  return { code: ResponseCode.SYSTEM_ERROR, remark: error instanceof Error ? error.message : String(error) };
}
