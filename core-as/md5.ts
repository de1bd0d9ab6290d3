// MD5, of which a hash ring takes the first four bytes. Reference: RFC 1321.

const BLOCK: u32 = 64;
/** The length in bits at the end of the last block. */
const LENGTH_AT: u32 = 56;

/** floor(2^32 * |sin(i + 1)|), u32 each. */
const SINES: usize = memory.data(64 * 4, 16);
/** The last one or two blocks: what is left of the text, the suffix, a bit, zeroes, the length. */
const TAIL: usize = memory.data(2 * 64 + 64, 16);

let a: u32 = 0, b: u32 = 0, c: u32 = 0, d: u32 = 0;

/**
 * The first four bytes, as a big-endian number, of the MD5 of a text and, behind it, the lowest `suffixLength` bytes of
 * `suffix`, at most 8. Reads up to 15 bytes behind the text.
 */
export function md5Start(text: usize, length: u32, suffix: u64, suffixLength: u32): u32 {
  a = 0x67452301;
  b = 0xefcdab89;
  c = 0x98badcfe;
  d = 0x10325476;
  const rest = length % BLOCK, end = text + (length - rest);
  for (; text < end; text += BLOCK) addBlock(text);
  memory.fill(TAIL, 0, 2 * BLOCK);
  memory.copy(TAIL, end, rest);
  const used = rest + suffixLength;
  store<u64>(TAIL + rest, suffix);
  store<u64>(TAIL + used, 0x80);
  const blocks: u32 = used < LENGTH_AT ? 1 : 2;
  store<u64>(TAIL + (blocks - 1) * BLOCK, <u64> (length + suffixLength) << 3, LENGTH_AT);
  for (let i: u32 = 0; i < blocks; i++) addBlock(TAIL + i * BLOCK);
  return bswap(a);
}

function addBlock(block: usize): void {
  let one = a, two = b, three = c, four = d;
  for (let i: u32 = 0; i < 64; i++) {
    const round = i >>> 4;
    const mixed = round == 0
      ? (two & three) | (~two & four)
      : round == 1
      ? (two & four) | (three & ~four)
      : round == 2
      ? two ^ three ^ four
      : three ^ (two | ~four);
    const sum = one + mixed + load<u32>(SINES + (i << 2)) + load<u32>(block + (placeOf(i, round) << 2));
    one = four;
    four = three;
    three = two;
    two += rotl(sum, shiftOf(i & 3, round));
  }
  a += one;
  b += two;
  c += three;
  d += four;
}

/** Which word of the block a step takes. */
function placeOf(step: u32, round: u32): u32 {
  if (round == 0) return step;
  if (round == 1) return (5 * step + 1) & 15;
  return (round == 2 ? 3 * step + 5 : 7 * step) & 15;
}

/** Four shifts for each round, a byte each. */
function shiftOf(step: u32, round: u32): u32 {
  const shifts: u32 = round == 0 ? 0x16110c07 : round == 1 ? 0x140e0905 : round == 2 ? 0x17100b04 : 0x150f0a06;
  return shifts >>> (step << 3) & 0xff;
}

/** Fills the table; once. */
export function initMd5(): void {
  store<u64>(SINES, 0xe8c7b756d76aa478, 0);
  store<u64>(SINES, 0xc1bdceee242070db, 8);
  store<u64>(SINES, 0x4787c62af57c0faf, 16);
  store<u64>(SINES, 0xfd469501a8304613, 24);
  store<u64>(SINES, 0x8b44f7af698098d8, 32);
  store<u64>(SINES, 0x895cd7beffff5bb1, 40);
  store<u64>(SINES, 0xfd9871936b901122, 48);
  store<u64>(SINES, 0x49b40821a679438e, 56);
  store<u64>(SINES, 0xc040b340f61e2562, 64);
  store<u64>(SINES, 0xe9b6c7aa265e5a51, 72);
  store<u64>(SINES, 0x02441453d62f105d, 80);
  store<u64>(SINES, 0xe7d3fbc8d8a1e681, 88);
  store<u64>(SINES, 0xc33707d621e1cde6, 96);
  store<u64>(SINES, 0x455a14edf4d50d87, 104);
  store<u64>(SINES, 0xfcefa3f8a9e3e905, 112);
  store<u64>(SINES, 0x8d2a4c8a676f02d9, 120);
  store<u64>(SINES, 0x8771f681fffa3942, 128);
  store<u64>(SINES, 0xfde5380c6d9d6122, 136);
  store<u64>(SINES, 0x4bdecfa9a4beea44, 144);
  store<u64>(SINES, 0xbebfbc70f6bb4b60, 152);
  store<u64>(SINES, 0xeaa127fa289b7ec6, 160);
  store<u64>(SINES, 0x04881d05d4ef3085, 168);
  store<u64>(SINES, 0xe6db99e5d9d4d039, 176);
  store<u64>(SINES, 0xc4ac56651fa27cf8, 184);
  store<u64>(SINES, 0x432aff97f4292244, 192);
  store<u64>(SINES, 0xfc93a039ab9423a7, 200);
  store<u64>(SINES, 0x8f0ccc92655b59c3, 208);
  store<u64>(SINES, 0x85845dd1ffeff47d, 216);
  store<u64>(SINES, 0xfe2ce6e06fa87e4f, 224);
  store<u64>(SINES, 0x4e0811a1a3014314, 232);
  store<u64>(SINES, 0xbd3af235f7537e82, 240);
  store<u64>(SINES, 0xeb86d3912ad7d2bb, 248);
}
