// The header fields of hot answers, the same for both header kinds: found by name, entered into a completion.

import * as abi from "./abi";
import { Completion } from "./shared";

// Parts of names as one load sees them; a last part may overlap the one before it.
const QUEUE_OFF: u64 = 0x66664f6575657571;
const FSET: u32 = 0x74657366;
const NEXT_BEG: u64 = 0x696765427478656e; // "nextBegi"
const IN_OFFSET: u64 = 0x74657366664f6e69;
const OFFS: u32 = 0x7366666f;
const ET: u32 = 0x7465;
const QUEU: u32 = 0x75657571;
const UE_ID: u32 = 0x64496575;
const MIN_OFFSE: u64 = 0x657366664f6e696d;
const MAX_OFFSE: u64 = 0x657366664f78616d;
const T: u32 = 0x74;
const MSG_I: u32 = 0x4967736d;
const D: u32 = 0x64;
const SUGGEST_W: u64 = 0x5774736567677573;
const HICH_BROK: u64 = 0x6b6f724268636968;
const ER_ID: u32 = 0x64497265;

/** Which FIELD_* an ext field fills; FIELD_OTHER for those that TypeScript reads. */
export function fieldOf(name: usize, length: u32): u32 {
  switch (<i32> length) {
    case 5:
      if (load<u32>(name) == MSG_I && load<u8>(name, 4) == D) return abi.FIELD_TEXT;
      break;
    case 6:
      if (load<u32>(name) == OFFS && load<u16>(name, 4) == ET) return abi.FIELD_A;
      break;
    case 7:
      if (load<u32>(name) == QUEU && load<u32>(name, 3) == UE_ID) return abi.FIELD_B;
      break;
    case 9:
      if (load<u8>(name, 8) != T) break;
      if (load<u64>(name) == MIN_OFFSE) return abi.FIELD_B;
      if (load<u64>(name) == MAX_OFFSE) return abi.FIELD_C;
      break;
    case 11:
      if (load<u64>(name) == QUEUE_OFF && load<u32>(name, 7) == FSET) return abi.FIELD_A;
      break;
    case 15:
      if (load<u64>(name) == NEXT_BEG && load<u64>(name, 7) == IN_OFFSET) return abi.FIELD_A;
      break;
    case 20:
      if (load<u64>(name) == SUGGEST_W && load<u64>(name, 8) == HICH_BROK && load<u32>(name, 16) == ER_ID) {
        return abi.FIELD_BROKER_ID;
      }
  }
  return abi.FIELD_OTHER;
}

/** Enters a value. False when it is not what its field must be, or the field has one: then the header is TypeScript's. */
export function enterField(to: Completion, field: u32, value: usize, length: u32): bool {
  if (field == abi.FIELD_OTHER) {
    to.fields |= field;
    return true;
  }
  if (to.fields & field) return false;
  to.fields |= field;
  if (field == abi.FIELD_TEXT) {
    to.textPtr = <u32> value;
    to.textLen = <u16> length;
    return length <= 0xffff;
  }
  const number = integerOf(value, length);
  if (field == abi.FIELD_BROKER_ID) {
    to.brokerId = <u16> number;
    return <u64> number <= 0xffff;
  }
  if (number == NOT_AN_INTEGER) return false;
  if (field == abi.FIELD_A) to.a = <f64> number;
  else if (field == abi.FIELD_B) to.b = <f64> number;
  else to.c = <f64> number;
  return true;
}

/** Nothing of a header that was not read to its end may be taken for true. */
export function forgetFields(to: Completion): void {
  to.token = 0;
  to.code = 0;
  to.flag = 0;
  to.fields = 0;
  to.a = 0;
  to.b = 0;
  to.c = 0;
  to.textPtr = 0;
  to.textLen = 0;
  to.brokerId = 0;
}

// ── integers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export const NOT_AN_INTEGER: i64 = i64.MIN_VALUE;
/** So many digits are below 2^53. */
const DIGITS_MOST: u32 = 15;
const MINUS: u32 = 45;

/** The text `length` bytes long at `at` as an integer: perhaps a minus, then 1 to 15 digits, nothing else. */
export function integerOf(at: usize, length: u32): i64 {
  const isNegative = length != 0 && load<u8>(at) == MINUS;
  const digits = length - <u32> isNegative;
  if (digits - 1 >= DIGITS_MOST) return NOT_AN_INTEGER;
  const value = digitsBefore(at + length, digits);
  return isNegative && value != NOT_AN_INTEGER ? -value : value;
}

/** How many digits follow each other from `at` on, at most 16; the bytes may belong to anything. */
export function digitsFrom(at: usize): u32 {
  const others = i8x16.gt_u(i8x16.sub(v128.load(at), i8x16.splat(48)), i8x16.splat(9));
  return ctz(i8x16.bitmask(others) | 0x10000);
}

/** The value of the `digits` bytes before `end`, 1 to 16. They are the tail of a vector whose other bytes become zeroes. */
function digitsBefore(end: usize, digits: u32): i64 {
  const lanes = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const isDigit = i8x16.ge_u(lanes, i8x16.splat(<i8> (16 - digits)));
  const ones = v128.and(i8x16.sub(v128.load(end - 16), i8x16.splat(48)), isDigit);
  if (v128.any_true(i8x16.gt_u(ones, i8x16.splat(9)))) return NOT_AN_INTEGER;
  // Two neighbours make one number below 100, two of those one below 10^4, and so on.
  const tens = v128.and(ones, i16x8.splat(0xff));
  const twos = i16x8.add(i16x8.mul(tens, i16x8.splat(10)), i16x8.shr_u(ones, 8));
  const fours = i32x4.dot_i16x8_s(twos, i16x8(100, 1, 100, 1, 100, 1, 100, 1));
  const packed = i16x8.narrow_i32x4_u(fours, fours);
  const eights = i32x4.dot_i16x8_s(packed, i16x8(10000, 1, 10000, 1, 10000, 1, 10000, 1));
  return <i64> i32x4.extract_lane(eights, 0) * 100000000 + i32x4.extract_lane(eights, 1);
}
