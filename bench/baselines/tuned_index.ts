import type { Buffer } from "node:buffer";

/** Fields of an entry, in words. */
export const INDEX_WORDS = 16;
export const RECORD = 0, BODY = 1, BODY_LENGTH = 2, TOPIC = 3, TOPIC_LENGTH = 4, PROPERTIES = 5, PROPERTIES_LENGTH = 6;
export const QUEUE_ID = 7,
  FLAG = 8,
  SYS_FLAG = 9,
  OFFSET_HIGH = 12,
  OFFSET_LOW = 13,
  PHYSICAL_HIGH = 14,
  PHYSICAL_LOW = 15;

const MAGIC_V1 = -626_843_481;
const BORN_HOST_V6 = 16, STORE_HOST_V6 = 32;
const HEAD_MIN = 91;

/**
 * `tuned index`: one pass over a pull body with a `DataView`; where the parts of each record are goes into one array of
 * numbers. With `crc32` the bodies are checked too. Returns how many records there are, -1 when a checksum is wrong.
 */
export function tunedIndex(body: Buffer, crc32?: (bytes: Uint8Array) => number): {
  readonly index: Int32Array;
  walk(): number;
} {
  const view = new DataView(body.buffer, body.byteOffset, body.length), end = body.length;
  const index = new Int32Array(1024 * INDEX_WORDS);
  const walk = (): number => {
    let at = 0, entry = 0, bad = 0;
    while (at < end) {
      if (end - at < HEAD_MIN) throw new Error("A record is cut short");
      const size = view.getInt32(at), magic = view.getInt32(at + 4), sysFlag = view.getInt32(at + 36);
      if (size > end - at || size < HEAD_MIN) throw new Error("A record's size makes no sense");
      index[entry + RECORD] = at;
      index[entry + QUEUE_ID] = view.getInt32(at + 12);
      index[entry + FLAG] = view.getInt32(at + 16);
      index[entry + SYS_FLAG] = sysFlag;
      index[entry + OFFSET_HIGH] = view.getInt32(at + 20);
      index[entry + OFFSET_LOW] = view.getInt32(at + 24);
      index[entry + PHYSICAL_HIGH] = view.getInt32(at + 28);
      index[entry + PHYSICAL_LOW] = view.getInt32(at + 32);
      let part = at + 84 + (sysFlag & BORN_HOST_V6 ? 12 : 0) + (sysFlag & STORE_HOST_V6 ? 12 : 0);
      const bodyLength = view.getInt32(part);
      part += 4;
      if (part + bodyLength + 3 > at + size) throw new Error("A body is longer than its record");
      index[entry + BODY] = part;
      index[entry + BODY_LENGTH] = bodyLength;
      if (crc32 && (crc32(body.subarray(part, part + bodyLength)) & 0x7fffffff) !== view.getInt32(at + 8)) bad++;
      part += bodyLength;
      let topicLength: number;
      if (magic === MAGIC_V1) topicLength = view.getUint8(part++);
      else {
        topicLength = view.getUint16(part);
        part += 2;
      }
      index[entry + TOPIC] = part;
      index[entry + TOPIC_LENGTH] = topicLength;
      part += topicLength;
      index[entry + PROPERTIES] = part + 2;
      index[entry + PROPERTIES_LENGTH] = view.getUint16(part);
      entry += INDEX_WORDS;
      at += size;
    }
    return bad > 0 ? -1 : entry / INDEX_WORDS;
  };
  return { index, walk };
}
