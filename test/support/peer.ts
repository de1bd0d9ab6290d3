import type { AcceptedSocket, Inbox, Listener } from "../../client/host.ts";
import { RESPONSE_FLAG } from "../../client/protocol/codes.ts";
import { decodeCommand, encodeCommand, type RemotingCommand } from "../../client/protocol/command.ts";

/** What a peer does with a request. */
export type Script = (request: RemotingCommand, connection: PeerConnection) => void;

/** What an answer is made of; SUCCESS and the request's opaque unless given. */
export type Answer = Partial<
  Pick<RemotingCommand, "code" | "remark" | "extFields" | "body" | "opaque" | "serializeType">
>;

/** One connection as the peer sees it. */
export class PeerConnection {
  readonly socket: AcceptedSocket;
  readonly requests: RemotingCommand[] = [];
  /** Answers to requests that the peer itself made. */
  readonly answers: RemotingCommand[] = [];
  bytesIn = 0;
  isClosed = false;
  /** Resolves when the connection has ended, from either side. */
  readonly closed: Promise<void>;
  #resolveClosed: () => void = () => {};

  constructor(socket: AcceptedSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => this.#resolveClosed = resolve);
  }

  /** Answers a request. */
  answer(request: RemotingCommand, answer: Answer = {}): void {
    const { opaque, serializeType } = request;
    this.write(encodeCommand({ code: 0, opaque, serializeType, ...answer, flag: RESPONSE_FLAG, language: "JAVA" }));
  }

  /** Sends a request of the peer's own. */
  request(code: number, opaque: number, extFields: Record<string, string> = {}, flag = 0): void {
    this.write(encodeCommand({ code, opaque, flag, extFields, serializeType: "JSON", language: "JAVA" }));
  }

  /** Sends any bytes. */
  write(bytes: Uint8Array): void {
    this.socket.write([bytes], () => {});
  }

  close(): void {
    this.socket.close();
  }

  /** For the peer: the connection has ended. */
  end(): void {
    this.isClosed = true;
    this.#resolveClosed();
  }
}

/** A server that does what a script says: on a real listener or a simulated one. */
export class Peer {
  readonly addr: string;
  readonly connections: PeerConnection[];
  /** Of all connections, in the order they came. */
  readonly requests: RemotingCommand[];
  readonly #close: () => Promise<void>;

  private constructor(
    addr: string,
    connections: PeerConnection[],
    requests: RemotingCommand[],
    close: () => Promise<void>,
  ) {
    this.addr = addr;
    this.connections = connections;
    this.requests = requests;
    this.#close = close;
  }

  /** Listens at a free port unless told otherwise. */
  static async listen(listener: Listener, script: Script, host = "127.0.0.1", port = 0): Promise<Peer> {
    const connections: PeerConnection[] = [], requests: RemotingCommand[] = [];
    const listening = await listener.listen(host, port, (socket) => {
      const connection = new PeerConnection(socket);
      connections.push(connection);
      return frameInbox(connection, (frame) => {
        const command = decodeCommand(frame);
        if (command.flag & RESPONSE_FLAG) return void connection.answers.push(command);
        connection.requests.push(command);
        requests.push(command);
        script(command, connection);
      });
    });
    return new Peer(`${host}:${listening.port}`, connections, requests, () => listening.close());
  }

  /** Connections that have not ended. */
  get open(): number {
    return this.connections.filter((connection) => !connection.isClosed).length;
  }

  close(): Promise<void> {
    return this.#close();
  }
}

/** Answers everything with SUCCESS and the request's body. */
export const echo: Script = (request, connection) => connection.answer(request, { body: request.body });

/** Never answers. */
export const silence: Script = () => {};

/** Cuts frames in plain JavaScript: a peer shall not share the faults of the core. */
function frameInbox(connection: PeerConnection, onFrame: (frame: Uint8Array) => void): Inbox {
  const room = new Uint8Array(65_536);
  let pending = new Uint8Array(65_536), length = 0;
  return {
    room: () => room,
    received(count) {
      connection.bytesIn += count;
      if (length + count > pending.length) {
        const grown = new Uint8Array(Math.max(pending.length * 2, length + count));
        grown.set(pending.subarray(0, length));
        pending = grown;
      }
      pending.set(room.subarray(0, count), length);
      length += count;
      let at = 0;
      for (;;) {
        if (length - at < 4) break;
        const total = 4 + new DataView(pending.buffer, at).getInt32(0);
        if (length - at < total) break;
        onFrame(pending.slice(at, at + total));
        at += total;
      }
      pending.copyWithin(0, at, length);
      length -= at;
    },
    closed: () => connection.end(),
  };
}
