import { crc32 } from "node:zlib";

export const BODY_BYTES = 1024;

/** Property that carries the body's checksum, as 8 hex digits. */
export const CRC_PROPERTY = "demoCrc32";

/** Fills `body` with bytes that only message `index` has: xorshift from a seed of its own. */
export function fillBody(body: Uint32Array, index: number): void {
  let word = (Math.imul(index + 1, 0x9e3779b1) | 1) >>> 0;
  for (let i = 0; i < body.length; i++) {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    body[i] = word;
  }
}

export const keyOf = (index: number): string => `m-${index}`;

/** The index in a key, or -1 where the key is not one of ours. */
export function indexOf(key: string | undefined, messages: number): number {
  const index = Number(/^m-(\d+)$/.exec(key ?? "")?.[1] ?? -1);
  return index < messages ? index : -1;
}

export const checksum = (bytes: Uint8Array): string => crc32(bytes).toString(16).padStart(8, "0");

/** Whether `received` is, byte by byte, what message `index` was sent with; `scratch` is overwritten. */
export function isBodyOf(index: number, received: Uint8Array, scratch: Uint32Array): boolean {
  if (received.length !== BODY_BYTES) return false;
  fillBody(scratch, index);
  const expected = new Uint8Array(scratch.buffer, scratch.byteOffset, BODY_BYTES);
  for (let i = 0; i < BODY_BYTES; i++) if (expected[i] !== received[i]) return false;
  return true;
}
