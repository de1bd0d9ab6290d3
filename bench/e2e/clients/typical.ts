import { Buffer } from "node:buffer";
import net from "node:net";
import { typicalSend } from "../../baselines/send_typical.ts";
import { type OpenClient, QUEUES, type Waiting } from "./client.ts";

interface Header {
  readonly opaque: number;
  readonly extFields: Readonly<Record<"msgId" | "queueId" | "queueOffset", string>>;
}

/** `typical JS`: an object, `JSON.stringify`, a buffer and a write for each frame; `data` events, `JSON.parse`, a `Map`. */
export const typicalClient: OpenClient = async (port, to) => {
  const writer = typicalSend(to), waiting = new Map<number, Waiting>();
  const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  let opaque = 0, rest: Buffer | undefined;
  socket.on("data", (chunk) => {
    const bytes = rest ? Buffer.concat([rest, chunk]) : chunk;
    let at = 0;
    while (bytes.length - at >= 4) {
      const end = at + 4 + bytes.readInt32BE(at);
      if (end > bytes.length) break;
      const headerLength = bytes.readInt32BE(at + 4) & 0xffffff;
      const { opaque, extFields } = JSON.parse(bytes.toString("utf8", at + 8, at + 8 + headerLength)) as Header;
      const call = waiting.get(opaque);
      waiting.delete(opaque);
      call?.resolve({
        sendStatus: "SEND_OK",
        offsetMsgId: extFields.msgId,
        queueId: Number(extFields.queueId),
        queueOffset: Number(extFields.queueOffset),
      });
      at = end;
    }
    rest = at < bytes.length ? bytes.subarray(at) : undefined;
  });
  return {
    send: (keys, body) =>
      new Promise((resolve, reject) => {
        opaque++;
        waiting.set(opaque, { resolve, reject });
        writer.write(opaque, opaque % QUEUES, keys, body);
        socket.write(writer.written());
        writer.reset();
      }),
    close: () => socket.destroy(),
  };
};
