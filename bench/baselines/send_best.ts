import { Buffer } from "node:buffer";
import type { FastBuffer } from "./fast_buffer.ts";
import { BUFFER_BYTES, type SendTarget, type SendWriter } from "./send_frame.ts";

const SHORT = 32;
const HEX_DIGITS = Buffer.from("0123456789ABCDEF");

/**
 * `best JS`: the whole header is a byte template that is copied and patched in place, and no string is made. It checks no
 * lengths, knows one kind of header, and writes an opaque of up to ten digits behind spaces.
 */
export function bestSend(to: SendTarget): SendWriter {
  const buffer: Uint8Array = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  const text = `{"code":310,"language":"${to.language}","version":${to.version},"flag":0,"opaque":          ,` +
    `"extFields":{"a":"${to.producerGroup}","b":"${to.topic}","c":"${to.defaultTopic}",` +
    `"d":"${to.defaultTopicQueueNums}","f":"0","h":"0","j":"0","k":"false","m":"false","n":"${to.brokerName}",` +
    `"g":"${to.bornTimestamp}","e":"0","i":"UNIQ_KEY\\u0001${to.uniquePrefix}${to.uniqueTime}0000` +
    `\\u0002WAIT\\u0001true\\u0002TAGS\\u0001${to.tags}\\u0002KEYS\\u0001`;
  const template = new Uint8Array(Buffer.from(text)), length = template.length;
  const opaqueEnd = text.indexOf('"opaque":') + 9 + 9;
  const queueAt = text.indexOf('"e":"') + 5;
  const counterAt = text.indexOf(to.uniquePrefix) + 28;
  const tail = new Uint8Array(Buffer.from('\\u0002"}}')), tailLength = tail.length;
  let end = 0, counter = 0;
  return {
    write(opaque, queueId, key, body) {
      const header = end + 8;
      buffer.set(template, header);
      let at = header + opaqueEnd;
      for (let rest = opaque; rest > 0; rest = (rest / 10) | 0) buffer[at--] = 48 + rest % 10;
      buffer[header + queueAt] = 48 + queueId;
      counter = (counter + 1) & 0xffff;
      at = header + counterAt;
      buffer[at] = HEX_DIGITS[counter >> 12]!;
      buffer[at + 1] = HEX_DIGITS[(counter >> 8) & 15]!;
      buffer[at + 2] = HEX_DIGITS[(counter >> 4) & 15]!;
      buffer[at + 3] = HEX_DIGITS[counter & 15]!;
      at = header + length;
      const keyLength = key.length;
      let isPlain = keyLength <= SHORT;
      for (let i = 0; isPlain && i < keyLength; i++) {
        const unit = key.charCodeAt(i);
        if (unit > 127 || unit < 32 || unit === 34 || unit === 92) isPlain = false;
        else buffer[at + i] = unit;
      }
      at += isPlain ? keyLength : (buffer as FastBuffer).utf8Write(JSON.stringify(key).slice(1, -1), at);
      for (let i = 0; i < tailLength; i++) buffer[at + i] = tail[i]!;
      at += tailLength;
      const headerLength = at - header, total = 4 + headerLength + body.length;
      buffer[end] = total >>> 24;
      buffer[end + 1] = total >>> 16;
      buffer[end + 2] = total >>> 8;
      buffer[end + 3] = total;
      buffer[end + 4] = 0;
      buffer[end + 5] = headerLength >>> 16;
      buffer[end + 6] = headerLength >>> 8;
      buffer[end + 7] = headerLength;
      buffer.set(body, at);
      end = at + body.length;
    },
    reset() {
      end = 0;
    },
    written: () => buffer.subarray(0, end),
  };
}
