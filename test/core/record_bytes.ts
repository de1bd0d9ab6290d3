// Records as a broker stores them, written field by field: docs/protocol.md, "Messages".

import { crc32 } from "./crc32_model.ts";

export const MAGIC_V1 = 0xdaa320a7;
export const MAGIC_V2 = 0xdaa320ab;

/** Fields of a record; those left out are 0 or empty, and the checksum is the right one. */
export interface RecordFields {
  readonly magic?: number;
  readonly bodyCRC?: number;
  readonly queueOffset?: bigint;
  readonly sysFlag?: number;
  readonly body?: Uint8Array;
  readonly topic?: string;
  readonly properties?: string;
  /** Bytes behind the properties that the total size includes. */
  readonly trailing?: Uint8Array;
}

const text = new TextEncoder();

/** One record. */
export function recordBytes(fields: RecordFields = {}): Uint8Array {
  const { magic = MAGIC_V1, queueOffset = 0n, sysFlag = 0, body = new Uint8Array(0) } = fields;
  const topic = text.encode(fields.topic ?? "TopicA"), properties = text.encode(fields.properties ?? "");
  const trailing = fields.trailing ?? new Uint8Array(0);
  const bytes = new Bytes();
  bytes.u32(0).u32(magic).u32(fields.bodyCRC ?? (crc32(body) & 0x7fffffff)).u32(3).u32(7);
  bytes.u64(queueOffset).u64(queueOffset * 100n).u32(sysFlag);
  bytes.u64(1_700_000_000_000n).host(sysFlag & 0x10 ? 16 : 4, 1);
  bytes.u64(1_700_000_000_001n).host(sysFlag & 0x20 ? 16 : 4, 2);
  bytes.u32(2).u64(0n);
  bytes.u32(body.length).raw(body);
  if (magic === MAGIC_V2) bytes.u16(topic.length);
  else bytes.raw(Uint8Array.of(topic.length));
  bytes.raw(topic).u16(properties.length).raw(properties).raw(trailing);
  return bytes.sized();
}

/** One element of an inner batch. */
export function elementBytes(body: Uint8Array, properties = "", flag = 0): Uint8Array {
  const encoded = text.encode(properties);
  return new Bytes().u32(0).u32(0).u32(0).u32(flag).u32(body.length).raw(body).u16(encoded.length).raw(encoded).sized();
}

class Bytes {
  readonly #bytes: number[] = [];

  raw(bytes: Uint8Array): this {
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  u16(value: number): this {
    return this.raw(Uint8Array.of(value >>> 8, value));
  }

  u32(value: number): this {
    return this.raw(Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value));
  }

  u64(value: bigint): this {
    return this.u32(Number(BigInt.asUintN(32, value >> 32n))).u32(Number(BigInt.asUintN(32, value)));
  }

  host(length: number, fill: number): this {
    return this.raw(new Uint8Array(length).fill(fill)).u32(10911);
  }

  /** The bytes, with their number in the first four of them. */
  sized(): Uint8Array {
    const bytes = Uint8Array.from(this.#bytes);
    new DataView(bytes.buffer).setUint32(0, bytes.length);
    return bytes;
  }
}
