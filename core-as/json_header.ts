// JSON headers that arrive: by a learned shape, and where none fits by the scanner. It reads what servers write in hot
// answers, and is strict about it: FIELD_READ is set only where JSON.parse would find the same. Whatever it cannot prove
// (nested values, escapes in names or in values it needs, a name twice, fractions, more than 15 digits, broken bytes) leaves
// `fields` at 0, and TypeScript reads it.
//
// No function checks that it stays before `end` with every byte: a position only moves on, every member begins before `end`,
// and the header counts only if its last brace is exactly where it ends.
//
// The position behind a known name, or a number of one digit, is a constant behind a branch: then what follows does not wait
// for the bytes in between.

import * as abi from "./abi";
import {
  clearFields,
  digitsFrom,
  digitsOf,
  enterField,
  enterNumber,
  integerOf,
  NOT_AN_INTEGER,
  placeOf,
} from "./ext_fields";
import { closingQuote, plainBytes, plainQuote, skipSpace } from "./json_text";
import { fieldOf, knownField, knownMember, SEEN_CODE, SEEN_FLAG, SEEN_INTEGERS, SEEN_REMARK } from "./names";
import { HOLE_BROKER_ID, HOLE_NUMBER, HOLE_OPAQUE, HOLE_OTHER, HOLE_TEXT } from "./steps";
import { Completion } from "./shared";
import { forgetNotes, learnShape, matchesShape, note } from "./shapes";

const QUOTE: u32 = 34;
const COMMA: u32 = 44;
const COLON: u32 = 58;
const MINUS: u32 = 45;
const ZERO: u32 = 48;
const OPEN: u32 = 123;
const CLOSE: u32 = 125;
const SPACE: u32 = 32;

const NULL: u32 = 0x6c6c756e;
const TRUE: u32 = 0x65757274;
const FALS: u32 = 0x736c6166;
const E: u32 = 0x65;

/** So many digits are below 2^53. */
const DIGITS_MOST: u32 = 15;
const MOST_OF_15_DIGITS: u64 = 999_999_999_999_999;
const THREE: u32 = 0xffffff;
const QUOTE_COLON_QUOTE: u32 = 0x223a22;
const QUOTE_COLON: u32 = 0x3a22;
const COMMA_QUOTE: u32 = 0x222c;
const QUOTE_COMMA_QUOTE: u32 = 0x222c22;

/** Reads a header into a completion. */
export function readJsonHeader(to: Completion, at: usize, length: u32): void {
  const end = at + length;
  if (matchesShape(to, at, end)) return;
  clearFields(to);
  forgetNotes();
  if (scan(to, at, end)) learnShape(to, at, end);
  else clearFields(to);
}

function scan(to: Completion, at: usize, end: usize): bool {
  at = skipSpace(at, end);
  if (at >= end || load<u8>(at) != OPEN) return false;
  to.fields = abi.FIELD_READ;
  at = members(to, at + 1, end);
  return at != 0 && skipSpace(at, end) == end;
}

/** Reads members up to and with the closing brace. Like all below: returns the position behind it, 0 when it gives up. */
function members(to: Completion, at: usize, end: usize): usize {
  let seen: u32 = 0;
  at = skipSpace(at, end);
  if (load<u8>(at) == CLOSE) return at + 1;
  while (true) {
    if (at >= end || load<u8>(at) != QUOTE) return 0;
    const name = at + 1, known = knownMember(name, end), member: u32 = known & 0xffff;
    if (seen & member) return 0;
    seen |= member;
    at = known ? name + (known >> 16) : plainQuote(name, end);
    if (!at) return 0;
    if (load<u16>(at) == QUOTE_COLON && load<u8>(at, 2) > <u8> SPACE) at += 2;
    else {
      at = behindColon(at, end);
      if (!at) return 0;
    }
    if (at >= end) return 0;

    if (member & SEEN_INTEGERS) {
      let integer = <i64> load<u8>(at) - ZERO, length: u32 = 1;
      if (<u64> integer > 9 || <u32> load<u8>(at, 1) - ZERO <= 9) {
        length = integerLength(at);
        if (!length) return 0;
        integer = <u64> integer > 9 ? integerOf(at, length) : digitsOf(at, length);
        if (<i64> <i32> integer != integer) return 0;
      }
      if (member == SEEN_CODE) to.code = <i32> integer;
      else if (member == SEEN_FLAG) to.flag = <u32> integer;
      else {
        to.token = <u32> integer;
        if (integer >= 0) note(HOLE_OPAQUE, 0, at, length);
      }
      at += length;
    } else {
      if (!member) at = anyScalar(at, end);
      else if (member == SEEN_REMARK) at = remark(to, at, end);
      else at = load<u8>(at) == OPEN ? extFields(to, at + 1, end) : nullAt(at);
      if (!at) return 0;
    }

    if (load<u16>(at) == COMMA_QUOTE) {
      at++;
      continue;
    }
    at = skipSpace(at, end);
    if (load<u8>(at) == CLOSE) return at + 1;
    if (load<u8>(at) != COMMA) return 0;
    at = skipSpace(at + 1, end);
  }
}

/** One function with the fast way through each of its parts: a call for each name and each value would take as long as they. */
function extFields(to: Completion, at: usize, end: usize): usize {
  let fields: u32 = 0;
  at = skipSpace(at, end);
  if (load<u8>(at) == CLOSE) return at + 1;
  if (load<u8>(at) != QUOTE) return 0;
  while (true) {
    if (at >= end) return 0;
    const name = at + 1, known = knownField(name, end);
    let field: u32 = known & 0xffff;
    if (known) at = name + (known >> 16);
    else {
      at = plainQuote(name, end);
      if (!at) return 0;
      field = fieldOf(name, <u32> (at - name));
    }
    if ((load<u32>(at) & THREE) == QUOTE_COLON_QUOTE) at += 3;
    else {
      at = behindColon(at, end);
      if (!at || load<u8>(at) != QUOTE) return 0;
      at++;
    }
    if (at >= end) return 0;
    if (field != abi.FIELD_OTHER && fields & field) return 0;
    fields |= field;

    let close: usize;
    if (field == abi.FIELD_OTHER) {
      close = at + plainBytes(at);
      if (close >= end || load<u8>(close) != QUOTE) close = plainQuote(at, end);
      if (close) note(HOLE_OTHER, 0, at, <u32> (close - at));
      else close = closingQuote(at, end);
    } else if (field == abi.FIELD_TEXT) {
      close = plainQuote(at, end);
      if (!close || !enterField(to, field, at, <u32> (close - at))) return 0;
      note(HOLE_TEXT, 0, at, <u32> (close - at));
    } else {
      const digits = load<u8>(at, 1) == QUOTE ? <u32> (<u32> load<u8>(at) - ZERO <= 9) : digitsFrom(at);
      close = at + digits;
      const number = digits - 1 < DIGITS_MOST && load<u8>(close) == QUOTE ? digitsOf(at, digits) : NOT_AN_INTEGER;
      if (<u64> number <= MOST_OF_15_DIGITS) {
        if (!enterNumber(to, field, number)) return 0;
        note(field == abi.FIELD_BROKER_ID ? HOLE_BROKER_ID : HOLE_NUMBER, placeOf(field), at, digits);
      } else {
        // Below zero, or none.
        close = plainQuote(at, end);
        if (close && !enterField(to, field, at, <u32> (close - at))) return 0;
      }
    }
    if (!close) return 0;

    if ((load<u32>(close) & THREE) == QUOTE_COMMA_QUOTE) {
      at = close + 2;
      continue;
    }
    at = close + 1;
    if (load<u8>(at) <= SPACE) at = skipSpace(at, end);
    if (load<u8>(at) == CLOSE) break;
    if (load<u8>(at) != COMMA) return 0;
    at = skipSpace(at + 1, end);
    if (load<u8>(at) != QUOTE) return 0;
  }
  to.fields |= fields;
  return at + 1;
}

/** Behind the colon and the spaces that follow a name's closing quote; 0 when there is no colon. */
function behindColon(quote: usize, end: usize): usize {
  let at = quote + 1;
  if (load<u8>(at) != COLON) {
    at = skipSpace(at, end);
    if (load<u8>(at) != COLON) return 0;
  }
  at++;
  return load<u8>(at) > <u8> SPACE ? at : skipSpace(at, end);
}

function remark(to: Completion, at: usize, end: usize): usize {
  if (load<u8>(at) != QUOTE) return nullAt(at);
  let close = plainQuote(at + 1, end);
  if (close) note(HOLE_OTHER, 0, at + 1, <u32> (close - at - 1));
  else close = closingQuote(at + 1, end);
  if (!close) return 0;
  if (close > at + 1) to.fields |= abi.FIELD_REMARK;
  return close + 1;
}

function anyScalar(at: usize, end: usize): usize {
  const first: u32 = load<u8>(at);
  if (first == QUOTE) {
    let close = at + 1 + plainBytes(at + 1);
    if (close >= end || load<u8>(close) != QUOTE) close = closingQuote(at + 1, end);
    return close ? close + 1 : 0;
  }
  if (first == MINUS || first - ZERO <= 9) {
    const length = integerLength(at);
    return length ? at + length : 0;
  }
  const word = load<u32>(at);
  if (word == NULL || word == TRUE) return at + 4;
  return word == FALS && load<u8>(at, 4) == E ? at + 5 : 0;
}

function nullAt(at: usize): usize {
  return load<u32>(at) == NULL ? at + 4 : 0;
}

/** How long an integer is, as JSON writes it, of at most 15 digits; 0 when it is none. What follows it is not looked at. */
function integerLength(at: usize): u32 {
  const sign = <u32> (load<u8>(at) == MINUS), digits = digitsFrom(at + sign);
  if (digits - 1 >= DIGITS_MOST) return 0;
  return load<u8>(at + sign) == ZERO && digits > 1 ? 0 : sign + digits;
}
