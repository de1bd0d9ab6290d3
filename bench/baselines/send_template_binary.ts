import { Buffer } from "node:buffer";
import type { FastBuffer } from "./fast_buffer.ts";
import { BUFFER_BYTES, type SendTarget, type SendWriter, uniqueIds } from "./send_frame.ts";

/**
 * `template-string JS, binary`: the same for the ROCKETMQ header. What is constant is a byte template; the properties are a
 * template string, written behind it.
 */
export function templateSendBinary(to: SendTarget): SendWriter {
  const nextId = uniqueIds(to);
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES) as FastBuffer;
  const fixed = Buffer.concat([
    entry("a", to.producerGroup),
    entry("b", to.topic),
    entry("c", to.defaultTopic),
    entry("d", String(to.defaultTopicQueueNums)),
    entry("f", "0"),
    entry("h", "0"),
    entry("j", "0"),
    entry("k", "false"),
    entry("m", "false"),
    entry("n", to.brokerName),
    entry("g", String(to.bornTimestamp)),
    entry("e", "0"),
    entry("i", "").subarray(0, 3),
  ]);
  const head = Buffer.alloc(HEAD);
  head.writeInt16BE(310, 0);
  head.writeInt8(to.languageNumber, 2);
  head.writeInt16BE(to.version, 3);
  const template = new Uint8Array(Buffer.concat([head, fixed])), length = template.length;
  const queueAt = length - 4;
  const properties = `\u0002WAIT\u0001true\u0002TAGS\u0001${to.tags}\u0002KEYS\u0001`;
  let end = 0;
  return {
    write(opaque, queueId, key, body) {
      const header = end + 8;
      buffer.set(template, header);
      buffer.writeInt32BE(opaque, header + 5);
      buffer[header + queueAt] = 48 + queueId;
      const text = "UNIQ_KEY\u0001" + nextId() + properties + key + "\u0002";
      let at = header + length;
      const textLength = buffer.utf8Write(text, at + 4, text.length * 3);
      buffer.writeInt32BE(textLength, at);
      at += 4 + textLength;
      const headerLength = at - header;
      buffer.writeInt32BE(headerLength - HEAD, header + HEAD - 4);
      buffer.writeInt32BE(4 + headerLength + body.length, end);
      buffer.writeInt32BE(headerLength | 1 << 24, end + 4);
      buffer.set(body, at);
      end = at + body.length;
    },
    reset() {
      end = 0;
    },
    written: () => buffer.subarray(0, end),
  };
}

/** Code, language, version, opaque, flag, length of an empty remark, length of the fields. */
const HEAD = 21;

function entry(name: string, value: string): Buffer {
  const bytes = Buffer.alloc(6 + name.length + value.length);
  bytes.writeInt16BE(name.length, 0);
  bytes.write(name, 2);
  bytes.writeInt32BE(value.length, 2 + name.length);
  bytes.write(value, 6 + name.length);
  return bytes;
}
