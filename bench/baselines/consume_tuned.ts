import { Buffer } from "node:buffer";
import type { Handler } from "./consume_typical.ts";
import type { FastBuffer } from "./fast_buffer.ts";

/** Where the copies of the batches lie. */
export type Room = (length: number) => Buffer;

/** A buffer for every batch. */
export const roomEach: Room = (length) => Buffer.allocUnsafeSlow(length);

/** Slabs that consecutive batches share. */
export function roomInSlabs(slabBytes: number): Room {
  let slab = Buffer.allocUnsafeSlow(slabBytes), used = 0;
  return (length) => {
    if (used + length > slabBytes) {
      slab = Buffer.allocUnsafeSlow(slabBytes);
      used = 0;
    }
    const room = slab.subarray(used, used + length);
    used += (length + 15) & ~15;
    return room;
  };
}

const ENTRY = 16, BODY = 1, BODY_LENGTH = 2, TOPIC = 3, TOPIC_LENGTH = 4, PROPERTIES = 5, PROPERTIES_LENGTH = 6;
const OFFSET_HIGH = 12, OFFSET_LOW = 13;
const ENTRIES = 32;
const OFFSETS_MASK = 2047;

class LazyMessage {
  readonly #bytes: FastBuffer;
  readonly #index: Int32Array;
  readonly #at: number;

  constructor(bytes: FastBuffer, index: Int32Array, at: number) {
    this.#bytes = bytes;
    this.#index = index;
    this.#at = at;
  }

  body(): string {
    const at = this.#index[this.#at + BODY]!;
    return this.#bytes.utf8Slice(at, at + this.#index[this.#at + BODY_LENGTH]!);
  }

  tags(): string {
    const at = this.#index[this.#at + PROPERTIES]!;
    const properties = this.#bytes.latin1Slice(at, at + this.#index[this.#at + PROPERTIES_LENGTH]!);
    const value = properties.indexOf("TAGS\u0001") + 5;
    return properties.slice(value, properties.indexOf("\u0002", value));
  }
}

/**
 * `tuned index`, with `zlib` where `crc32` is given: the header by `JSON.parse`, one copy of the batch, one pass that notes
 * where everything is, lazy messages, offsets in a ring of bits.
 */
export function tunedConsumer(
  frame: Buffer,
  crc32?: (bytes: Uint8Array) => number,
  room: Room = roomEach,
): (handle: Handler) => void {
  const source = frame as FastBuffer;
  const template = new Int32Array(ENTRIES * ENTRY), bits = new Int32Array((OFFSETS_MASK + 1) >> 5);
  return (handle) => {
    const headerEnd = 8 + (source.readInt32BE(4) & 0xffffff);
    const { extFields } = JSON.parse(source.latin1Slice(8, headerEnd)) as { extFields: Record<string, string> };
    if (Number(extFields["nextBeginOffset"]) < 0) throw new Error("The next offset is below zero");
    const own = room(source.length - headerEnd) as FastBuffer;
    source.copy(own, 0, headerEnd);
    const index = template.slice(), end = own.length;
    let entry = 0;
    for (let at = 0; at < end;) {
      const size = own.readInt32BE(at);
      let part = at + 84;
      const bodyLength = own.readInt32BE(part);
      part += 4;
      if (crc32 && (crc32(own.subarray(part, part + bodyLength)) & 0x7fffffff) !== own.readInt32BE(at + 8)) {
        throw new Error("A body does not match its checksum");
      }
      index[entry] = at;
      index[entry + BODY] = part;
      index[entry + BODY_LENGTH] = bodyLength;
      part += bodyLength;
      const topicLength = own[part]!;
      index[entry + TOPIC] = part + 1;
      index[entry + TOPIC_LENGTH] = topicLength;
      part += 1 + topicLength;
      index[entry + PROPERTIES] = part + 2;
      index[entry + PROPERTIES_LENGTH] = own.readInt16BE(part);
      index[entry + OFFSET_HIGH] = own.readInt32BE(at + 20);
      index[entry + OFFSET_LOW] = own.readInt32BE(at + 24);
      entry += ENTRY;
      at += size;
    }
    const count = entry / ENTRY, messages = new Array<LazyMessage>(count);
    for (let i = 0; i < count; i++) {
      const offset = index[i * ENTRY + OFFSET_LOW]!, word = (offset & OFFSETS_MASK) >> 5;
      bits[word] = bits[word]! | 1 << (offset & 31);
      messages[i] = new LazyMessage(own, index, i * ENTRY);
    }
    for (const message of messages) handle(message.body(), message.tags());
    for (let i = 0; i < count; i++) {
      const offset = index[i * ENTRY + OFFSET_LOW]!, word = (offset & OFFSETS_MASK) >> 5;
      bits[word] = bits[word]! & ~(1 << (offset & 31));
    }
  };
}
