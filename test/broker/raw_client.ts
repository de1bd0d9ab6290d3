import type { Host, Inbox, Socket } from "../../client/host.ts";
import { ONEWAY_FLAG, RESPONSE_FLAG } from "../../client/protocol/codes.ts";
import {
  type Command,
  decodeCommand,
  encodeCommand,
  type RemotingCommand,
  type SerializeType,
} from "../../client/protocol/command.ts";
import { parseAddress } from "../../client/remoting/address.ts";

export type Fields = Readonly<Record<string, string>>;

/** What a test may choose of a request. */
export type Choice = Partial<Pick<Command, "flag" | "version" | "language" | "serializeType" | "opaque">>;

/** One connection without a client behind it: frames in and out, cut in plain JavaScript. */
export class RawClient {
  /** What the server asked, in order. */
  readonly asked: RemotingCommand[] = [];
  /** Answers that nobody waits for. */
  readonly strays: RemotingCommand[] = [];
  isClosed = false;
  serializeType: SerializeType = "JSON";
  readonly #waiting = new Map<number, (answer: RemotingCommand) => void>();
  #opaque = 0;
  #socket!: Socket;

  static async connect(host: Host, addr: string): Promise<RawClient> {
    const client = new RawClient();
    client.#socket = await host.connect(parseAddress(addr), client.#inbox(), new AbortController().signal);
    return client;
  }

  get localAddress(): string {
    return this.#socket.localAddress;
  }

  /** Never rejects: of a request that is not answered the promise stays as it is. */
  request(code: number, extFields: Fields = {}, body?: Uint8Array, choice: Choice = {}): Promise<RemotingCommand> {
    const opaque = choice.opaque ?? ++this.#opaque;
    this.write(
      encodeCommand({ code, opaque, flag: 0, extFields, body, serializeType: this.serializeType, ...choice }),
    );
    return new Promise((resolve) => this.#waiting.set(opaque, resolve));
  }

  oneway(code: number, extFields: Fields = {}, body?: Uint8Array): void {
    const opaque = ++this.#opaque;
    this.write(encodeCommand({ code, opaque, flag: ONEWAY_FLAG, extFields, body, serializeType: this.serializeType }));
  }

  /** Any bytes. */
  write(bytes: Uint8Array): void {
    this.#socket.write([bytes], () => {});
  }

  close(): void {
    this.#socket.close();
  }

  #received(frame: Uint8Array): void {
    const command = decodeCommand(frame);
    if ((command.flag & RESPONSE_FLAG) === 0) return void this.asked.push(command);
    const settle = this.#waiting.get(command.opaque);
    if (!settle) return void this.strays.push(command);
    this.#waiting.delete(command.opaque);
    settle(command);
  }

  #inbox(): Inbox {
    const room = new Uint8Array(65_536);
    let pending = new Uint8Array(0);
    return {
      room: () => room,
      received: (count) => {
        const all = new Uint8Array(pending.length + count);
        all.set(pending);
        all.set(room.subarray(0, count), pending.length);
        pending = all;
        while (pending.length >= 4) {
          const total = 4 + new DataView(pending.buffer, pending.byteOffset).getUint32(0);
          // Garbage is somebody else's to judge.
          if (total > 0x1000004) return void (this.isClosed = true, this.close());
          if (pending.length < total) return;
          const frame = pending.slice(0, total);
          pending = pending.subarray(total);
          this.#received(frame);
        }
      },
      closed: () => void (this.isClosed = true),
    };
  }
}
