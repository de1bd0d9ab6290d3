// A learned shape (shapes.ts) of a header whose values are as long as they were: then everything is where it was. All literals
// (in ROCKETMQ headers with the lengths of the values) are compared at once, with the bytes of an earlier header under a mask,
// and the values are read where they must be: no step waits, branches or looks for an end. Anything else goes the way of the
// steps.
//
//   code, language, version │ opaque │ flag … │ 0x0007 queueId │ 0 0 0 1 │ "3" │ 0x000b queueOffset │ 0 0 0 7 │ "1234567"
//   ███████████████████████           ██████████████████████████████████         ██████████████████████████████            mask
//
// There is one such record, of whatever shape keeps its lengths, because then the compiler knows its address. Deno's V8 checks
// each access to memory against its end, 2 to 3 instructions; for an address that is known it does not, and most of the loads
// here are of the record.
//
// It is made of a shape that was hit some times with headers of one length; each time twice as many, because headers whose
// lengths come and go would cost more than they bring.

import * as abi from "./abi";
import { areDigits, eightsOf, naturalOf, onesOf, toTheEnd } from "./ext_fields";
import { isText } from "./json_text";
import { be32, Completion, copy16 } from "./shared";
import {
  firstStep,
  HOLE_BROKER_ID,
  HOLE_BROKER_ID32,
  HOLE_END,
  HOLE_NUMBER,
  HOLE_NUMBER32,
  HOLE_OPAQUE,
  HOLE_OPAQUE32,
  HOLE_OTHER,
  HOLE_TEXT,
  HOLE_TEXT32,
  Step,
} from "./steps";

/** What the steps of one shape have read. */
@unmanaged
class History {
  /** Length of the last header, and how many of that length there were. */
  length: u32;
  times: u32;
  /** So many have to be of one length. */
  patience: u32;
}

/** Where a value is in the header, 0 when there is none, and how long it is. */
@unmanaged
class Place {
  at: u32;
  length: u32;
}

const SHAPES: u32 = 8;
const HISTORIES: usize = memory.data(8 * 12, 16);

/** Which shape the record is of. */
let steadyShape: u32 = 0;
/** The completion but for what has a place; `headerWord` is NONE as long as there is no record. */
const LEARNED: usize = memory.data(64, 64);
const NONE: u32 = 0xffffffff;
/** Places of the four numbers, of opaque and msgId, then of texts that have to be looked through. */
const PLACES: usize = memory.data(32 * 8, 64);
const PLACES_MOST: u32 = 32;
const A: u32 = 0;
const B: u32 = 1;
const C: u32 = 2;
const BROKER_ID: u32 = 3;
const OPAQUE: u32 = 4;
const TEXT: u32 = 5;
const TEXTS: u32 = 6;
/** Behind the last of those texts. */
let textsEnd: u32 = TEXTS;
/** Which bytes of a vector are a number's digits (`toTheEnd`); none of them when it has no place. */
const DIGITS: usize = memory.data(4 * 16, 64);
/** Whether c or brokerId has a place. */
let hasMore: bool = false;
/** The bytes of the header, and their mask: zero in values, and behind the end. */
const KEPT: usize = memory.data(384, 64);
const MASK: usize = memory.data(384, 64);
const LENGTH_MOST: u32 = 384;

const PATIENCE: u32 = 4;
const PATIENCE_MOST: u32 = 4096;
const UINT16_MOST: i32 = 0xffff;
const OPAQUE_MOST: u64 = 0x7fffffff;
const ZERO: u32 = 48;
/** The length in front of a value. */
const WORD: u32 = 4;
/** Serialize type of ROCKETMQ headers. */
const BINARY: u32 = 1;

if (SHAPES * offsetof<History>() != 8 * 12) ERROR("The histories do not fit their table");
if (PLACES_MOST * offsetof<Place>() != 32 * 8) ERROR("The places do not fit their table");
if (offsetof<Completion>() != 64 || LENGTH_MOST != 384) ERROR("A table has another size");

/** There is no record yet. */
export function initSteady(): void {
  learned().headerWord = NONE;
}

/** Fills the completion, but for the positions of header and body. When the answer is no, what it holds is worth nothing. */
export function matchesSteady(to: Completion, at: usize): bool {
  const word = learned().headerWord, length = word & 0xffffff, completion = changetype<usize>(to);
  if (to.headerWord != word || differs(at, length)) return false;
  v128.store(completion, v128.load(LEARNED));
  v128.store(completion, v128.load(LEARNED, 48), 48);
  const a = digitsAt(at, A), b = digitsAt(at, B);
  if (!areDigits(i8x16.max_u(a, b))) return false;
  v128.store(completion, f64x2.add(numbersOf(eightsOf(a, b)), v128.load(LEARNED, 32)), 32);
  if (hasMore) {
    const c = digitsAt(at, C), brokerId = digitsAt(at, BROKER_ID);
    if (!areDigits(i8x16.max_u(c, brokerId))) return false;
    const eights = eightsOf(c, brokerId), low = i32x4.extract_lane(eights, 3);
    if (i32x4.extract_lane(eights, 2) != 0 || low > UINT16_MOST) return false;
    to.c = f64x2.extract_lane(numbersOf(eights), 0) + learned().c;
    to.brokerId = <u16> low + learned().brokerId;
  }
  if (placeAt(TEXT).at) to.textPtr = <u32> at + placeAt(TEXT).at;

  const opaque = at + placeAt(OPAQUE).at;
  if (word >> 24 == BINARY) {
    to.token = be32(opaque);
    return true;
  }
  for (let i = TEXTS; i < textsEnd; i++) {
    if (!isText(at + placeAt(i).at, placeAt(i).length, at + length)) return false;
  }
  if (!placeAt(OPAQUE).at) return true;
  const number = naturalOf(opaque, placeAt(OPAQUE).length);
  to.token = <u32> number;
  return <u64> number <= OPAQUE_MOST && (load<u8>(opaque) != ZERO || placeAt(OPAQUE).length == 1);
}

/** Whether a literal of the header is another. Up to 31 bytes behind its end are read; the mask is zero there. */
function differs(at: usize, length: u32): bool {
  let wrong = difference(at, 0);
  if (length > 32) wrong = v128.or(wrong, difference(at, 32));
  if (length > 64) wrong = v128.or(wrong, difference(at, 64));
  if (length > 96) wrong = v128.or(wrong, difference(at, 96));
  if (length > 128) wrong = v128.or(wrong, difference(at, 128));
  if (length > 160) wrong = v128.or(wrong, difference(at, 160));
  if (length > 192) wrong = v128.or(wrong, difference(at, 192));
  if (length > 224) wrong = v128.or(wrong, difference(at, 224));
  if (length > 256) wrong = v128.or(wrong, difference(at, 256));
  if (length > 288) wrong = v128.or(wrong, difference(at, 288));
  if (length > 320) wrong = v128.or(wrong, difference(at, 320));
  if (length > 352) wrong = v128.or(wrong, difference(at, 352));
  return v128.any_true(wrong);
}

function difference(at: usize, part: usize): v128 {
  return v128.or(difference16(at, part), difference16(at, part + 16));
}

function difference16(at: usize, part: usize): v128 {
  return v128.and(v128.xor(v128.load(KEPT + part), v128.load(at + part)), v128.load(MASK + part));
}

function digitsAt(at: usize, index: u32): v128 {
  return onesOf(at + placeAt(index).at, v128.load(DIGITS + index * 16));
}

/** Two numbers of at most 15 digits, each from its high eight and its low eight: exact, because they are below 2^53. */
function numbersOf(eights: v128): v128 {
  const high = f64x2.convert_low_i32x4_s(v128.shuffle<i32>(eights, eights, 0, 2, 0, 2));
  const low = f64x2.convert_low_i32x4_s(v128.shuffle<i32>(eights, eights, 1, 3, 1, 3));
  return f64x2.add(f64x2.mul(high, f64x2.splat(100000000)), low);
}

/** A header that has been read by the steps of a shape: those say how long its values are. */
export function noteSteady(index: u32, shape: Completion, at: usize, end: usize): void {
  const history = historyAt(index), length = <u32> (end - at);
  if (history.length != length) {
    history.length = length;
    history.times = 0;
  }
  if (++history.times < history.patience) return;
  history.times = 0;
  if (history.patience < PATIENCE_MOST) history.patience *= 2;
  steadyShape = index;
  learned().headerWord = write(shape, at, length) ? shape.headerWord & 0xff000000 | length : NONE;
}

/** There is another shape in this place. */
export function forgetSteady(index: u32): void {
  const history = historyAt(index);
  history.length = 0;
  history.times = 0;
  history.patience = PATIENCE;
  if (steadyShape == index) learned().headerWord = NONE;
}

/** Writes the record from a shape's steps and the header that they have read. False when there is no room in it. */
function write(shape: Completion, from: usize, length: u32): bool {
  if (length > LENGTH_MOST) return false;
  copy16(LEARNED, changetype<usize>(shape), offsetof<Completion>());
  memory.copy(KEPT, from, length);
  memory.fill(MASK, 0, LENGTH_MOST);
  memory.fill(PLACES, 0, PLACES_MOST * offsetof<Place>());
  memory.fill(DIGITS, 255, 4 * 16);
  textsEnd = TEXTS;
  hasMore = false;
  let next = firstStep(shape), at: u32 = 0;
  while (true) {
    const step = changetype<Step>(next), literal: u32 = step.literal, hole: u32 = step.hole;
    if (at + literal > length) return false;
    memory.fill(MASK + at, 255, literal);
    at += literal;
    if (hole == HOLE_END) return at == length;
    next += 32 + (literal & ~15);
    let size: u32 = step.expected;
    if (at + size > length) return false;
    // A length before the value is compared; only an opaque has none.
    if (hole >= HOLE_NUMBER32 && hole != HOLE_OPAQUE32) {
      memory.fill(MASK + at, 255, WORD);
      at += WORD;
      size -= WORD;
    }
    writeValue(hole, step.target, at, size);
    if (hole == HOLE_TEXT || hole == HOLE_OTHER) {
      if (textsEnd == PLACES_MOST) return false;
      writePlace(textsEnd++, at, size);
    }
    at += size;
  }
}

/** What a value adds to, or takes the place of, is no longer learned. */
function writeValue(hole: u32, target: u32, at: u32, length: u32): void {
  switch (hole) {
    case HOLE_NUMBER:
    case HOLE_NUMBER32:
      store<f64>(LEARNED + target, 0);
      return writeNumber((target - abi.COMPLETION_A) / sizeof<f64>(), at, length);
    case HOLE_BROKER_ID:
    case HOLE_BROKER_ID32:
      learned().brokerId = 0;
      return writeNumber(BROKER_ID, at, length);
    case HOLE_OPAQUE:
    case HOLE_OPAQUE32:
      return writePlace(OPAQUE, at, length);
    case HOLE_TEXT:
    case HOLE_TEXT32:
      learned().textLen = <u16> length;
      return writePlace(TEXT, at, length);
  }
}

function writeNumber(index: u32, at: u32, length: u32): void {
  writePlace(index, at, length);
  v128.store(DIGITS + index * 16, toTheEnd(length));
  if (index >= C) hasMore = true;
}

function writePlace(index: u32, at: u32, length: u32): void {
  placeAt(index).at = at;
  placeAt(index).length = length;
}

function learned(): Completion {
  return changetype<Completion>(LEARNED);
}

function placeAt(index: u32): Place {
  return changetype<Place>(PLACES + index * offsetof<Place>());
}

function historyAt(index: u32): History {
  return changetype<History>(HISTORIES + index * offsetof<History>());
}
