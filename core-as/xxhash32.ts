// xxHash32 with seed 0, the checksum of LZ4 frames. Four sums run side by side over stripes of 16 bytes: one vector.
// Reference: the xxHash fast digest algorithm, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md

const PRIME_1: u32 = 0x9e3779b1;
const PRIME_2: u32 = 0x85ebca77;
const PRIME_3: u32 = 0xc2b2ae3d;
const PRIME_4: u32 = 0x27d4eb2f;
const PRIME_5: u32 = 0x165667b1;

const STRIPE: u32 = 16;

/** A checksum under way. Belongs to who laid it out; `startHash` before the first byte. */
@unmanaged
export class XxHash32 {
  sum0: u32;
  sum1: u32;
  sum2: u32;
  sum3: u32;
  /** The bytes behind the last whole stripe, with room for one that is copied too far. */
  rest0: u64;
  rest1: u64;
  rest2: u64;
  rest3: u64;
  /** Bytes so far, modulo 2^32. */
  length: u32;
  isLong: u32;
}

export function startHash(hash: XxHash32): void {
  hash.sum0 = PRIME_1 + PRIME_2;
  hash.sum1 = PRIME_2;
  hash.sum2 = 0;
  hash.sum3 = 0 - PRIME_1;
  hash.length = 0;
  hash.isLong = 0;
}

/** Goes on over `length` bytes. Reads up to 15 bytes behind them. */
export function updateHash(hash: XxHash32, ptr: usize, length: u32): void {
  const rest = restOf(hash), waiting = hash.length & (STRIPE - 1);
  hash.length += length;
  hash.isLong |= <u32> (length >= STRIPE || waiting + length >= STRIPE);
  if (waiting + <u64> length < STRIPE) {
    v128.store(rest + waiting, v128.load(ptr));
    return;
  }
  let end = ptr + length;
  if (waiting) {
    v128.store(rest + waiting, v128.load(ptr));
    stripes(hash, rest, rest + STRIPE);
    ptr += STRIPE - waiting;
  }
  end -= (end - ptr) & (STRIPE - 1);
  stripes(hash, ptr, end);
  v128.store(rest, v128.load(end));
}

/** The checksum of all bytes so far. */
export function endHash(hash: XxHash32): u32 {
  let sum = hash.isLong ? rotl(hash.sum0, 1) + rotl(hash.sum1, 7) + rotl(hash.sum2, 12) + rotl(hash.sum3, 18) : PRIME_5;
  sum += hash.length;
  let at = restOf(hash);
  const end = at + (hash.length & (STRIPE - 1));
  for (; at + 4 <= end; at += 4) sum = rotl(sum + load<u32>(at) * PRIME_3, 17) * PRIME_4;
  for (; at < end; at++) sum = rotl(sum + load<u8>(at) * PRIME_5, 11) * PRIME_1;
  sum = (sum ^ sum >>> 15) * PRIME_2;
  sum = (sum ^ sum >>> 13) * PRIME_3;
  return sum ^ sum >>> 16;
}

const WHOLE: usize = memory.data(offsetof<XxHash32>(), 16);

/** The checksum of `length` bytes. Reads up to 15 bytes behind them. */
export function hashOf(ptr: usize, length: u32): u32 {
  const hash = changetype<XxHash32>(WHOLE);
  startHash(hash);
  updateHash(hash, ptr, length);
  return endHash(hash);
}

function restOf(hash: XxHash32): usize {
  return changetype<usize>(hash) + offsetof<XxHash32>("rest0");
}

/** Whole stripes. */
function stripes(hash: XxHash32, ptr: usize, end: usize): void {
  let sums = v128.load(changetype<usize>(hash));
  for (; ptr < end; ptr += STRIPE) {
    sums = i32x4.add(sums, i32x4.mul(v128.load(ptr), i32x4.splat(PRIME_2)));
    sums = v128.or(i32x4.shl(sums, 13), i32x4.shr_u(sums, 19));
    sums = i32x4.mul(sums, i32x4.splat(PRIME_1));
  }
  v128.store(changetype<usize>(hash), sums);
}
