import { Buffer } from "node:buffer";
import type { FastBuffer } from "./fast_buffer.ts";
import { type SendTarget, type SendWriter, uniqueIds } from "./send_frame.ts";

/** `typical JS`: an object, `JSON.stringify`, and a buffer for each frame. */
export function typicalSend(to: SendTarget): SendWriter {
  const nextId = uniqueIds(to);
  let frames: Buffer[] = [];
  return {
    write(opaque, queueId, key, body) {
      const header = JSON.stringify({
        code: 310,
        language: to.language,
        version: to.version,
        flag: 0,
        opaque,
        extFields: {
          a: to.producerGroup,
          b: to.topic,
          c: to.defaultTopic,
          d: String(to.defaultTopicQueueNums),
          e: String(queueId),
          f: "0",
          g: String(to.bornTimestamp),
          h: "0",
          i: `UNIQ_KEY\u0001${nextId()}\u0002WAIT\u0001true\u0002TAGS\u0001${to.tags}\u0002KEYS\u0001${key}\u0002`,
          j: "0",
          k: "false",
          m: "false",
          n: to.brokerName,
        },
      });
      const headerLength = Buffer.byteLength(header);
      const frame = Buffer.allocUnsafe(8 + headerLength + body.length) as FastBuffer;
      frame.writeInt32BE(4 + headerLength + body.length, 0);
      frame.writeInt32BE(headerLength, 4);
      frame.utf8Write(header, 8, headerLength);
      frame.set(body, 8 + headerLength);
      frames.push(frame);
    },
    reset() {
      frames = [];
    },
    written: () => frames.length === 1 ? frames[0]! : Buffer.concat(frames),
  };
}
