// The codec of ali-ons, the other client in JavaScript. The benchmark installs it for itself (`scripts/bench.mjs`); where it is
// not there, nothing is measured against it.
import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { SendInput } from "../inputs/send.ts";

/** The release that is measured. */
export const ALI_ONS_VERSION = "3.12.0";

interface Command {
  body: Buffer;
  readonly opaque: number;
  readonly code: number;
  encode(): Buffer;
  decodeCommandCustomHeader(): Readonly<Record<string, string>>;
}

interface Modules {
  readonly RemotingCommand: {
    createRequestCommand(code: number, header: object): Command;
    decode(frame: Buffer): Command;
  };
  readonly MessageDecoder: {
    messageProperties2String(properties: object): string;
    decodes(buffer: unknown): readonly AliOnsMessage[];
  };
  readonly Message: new (topic: string, tags: string, body: Buffer) => OutgoingMessage;
  readonly ByteBuffer: { wrap(bytes: Buffer): unknown };
}

interface OutgoingMessage {
  readonly topic: string;
  readonly body: Buffer;
  readonly properties: object;
  keys: readonly string[];
}

interface AliOnsMessage {
  readonly body: Buffer;
  readonly tags: string;
  readonly queueOffset: number | string;
}

function modules(folder: string | undefined): Modules | undefined {
  if (folder === undefined || !existsSync(join(folder, "node_modules/ali-ons/package.json"))) return undefined;
  const load = createRequire(join(folder, "x.js"));
  const own = createRequire(load.resolve("ali-ons/package.json"));
  return {
    RemotingCommand: load("ali-ons/lib/protocol/command/remoting_command"),
    MessageDecoder: load("ali-ons/lib/message/message_decoder"),
    Message: load("ali-ons/lib/message/message"),
    ByteBuffer: own("byte"),
  };
}

export function aliOnsSend(folder: string | undefined, to: SendInput) {
  const ali = modules(folder);
  if (!ali) return undefined;
  const { RemotingCommand, MessageDecoder, Message } = ali;
  let bytes = 0, given: Uint8Array | undefined, body = Buffer.alloc(0);
  return {
    write(_opaque: number, queueId: number, key: string, bytesGiven: Uint8Array): void {
      // It takes nothing but a Buffer.
      if (given !== bytesGiven) body = Buffer.from(given = bytesGiven);
      const message = new Message(to.topic, to.tags, body);
      message.keys = [key];
      const command = RemotingCommand.createRequestCommand(310, {
        a: to.producerGroup,
        b: message.topic,
        c: to.defaultTopic,
        d: to.defaultTopicQueueNums,
        e: queueId,
        f: 0,
        g: to.bornTimestamp,
        h: 0,
        i: MessageDecoder.messageProperties2String(message.properties),
        j: 0,
        k: false,
        l: undefined,
      });
      command.body = message.body;
      bytes += command.encode().length;
    },
    reset(): void {
      bytes = 0;
    },
    written: (): Uint8Array => new Uint8Array(bytes),
  };
}

/** Reads every frame of some bytes; the sum is what the other readers come to. */
export function aliOnsResponses(folder: string | undefined) {
  const ali = modules(folder);
  if (!ali) return undefined;
  const { RemotingCommand } = ali;
  return (bytes: Buffer, kind: "send" | "pull") => ({
    readAll(): number {
      let sum = 0;
      for (let at = 0; at < bytes.length;) {
        const end = at + 4 + bytes.readInt32BE(at);
        const command = RemotingCommand.decode(bytes.subarray(at, end));
        const header = command.decodeCommandCustomHeader();
        sum += command.opaque + command.code;
        if (kind === "send") sum += Number(header["queueId"]) + Number(header["queueOffset"]) + header["msgId"]!.length;
        else {
          sum += Number(header["nextBeginOffset"]) + Number(header["minOffset"]) + Number(header["maxOffset"]) +
            Number(header["suggestWhichBrokerId"]);
        }
        at = end;
      }
      return sum;
    },
  });
}

/** A pull answer from its bytes to body and tags of each message, as text. */
export function aliOnsConsume(folder: string | undefined) {
  const ali = modules(folder);
  if (!ali) return undefined;
  const { RemotingCommand, MessageDecoder, ByteBuffer } = ali;
  return (frame: Buffer) => (): readonly AliOnsMessage[] => {
    const command = RemotingCommand.decode(frame);
    command.decodeCommandCustomHeader();
    return MessageDecoder.decodes(ByteBuffer.wrap(command.body));
  };
}
