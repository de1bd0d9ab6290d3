const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let state = byte;
  for (let bit = 0; bit < 8; bit++) state = state & 1 ? state >>> 1 ^ 0xedb88320 : state >>> 1;
  return state;
});

/** CRC-32, a byte at a time; `seed` is that of the bytes before. */
export function crc32(bytes: Uint8Array, seed = 0): number {
  let state = ~seed;
  for (let i = 0; i < bytes.length; i++) state = state >>> 8 ^ table[(state ^ bytes[i]!) & 0xff]!;
  return ~state >>> 0;
}
