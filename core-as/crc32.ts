// CRC-32 (zlib's) without a carry-less multiply. Chorba (Russell 2024, arXiv 2412.16398): the polynomial has a sparse multiple
// with the exponents {0, 145, 183, 211, 300}, so a word is folded by XOR-ing it, shifted, some words further on. Squaring over
// GF(2) doubles exponents: the same numbers times eight are a multiple too, and those are whole bytes. Then a vector of 16
// bytes is folded without any shift, 145, 183, 211 and 300 bytes further on ("scaled Chorba").
//
// Chorba leaves three vectors. Slicing needs an address and, where the engine checks bounds by itself, a comparison for each
// of them; so only the last 16 are sliced. What the vectors before them do to those is looked up 16 half bytes at a time, in
// tables that are vectors themselves (`swizzle`).

import * as abi from "./abi";
import { inArena } from "./arena";
import { beginScratch, CHECKSUM, SCRATCH } from "./scratch";
import { Submission } from "./shared";

const SCALED_FROM: u32 = 640;

/** OP_CRC32. */
export function crc32(entry: Submission): void {
  if (!inArena(entry.ptr, entry.len)) {
    entry.result = abi.E_BAD_POINTER;
    return;
  }
  entry.value = <f64> crc32Of(entry.ptr, entry.len, entry.token);
  entry.result = 0;
}

/** CRC-32 of `length` bytes that follow others whose CRC-32 is `seed`. Reads up to 15 bytes behind them. */
export function crc32Of(ptr: usize, length: u32, seed: u32): u32 {
  const end = ptr + length;
  if (length < 4) return ~byteWise(~seed, ptr, end);
  if (length < SCALED_FROM) return ~chorba(ptr, length, ~seed);
  return ~scaledChorba(ptr, end, ~seed);
}

/** Fills the tables; once, before the first checksum. */
export function initCrc(): void {
  for (let byte: u32 = 0; byte < 256; byte++) {
    let state = byte;
    for (let bit = 0; bit < 8; bit++) state = state & 1 ? (state >>> 1) ^ 0xedb88320 : state >>> 1;
    store<u32>(TABLES + (byte << 2), state);
  }
  for (let byte: u32 = 0; byte < 256; byte++) {
    let state = load<u32>(TABLES + (byte << 2));
    for (let table: usize = 1; table < 16; table++) {
      state = step(state);
      store<u32>(TABLES + table * TABLE_BYTES + (byte << 2), state);
    }
  }
  for (let half: u32 = 0; half < 16; half++) {
    putHalf(NEAR + half, at(15, half));
    putHalf(NEAR + half + 16, at(15, half << 4));
    putHalf(FAR + half, behind16(at(15, half)));
    putHalf(FAR + half + 16, behind16(at(15, half << 4)));
  }
}

/** The state 16 zeroes further on. */
function behind16(state: u32): u32 {
  for (let i = 0; i < 16; i++) state = step(state);
  return state;
}

function putHalf(to: usize, state: u32): void {
  for (let byte: u32 = 0; byte < 4; byte++) store<u8>(to + byte * 32, state >>> (byte << 3));
}

// ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const TABLE_BYTES: usize = 1024;
/** Table k says what a byte does to the state when k more bytes follow it. */
const TABLES: usize = memory.data(16 * 1024, 64);
/** Tables 15 and 31 for half bytes: for each of the four bytes that they give, 16 low halves and 16 high ones. */
const NEAR: usize = memory.data(8 * 16, 16);
const FAR: usize = memory.data(8 * 16, 16);

function at(table: usize, byte: u32): u32 {
  return load<u32>(TABLES + table * TABLE_BYTES + ((byte & 0xff) << 2));
}

function step(state: u32): u32 {
  return at(0, state) ^ (state >>> 8);
}

function byteWise(state: u32, ptr: usize, end: usize): u32 {
  for (; ptr < end; ptr++) state = step(state ^ load<u8>(ptr));
  return state;
}

// ── Chorba, on words of 64 bits: 145 = 2·64 + 17, 183 = 2·64 + 55, 211 = 3·64 + 19, 300 = 4·64 + 44 ──────────────────

/** What a word adds to the second, third, fourth and fifth word behind it. */
function toSecond(word: u64): u64 {
  return word << 17 ^ word << 55;
}

function toThird(word: u64): u64 {
  return word >> 47 ^ word >> 9 ^ word << 19;
}

function toFourth(word: u64): u64 {
  return word >> 45 ^ word << 44;
}

function toFifth(word: u64): u64 {
  return word >> 20;
}

/** 4 bytes or more; the state goes into the first four. */
function chorba(ptr: usize, length: u32, state: u32): u32 {
  const end = ptr + length, pad = -length & 15, zero = i64x2.splat(0);
  const places = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const seed = i32x4.replace_lane(zero, 0, state);
  // The last vector ends where the bytes end; zeroes before the first byte do not change a state of 0. Where the first vector
  // has no room for the whole state, the rest of it goes into the second.
  const first = i8x16.swizzle(v128.xor(v128.load(ptr), seed), v128.sub<i8>(places, i8x16.splat(<i8> pad)));
  const owed = i8x16.swizzle(seed, v128.add<i8>(places, i8x16.splat(<i8> (16 - pad))));
  ptr += 16 - pad;
  let far = zero, near = zero, last = first;
  if (ptr + 16 == end) {
    near = first;
    last = v128.xor(v128.load(ptr), owed);
  } else if (ptr < end) {
    let a = <u64> i64x2.extract_lane(first, 0), b = <u64> i64x2.extract_lane(first, 1);
    let owed0 = <u64> i64x2.extract_lane(owed, 0), owed1: u64 = 0, owed2: u64 = 0;
    for (const limit = end - 32; ptr < limit; ptr += 16) {
      const c = load<u64>(ptr) ^ owed0 ^ toSecond(a);
      const d = load<u64>(ptr, 8) ^ owed1 ^ toThird(a) ^ toSecond(b);
      owed0 = owed2 ^ toFourth(a) ^ toThird(b);
      owed1 = toFifth(a) ^ toFourth(b);
      owed2 = toFifth(b);
      a = c;
      b = d;
    }
    far = i64x2.replace_lane(i64x2.splat(a), 1, b);
    near = v128.xor(v128.load(ptr), i64x2.replace_lane(i64x2.splat(owed0), 1, owed1));
    last = v128.xor(v128.load(ptr, 16), i64x2.replace_lane(zero, 0, owed2));
  }

  const mask = i8x16.splat(15);
  const nearLow = v128.and(near, mask), nearHigh = v128.and(i64x2.shr_u(near, 4), mask);
  const farLow = v128.and(far, mask), farHigh = v128.and(i64x2.shr_u(far, 4), mask);
  const byte0 = halves(0, nearLow, nearHigh, farLow, farHigh), byte1 = halves(1, nearLow, nearHigh, farLow, farHigh);
  const byte2 = halves(2, nearLow, nearHigh, farLow, farHigh), byte3 = halves(3, nearLow, nearHigh, farLow, farHigh);
  // Byte k goes k places further on, the last ones into the state behind the vector.
  const inside = joined(zero, byte1, zero, byte2, zero, byte3), behind = joined(byte1, zero, byte2, zero, byte3, zero);
  return slice16(v128.xor(v128.xor(last, byte0), inside)) ^ i32x4.extract_lane(behind, 0);
}

// ── the last three vectors ───────────────────────────────────────────────────────────────────────────────────────────

/** One of the four bytes that each byte of two vectors comes to. */
function halves(byte: usize, nearLow: v128, nearHigh: v128, farLow: v128, farHigh: v128): v128 {
  const near = NEAR + byte * 32, far = FAR + byte * 32;
  return v128.xor(
    v128.xor(i8x16.swizzle(v128.load(near), nearLow), i8x16.swizzle(v128.load(near + 16), nearHigh)),
    v128.xor(i8x16.swizzle(v128.load(far), farLow), i8x16.swizzle(v128.load(far + 16), farHigh)),
  );
}

/** Of each pair the vector that begins 1, 2 or 3 bytes before its second half. */
function joined(a1: v128, b1: v128, a2: v128, b2: v128, a3: v128, b3: v128): v128 {
  return v128.xor(
    v128.xor(
      v128.shuffle<u8>(a1, b1, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30),
      v128.shuffle<u8>(a2, b2, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29),
    ),
    v128.shuffle<u8>(a3, b3, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28),
  );
}

/** One vector, beginning with state 0. */
function slice16(vector: v128): u32 {
  const first = i64x2.extract_lane(vector, 0), second = i64x2.extract_lane(vector, 1);
  const a = <u32> first, b = <u32> (first >>> 32), c = <u32> second, d = <u32> (second >>> 32);
  return at(15, a) ^ at(14, a >>> 8) ^ at(13, a >>> 16) ^ at(12, a >>> 24) ^
    at(11, b) ^ at(10, b >>> 8) ^ at(9, b >>> 16) ^ at(8, b >>> 24) ^
    at(7, c) ^ at(6, c >>> 8) ^ at(5, c >>> 16) ^ at(4, c >>> 24) ^
    at(3, d) ^ at(2, d >>> 8) ^ at(1, d >>> 16) ^ at(0, d >>> 24);
}

// ── scaled Chorba: folded[i] = bytes[i] ^ folded[i-145] ^ folded[i-183] ^ folded[i-211] ^ folded[i-300] ──────────────

const FOLD_1: usize = 145;
const FOLD_2: usize = 183;
const FOLD_3: usize = 211;
const FOLD_4: usize = 300;
/** FOLD_4 in whole vectors: how far a fold looks back. */
const HISTORY: usize = 304;
const WINDOW: usize = 8192;
/** The folded bytes: history, a window, and room for the zeroes behind the last ones. The window starts over when it is full. */
const FOLDED: usize = SCRATCH;
/** The bytes behind the folded ones, with what is owed to them. */
const OWED: usize = memory.data(304 + 32, 16);

/** SCALED_FROM bytes or more. The last 301 to 332, and what is owed to them, are left to Chorba. */
function scaledChorba(ptr: usize, end: usize, state: u32): u32 {
  const start = FOLDED + HISTORY;
  beginScratch(CHECKSUM);
  for (let at = FOLDED; at < start; at += 16) v128.store(at, i64x2.splat(0));
  v128.store(start, v128.xor(v128.load(ptr), i32x4.replace_lane(i32x4.splat(0), 0, state)));
  ptr += 16;

  let folded = start + 16;
  for (const limit = end - FOLD_4 - 32; ptr < limit; ptr += 32) {
    v128.store(folded, v128.xor(v128.load(ptr), owedTo(folded)));
    v128.store(folded, v128.xor(v128.load(ptr, 16), owedTo(folded + 16)), 16);
    folded += 32;
    if (folded >= start + WINDOW) {
      memory.copy(FOLDED, folded - HISTORY, HISTORY);
      folded = start;
    }
  }

  const length = <usize> (end - ptr);
  for (let at: usize = 0; at < HISTORY; at += 16) {
    v128.store(folded + at, i64x2.splat(0));
    v128.store(OWED + at, v128.xor(v128.load(ptr + at), owedTo(folded + at)));
  }
  for (let at = HISTORY; at < length; at += 16) v128.store(OWED + at, v128.load(ptr + at));
  return chorba(OWED, <u32> length, 0);
}

function owedTo(at: usize): v128 {
  return v128.xor(
    v128.xor(v128.load(at - FOLD_4), v128.load(at - FOLD_3)),
    v128.xor(v128.load(at - FOLD_2), v128.load(at - FOLD_1)),
  );
}
