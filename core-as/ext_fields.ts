// The values of the header fields of hot answers, the same for both header kinds: entered into a completion.

import * as abi from "./abi";
import { Completion } from "./shared";

/** Enters a value of a field that has a place. False when it is not what its field must be: then the header is TypeScript's. */
export function enterField(to: Completion, field: u32, value: usize, length: u32): bool {
  if (field == abi.FIELD_TEXT) {
    to.textPtr = <u32> value;
    to.textLen = <u16> length;
    return length <= 0xffff;
  }
  const number = integerOf(value, length);
  return number != NOT_AN_INTEGER && enterNumber(to, field, number);
}

/** Enters a number, likewise. */
export function enterNumber(to: Completion, field: u32, number: i64): bool {
  if (field == abi.FIELD_BROKER_ID) {
    to.brokerId = <u16> number;
    return <u64> number <= 0xffff;
  }
  store<f64>(changetype<usize>(to) + placeOf(field), <f64> number);
  return true;
}

/** Where in a completion the number of FIELD_A, FIELD_B or FIELD_C goes. */
export function placeOf(field: u32): u32 {
  if (field == abi.FIELD_A) return abi.COMPLETION_A;
  return field == abi.FIELD_B ? abi.COMPLETION_B : abi.COMPLETION_C;
}

/** All but the positions of header and body becomes zero. Nothing of a header that was not read to its end may stay. */
export function clearFields(to: Completion): void {
  const at = changetype<usize>(to);
  v128.store(at, i64x2.splat(0));
  v128.store(at, i64x2.splat(0), 32);
  v128.store(at, i64x2.splat(0), 48);
}

// ── integers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export const NOT_AN_INTEGER: i64 = i64.MIN_VALUE;
/** So many digits are below 2^53. */
const DIGITS_MOST: u32 = 15;
const MINUS: u32 = 45;

/** 16 bytes that choose nothing, then 0 to 15: from n on, a choice that moves the first n bytes of a vector to its end. */
const TO_THE_END: usize = memory.data(32, 64);

/** Fills the table of choices. */
export function initDigits(): void {
  v128.store(TO_THE_END, i8x16.splat(-1));
  for (let i: u32 = 0; i < 16; i++) store<u8>(TO_THE_END + 16 + i, i);
}

/** The text `length` bytes long at `at` as an integer: perhaps a minus, then 1 to 15 digits, nothing else. */
export function integerOf(at: usize, length: u32): i64 {
  if (length == 0 || load<u8>(at) != MINUS) return naturalOf(at, length);
  const number = naturalOf(at + 1, length - 1);
  return number == NOT_AN_INTEGER ? number : -number;
}

/** The same without a minus. */
export function naturalOf(at: usize, length: u32): i64 {
  if (length - 1 >= DIGITS_MOST) return NOT_AN_INTEGER;
  const ones = onesOf(at, toTheEnd(length));
  return areDigits(ones) ? numberOf(ones) : NOT_AN_INTEGER;
}

/** The value of 1 to 16 digits. */
export function digitsOf(at: usize, length: u32): i64 {
  return length == 1 ? <i64> load<u8>(at) - 48 : numberOf(onesOf(at, toTheEnd(length)));
}

/** How many digits follow each other from `at` on, at most 16; the bytes may belong to anything. */
export function digitsFrom(at: usize): u32 {
  const others = i8x16.ge_u(i8x16.sub(v128.load(at), i8x16.splat(48)), i8x16.splat(10));
  return ctz(i8x16.bitmask(others) | 0x10000);
}

/** The choice of the first `digits` bytes of a vector, at most 16. */
export function toTheEnd(digits: u32): v128 {
  return v128.load(TO_THE_END + digits);
}

/** The bytes at `at` that are chosen, as a row of numbers behind leading zeroes: 0 to 9 where they are digits. */
export function onesOf(at: usize, choice: v128): v128 {
  return i8x16.swizzle(i8x16.sub(v128.load(at), i8x16.splat(48)), choice);
}

export function areDigits(ones: v128): bool {
  return !v128.any_true(i8x16.ge_u(ones, i8x16.splat(10)));
}

/** What a row of digits is worth. */
function numberOf(ones: v128): i64 {
  const eights = eightsOf(ones, ones);
  return <i64> i32x4.extract_lane(eights, 0) * 100000000 + i32x4.extract_lane(eights, 1);
}

/** What two rows of digits are worth, eight digits a lane: high and low ones of the first, then of the second. */
export function eightsOf(ones: v128, others: v128): v128 {
  const packed = i16x8.narrow_i32x4_u(foursOf(ones), foursOf(others));
  return i32x4.dot_i16x8_s(packed, i16x8(10000, 1, 10000, 1, 10000, 1, 10000, 1));
}

/** Two neighbours make one number below 100, in the high byte of their product; two of those one below 10^4. */
function foursOf(ones: v128): v128 {
  const twos = i16x8.shr_u(i16x8.mul(ones, i16x8.splat(10 << 8 | 1)), 8);
  return i32x4.dot_i16x8_s(twos, i16x8(100, 1, 100, 1, 100, 1, 100, 1));
}
