// LZ4 frames, read a byte at a time: what the core is held against.

const MAGIC = 0x184d2204;
const SKIPPABLE = 0x184d2a50;

/** What the frames hold; undefined when they are none, are damaged, or hold more than `limit` bytes. */
export function modelReadLz4(frames: Uint8Array, limit: number): Uint8Array | undefined {
  const out: number[] = [];
  let at = 0, isRead = false;
  while (at < frames.length) {
    const magic = word(frames, at);
    if (magic === undefined) return undefined;
    const end = magic === MAGIC ? readFrame(frames, at + 4, out, limit) : skipFrame(frames, at, magic);
    if (end === undefined) return undefined;
    at = end;
    isRead = true;
  }
  return isRead && out.length <= limit ? Uint8Array.from(out) : undefined;
}

function skipFrame(frames: Uint8Array, at: number, magic: number): number | undefined {
  const length = word(frames, at + 4);
  if ((magic & ~15) !== SKIPPABLE || length === undefined) return undefined;
  const end = at + 8 + length;
  return end <= frames.length ? end : undefined;
}

/** Returns where the frame ends. */
function readFrame(frames: Uint8Array, start: number, out: number[], limit: number): number | undefined {
  const flags = frames[start]!, sizes = frames[start + 1]!;
  if (flags >> 6 !== 1 || flags & 3 || sizes & 0x8f || sizes < 0x40) return undefined;
  let at = start + (flags & 8 ? 10 : 2);
  if (at >= frames.length || frames[at] !== (modelXxHash32(frames.subarray(start, at)) >>> 8 & 255)) return undefined;
  const begin = out.length, blockMax = 2 ** (8 + 2 * (sizes >> 4));
  for (at++;;) {
    const size = word(frames, at);
    if (size === undefined) return undefined;
    at += 4;
    const length = size & 0x7fffffff;
    if (length === 0) break;
    if (length > blockMax || at + length > frames.length) return undefined;
    const block = frames.subarray(at, at + length), floor = flags & 0x20 ? out.length : begin;
    if (size >>> 31) { for (const byte of block) out.push(byte); }
    else if (!readBlock(block, out, floor, out.length + blockMax)) return undefined;
    if (out.length > limit) return undefined;
    at += length;
    if (flags & 16) {
      if (word(frames, at) !== modelXxHash32(block)) return undefined;
      at += 4;
    }
  }
  const content = out.slice(begin);
  if (flags & 8) {
    const size = word(frames, start + 2)! + word(frames, start + 6)! * 2 ** 32;
    if (size !== content.length) return undefined;
  }
  if (!(flags & 4)) return at;
  return word(frames, at) === modelXxHash32(Uint8Array.from(content)) ? at + 4 : undefined;
}

function readBlock(block: Uint8Array, out: number[], floor: number, stop: number): boolean {
  let at = 0;
  const count = (first: number): number => {
    let total = first;
    if (first === 15) {
      for (let more = 255; more === 255; total += more) {
        if (at >= block.length) return Infinity;
        more = block[at++]!;
      }
    }
    return total;
  };
  while (at < block.length) {
    const token = block[at++]!;
    let literals = count(token >> 4);
    if (at + literals > block.length || out.length + literals > stop) return false;
    while (literals-- > 0) out.push(block[at++]!);
    if (at === block.length) return true;
    if (at + 8 > block.length) return false;
    const distance = block[at]! | block[at + 1]! << 8;
    at += 2;
    let match = count(token & 15) + 4;
    if (distance === 0 || out.length - distance < floor || out.length + match > stop) return false;
    while (match-- > 0) out.push(out[out.length - distance]!);
  }
  return false;
}

/** Little endian; undefined behind the end. */
function word(bytes: Uint8Array, at: number): number | undefined {
  if (at + 4 > bytes.length) return undefined;
  return (bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 | bytes[at + 3]! << 24) >>> 0;
}

const PRIMES: readonly [number, number, number, number, number] = [
  0x9e3779b1,
  0x85ebca77,
  0xc2b2ae3d,
  0x27d4eb2f,
  0x165667b1,
];
const rotated = (value: number, bits: number): number => value << bits | value >>> (32 - bits);

/** xxHash32 with seed 0. */
export function modelXxHash32(bytes: Uint8Array): number {
  const [one, two, three, four, five] = PRIMES;
  let sum = five, at = 0;
  if (bytes.length >= 16) {
    const sums = [one + two | 0, two, 0, -one];
    for (; at + 16 <= bytes.length; at += 16) {
      for (let lane = 0; lane < 4; lane++) {
        const read = word(bytes, at + lane * 4)!;
        sums[lane] = Math.imul(rotated(sums[lane]! + Math.imul(read, two) | 0, 13), one);
      }
    }
    sum = [1, 7, 12, 18].reduce((total, bits, lane) => total + rotated(sums[lane]!, bits) | 0, 0);
  }
  sum = sum + bytes.length | 0;
  for (; at + 4 <= bytes.length; at += 4) {
    sum = Math.imul(rotated(sum + Math.imul(word(bytes, at)!, three) | 0, 17), four);
  }
  for (; at < bytes.length; at++) sum = Math.imul(rotated(sum + Math.imul(bytes[at]!, five) | 0, 11), one);
  sum = Math.imul(sum ^ sum >>> 15, two);
  sum = Math.imul(sum ^ sum >>> 13, three);
  return (sum ^ sum >>> 16) >>> 0;
}
