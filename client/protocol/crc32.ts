/** Four tables, so that four bytes go in one step: enough for the paths that cannot use the core's. */
const TABLES = makeTables();

/** CRC-32 as zlib's, as an unsigned number; `seed` is that of the bytes before. */
export function crc32(bytes: Uint8Array, seed = 0): number {
  const tables = TABLES, end = bytes.length - 3;
  let crc = ~seed, at = 0;
  for (; at < end; at += 4) {
    crc ^= bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 | bytes[at + 3]! << 24;
    crc = tables[768 + (crc & 0xff)]! ^ tables[512 + ((crc >>> 8) & 0xff)]! ^ tables[256 + ((crc >>> 16) & 0xff)]! ^
      tables[crc >>> 24]!;
  }
  for (; at < bytes.length; at++) crc = tables[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The checksum a record carries: 31 bits of the CRC. */
export const bodyCrc = (body: Uint8Array): number => crc32(body) & 0x7fffffff;

function makeTables(): Int32Array {
  const tables = new Int32Array(1024);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    tables[byte] = crc;
  }
  for (let i = 256; i < 1024; i++) tables[i] = tables[tables[i - 256]! & 0xff]! ^ (tables[i - 256]! >>> 8);
  return tables;
}
