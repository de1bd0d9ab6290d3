// CRC-32 (zlib's) without a carry-less multiply. Chorba: the polynomial has a sparse multiple with the exponents
// {0, 145, 183, 211, 300}, so a word is folded by XOR-ing it, shifted, some words further on. Squaring over GF(2) doubles
// exponents: the same numbers times eight are a multiple too, and those are whole bytes. Then a vector of 16 bytes is
// folded without any shift, 145, 183, 211 and 300 bytes further on ("scaled Chorba").

import * as abi from "./abi";
import { inArena } from "./arena";
import { beginScratch, CHECKSUM, SCRATCH } from "./scratch";
import { Submission } from "./shared";

const CHORBA_FROM: u32 = 128;
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

/** CRC-32 of `length` bytes that follow others whose CRC-32 is `seed`. Reads up to SLACK bytes behind them. */
export function crc32Of(ptr: usize, length: u32, seed: u32): u32 {
  const end = ptr + length;
  if (length < 4) return ~byteWise(~seed, ptr, end);
  if (length < CHORBA_FROM) return ~short(ptr, length, ~seed);
  if (length < SCALED_FROM) return ~chorba(ptr, end, ~seed);
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
}

// ── slicing by 16 ────────────────────────────────────────────────────────────────────────────────────────────────────

const TABLE_BYTES: usize = 1024;
/** Table k says what a byte does to the state when k more bytes follow it. */
const TABLES: usize = memory.data(16 * 1024, 64);

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

/** Whole blocks of 16 bytes, beginning with state 0. */
function slice16(ptr: usize, end: usize): u32 {
  let state: u32 = 0;
  for (; ptr < end; ptr += 16) {
    const a = load<u32>(ptr) ^ state;
    const b = load<u32>(ptr, 4);
    const c = load<u32>(ptr, 8);
    const d = load<u32>(ptr, 12);
    state = at(15, a) ^ at(14, a >>> 8) ^ at(13, a >>> 16) ^ at(12, a >>> 24) ^
      at(11, b) ^ at(10, b >>> 8) ^ at(9, b >>> 16) ^ at(8, b >>> 24) ^
      at(7, c) ^ at(6, c >>> 8) ^ at(5, c >>> 16) ^ at(4, c >>> 24) ^
      at(3, d) ^ at(2, d >>> 8) ^ at(1, d >>> 16) ^ at(0, d >>> 24);
  }
  return state;
}

/** Where a rest is moved so that it ends on a block boundary: zeroes before it do not change a state of 0. */
const REST: usize = memory.data(16 + 128 + 64, 16);

/** 4 to 127 bytes. The state goes into the first four of them. */
function short(ptr: usize, length: u32, state: u32): u32 {
  const pad = -length & 15;
  const rest = REST + pad;
  v128.store(REST, i64x2.splat(0));
  for (let i: u32 = 0; i < length; i += 16) v128.store(rest + i, v128.load(ptr + i));
  store<u32>(rest, load<u32>(rest) ^ state);
  return slice16(REST, rest + length);
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

/** More than 72 bytes; the state goes into the first four. The last 41 to 72 are left to slicing, with what is owed to them. */
function chorba(ptr: usize, end: usize, state: u32): u32 {
  let owed0: u64 = state, owed1: u64 = 0, owed2: u64 = 0, owed3: u64 = 0, owed4: u64 = 0;
  for (const limit = end - 72; ptr < limit; ptr += 32) {
    const a = load<u64>(ptr) ^ owed0;
    const b = load<u64>(ptr, 8) ^ owed1;
    const c = load<u64>(ptr, 16) ^ owed2 ^ toSecond(a);
    const d = load<u64>(ptr, 24) ^ owed3 ^ toThird(a) ^ toSecond(b);
    owed0 = owed4 ^ toFourth(a) ^ toThird(b) ^ toSecond(c);
    owed1 = toFifth(a) ^ toFourth(b) ^ toThird(c) ^ toSecond(d);
    owed2 = toFifth(b) ^ toFourth(c) ^ toThird(d);
    owed3 = toFifth(c) ^ toFourth(d);
    owed4 = toFifth(d);
  }
  const length = <u32> (end - ptr);
  const rest = REST + (-length & 15);
  v128.store(REST, i64x2.splat(0));
  for (let i: u32 = 0; i < 80; i += 16) v128.store(rest + i, v128.load(ptr + i));
  store<u64>(rest, load<u64>(rest) ^ owed0);
  store<u64>(rest, load<u64>(rest, 8) ^ owed1, 8);
  store<u64>(rest, load<u64>(rest, 16) ^ owed2, 16);
  store<u64>(rest, load<u64>(rest, 24) ^ owed3, 24);
  store<u64>(rest, load<u64>(rest, 32) ^ owed4, 32);
  return slice16(REST, rest + length);
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
const OWED: usize = memory.data(304 + 32 + 80, 16);

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
  return chorba(OWED, OWED + length, 0);
}

function owedTo(at: usize): v128 {
  return v128.xor(
    v128.xor(v128.load(at - FOLD_4), v128.load(at - FOLD_3)),
    v128.xor(v128.load(at - FOLD_2), v128.load(at - FOLD_1)),
  );
}
