// The scanner for JSON headers that arrive. It reads what servers write in hot answers, and is strict about it: FIELD_READ
// is set only where JSON.parse would find the same. Whatever it cannot prove (nested values, escapes in names or in values
// it needs, a name twice, fractions, more than 15 digits, broken bytes) leaves `fields` at 0, and TypeScript reads it.
//
// No function checks that it stays before `end` with every byte: a position only moves on, loops stop at `end`, and the
// header counts only if its last brace is exactly where it ends.

import * as abi from "./abi";
import { digitsFrom, enterField, fieldOf, forgetFields, integerOf } from "./ext_fields";
import { Completion } from "./shared";

const QUOTE: u32 = 34;
const COMMA: u32 = 44;
const COLON: u32 = 58;
const MINUS: u32 = 45;
const ZERO: u32 = 48;
const BACKSLASH: u32 = 92;
const OPEN: u32 = 123;
const CLOSE: u32 = 125;
const SPACE: u32 = 32;

const CODE: u32 = 0x65646f63;
const FLAG: u32 = 0x67616c66;
const OPAQ: u32 = 0x7161706f;
const UE: u32 = 0x6575;
const REMA: u32 = 0x616d6572;
const RK: u32 = 0x6b72;
const EXT_FIELD: u64 = 0x646c656946747865;
const S: u32 = 0x73;
const NULL: u32 = 0x6c6c756e;
const TRUE: u32 = 0x65757274;
const FALS: u32 = 0x736c6166;
const E: u32 = 0x65;

const SEEN_CODE: u32 = 1;
const SEEN_FLAG: u32 = 2;
const SEEN_OPAQUE: u32 = 4;
const SEEN_REMARK: u32 = 8;
const SEEN_EXT_FIELDS: u32 = 16;

/** SEEN_* of the header being read. */
let seen: u32 = 0;
/** Whether the string that was read last has an escape. */
let hasEscape: bool = false;
/** What `smallInteger` read. */
let integer: i32 = 0;

/** Reads a header into a cleared completion. */
export function readJsonHeader(to: Completion, at: usize, length: u32): void {
  const end = at + length;
  seen = 0;
  at = skipSpace(at, end);
  if (load<u8>(at) == OPEN) {
    at = members(to, at + 1, end, false);
    if (at && skipSpace(at, end) == end) {
      to.fields |= abi.FIELD_READ;
      return;
    }
  }
  forgetFields(to);
}

/** Reads members up to and with the closing brace. Like all below: returns the position behind it, 0 when it gives up. */
function members(to: Completion, at: usize, end: usize, isExt: bool): usize {
  at = skipSpace(at, end);
  if (load<u8>(at) == CLOSE) return at + 1;
  while (true) {
    if (load<u8>(at) != QUOTE) return 0;
    const name = at + 1;
    at = closingQuote(name, end);
    if (!at || hasEscape) return 0;
    const length = <u32> (at - name);
    at = skipSpace(at + 1, end);
    if (load<u8>(at) != COLON) return 0;
    at = skipSpace(at + 1, end);
    at = isExt ? extMember(to, name, length, at, end) : member(to, name, length, at, end);
    if (!at) return 0;
    at = skipSpace(at, end);
    const next: u32 = load<u8>(at);
    if (next == CLOSE) return at + 1;
    if (next != COMMA) return 0;
    at = skipSpace(at + 1, end);
  }
}

function extMember(to: Completion, name: usize, length: u32, at: usize, end: usize): usize {
  if (load<u8>(at) != QUOTE) return 0;
  const value = at + 1;
  at = closingQuote(value, end);
  if (!at) return 0;
  const field = fieldOf(name, length);
  if (hasEscape && field != abi.FIELD_OTHER) return 0;
  return enterField(to, field, value, <u32> (at - value)) ? at + 1 : 0;
}

function member(to: Completion, name: usize, length: u32, at: usize, end: usize): usize {
  if (length == 4) {
    const word = load<u32>(name);
    if (word == CODE) {
      if (isSeen(SEEN_CODE)) return 0;
      at = smallInteger(at);
      to.code = integer;
      return at;
    }
    if (word == FLAG) {
      if (isSeen(SEEN_FLAG)) return 0;
      at = smallInteger(at);
      to.flag = integer;
      return at;
    }
  } else if (length == 6) {
    const word = load<u32>(name), rest: u32 = load<u16>(name, 4);
    if (word == OPAQ && rest == UE) {
      if (isSeen(SEEN_OPAQUE)) return 0;
      at = smallInteger(at);
      to.token = integer;
      return at;
    }
    if (word == REMA && rest == RK) return isSeen(SEEN_REMARK) ? 0 : remark(to, at, end);
  } else if (length == 9 && load<u64>(name) == EXT_FIELD && load<u8>(name, 8) == S) {
    if (isSeen(SEEN_EXT_FIELDS)) return 0;
    return load<u8>(at) == OPEN ? members(to, at + 1, end, true) : nullAt(at);
  }
  return anyScalar(at, end);
}

/** Notes that a name was there; true when it was there before. */
function isSeen(name: u32): bool {
  const again = (seen & name) != 0;
  seen |= name;
  return again;
}

function remark(to: Completion, at: usize, end: usize): usize {
  if (load<u8>(at) != QUOTE) return nullAt(at);
  const close = closingQuote(at + 1, end);
  if (!close) return 0;
  if (close > at + 1) to.fields |= abi.FIELD_REMARK;
  return close + 1;
}

function anyScalar(at: usize, end: usize): usize {
  const first: u32 = load<u8>(at);
  if (first == QUOTE) {
    at = closingQuote(at + 1, end);
    return at ? at + 1 : 0;
  }
  if (first == MINUS || first - ZERO <= 9) return behindInteger(at);
  const word = load<u32>(at);
  if (word == NULL || word == TRUE) return at + 4;
  return word == FALS && load<u8>(at, 4) == E ? at + 5 : 0;
}

function nullAt(at: usize): usize {
  return load<u32>(at) == NULL ? at + 4 : 0;
}

/** An integer of 32 bits, left in `integer`. */
function smallInteger(at: usize): usize {
  const end = behindInteger(at);
  if (!end) return 0;
  const value = integerOf(at, <u32> (end - at));
  integer = <i32> value;
  return <i64> integer == value ? end : 0;
}

/** Behind an integer as JSON writes it, of at most 15 digits. What follows it is judged by the caller. */
function behindInteger(at: usize): usize {
  at += <usize> (load<u8>(at) == MINUS);
  const digits = digitsFrom(at);
  if (!digits || digits > 15) return 0;
  return load<u8>(at) == ZERO && digits > 1 ? 0 : at + digits;
}

function skipSpace(at: usize, end: usize): usize {
  for (; at < end; at++) {
    const byte: u32 = load<u8>(at);
    if (byte > SPACE || !isSpace(byte)) break;
  }
  return at;
}

function isSpace(byte: u32): bool {
  return byte == 32 || byte == 10 || byte == 13 || byte == 9;
}

/** Where the string that starts at `at` has its closing quote; 0 when it has none before `end` or is not well formed. */
function closingQuote(at: usize, end: usize): usize {
  hasEscape = false;
  while (at < end) {
    const block = v128.load(at);
    const stops = i8x16.bitmask(
      v128.or(
        v128.or(i8x16.eq(block, i8x16.splat(<i8> QUOTE)), i8x16.eq(block, i8x16.splat(<i8> BACKSLASH))),
        i8x16.lt_u(block, i8x16.splat(<i8> SPACE)),
      ),
    );
    if (!stops) {
      at += 16;
      continue;
    }
    at += ctz(stops);
    if (at >= end) return 0;
    const stop: u32 = load<u8>(at);
    if (stop == QUOTE) return at;
    if (stop != BACKSLASH) return 0;
    hasEscape = true;
    const length = escapeLength(at);
    if (!length) return 0;
    at += length;
  }
  return 0;
}

/** How long the escape at a backslash is; 0 when JSON has none like it. */
function escapeLength(at: usize): usize {
  switch (load<u8>(at, 1)) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return 2;
    case 0x75: // u
      for (let i: usize = 2; i < 6; i++) if (!isHexDigit(load<u8>(at + i))) return 0;
      return 6;
    default:
      return 0;
  }
}

function isHexDigit(byte: u32): bool {
  return byte - ZERO <= 9 || (byte | 32) - 97 <= 5;
}
