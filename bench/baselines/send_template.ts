import { Buffer } from "node:buffer";
import type { FastBuffer } from "./fast_buffer.ts";
import { BUFFER_BYTES, ESCAPED, type SendTarget, type SendWriter, uniqueIds } from "./send_frame.ts";

/** `template-string JS`: the header is one template string, written straight into the buffer of this turn. */
export function templateSend(to: SendTarget): SendWriter {
  const nextId = uniqueIds(to);
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES) as FastBuffer;
  const start = `{"code":310,"language":"${to.language}","version":${to.version},"flag":0,"opaque":`;
  const fields = `,"extFields":{"a":"${to.producerGroup}","b":"${to.topic}","c":"${to.defaultTopic}",` +
    `"d":"${to.defaultTopicQueueNums}","f":"0","h":"0","j":"0","k":"false","m":"false","n":"${to.brokerName}","e":"`;
  const properties = `\\u0002WAIT\\u0001true\\u0002TAGS\\u0001${to.tags}\\u0002KEYS\\u0001`;
  let end = 0;
  return {
    write(opaque, queueId, key, body) {
      const escaped = ESCAPED.test(key) ? JSON.stringify(key).slice(1, -1) : key;
      const header = start + opaque + fields + queueId + '","g":"' + to.bornTimestamp + '","i":"UNIQ_KEY\\u0001' +
        nextId() + properties + escaped + '\\u0002"}}';
      const headerLength = buffer.utf8Write(header, end + 8, header.length * 3);
      buffer.writeInt32BE(4 + headerLength + body.length, end);
      buffer.writeInt32BE(headerLength, end + 4);
      buffer.set(body, end + 8 + headerLength);
      end += 8 + headerLength + body.length;
    },
    reset() {
      end = 0;
    },
    written: () => buffer.subarray(0, end),
  };
}
