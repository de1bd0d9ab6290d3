// `slicing by 16`: CRC-32 by sixteen tables, in a wasm module of its own (AssemblyScript; built by scripts/baselines.mjs with
// the compiler and the options of the core). No SIMD.

const TABLE_BYTES: usize = 1024;
const TABLES: usize = memory.data(16 * 1024, 64);

/** Fills the tables; once, first. */
export function init(): void {
  for (let byte: u32 = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >>> 1 ^ 0xedb88320 : crc >>> 1;
    store<u32>(TABLES + (byte << 2), crc);
  }
  for (let byte: u32 = 0; byte < 256; byte++) {
    let crc = load<u32>(TABLES + (byte << 2));
    for (let k: usize = 1; k < 16; k++) {
      crc = crc >>> 8 ^ entry(0, crc);
      store<u32>(TABLES + k * TABLE_BYTES + (byte << 2), crc);
    }
  }
}

/** Where bytes may be put. */
export function free(): usize {
  return (__heap_base + 63) & ~63;
}

export function crc32(ptr: usize, length: u32): u32 {
  const end = ptr + length, lastBlock = end - 15;
  let crc: u32 = ~0;
  for (; ptr < lastBlock; ptr += 16) {
    const a = load<u32>(ptr) ^ crc, b = load<u32>(ptr, 4), c = load<u32>(ptr, 8), d = load<u32>(ptr, 12);
    crc = entry(15, a) ^ entry(14, a >>> 8) ^ entry(13, a >>> 16) ^ entry(12, a >>> 24) ^
      entry(11, b) ^ entry(10, b >>> 8) ^ entry(9, b >>> 16) ^ entry(8, b >>> 24) ^
      entry(7, c) ^ entry(6, c >>> 8) ^ entry(5, c >>> 16) ^ entry(4, c >>> 24) ^
      entry(3, d) ^ entry(2, d >>> 8) ^ entry(1, d >>> 16) ^ entry(0, d >>> 24);
  }
  for (; ptr < end; ptr++) crc = crc >>> 8 ^ entry(0, crc ^ load<u8>(ptr));
  return ~crc;
}

function entry(table: usize, byte: u32): u32 {
  return load<u32>(TABLES + table * TABLE_BYTES + ((byte & 0xff) << 2));
}
