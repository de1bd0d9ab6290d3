// A learned shape (shapes.ts) of a ROCKETMQ header whose values are as long as they were: then everything is where it was. All
// literals and all lengths are compared at once, with the bytes of an earlier header under a mask, and the values are read
// where they must be: no step waits, branches or looks for an end. Anything else goes the way of the  (In JSON it brings
// nothing: there the texts have to be looked through, whatever is known of their lengths.)
//
//   code, language, version │ opaque │ flag … │ 0x0007 queueId │ 0 0 0 1 │ "3" │ 0x000b queueOffset │ 0 0 0 7 │ "1234567"
//   ███████████████████████           ██████████████████████████████████         ██████████████████████████████            mask
//
// It is made of a shape that was hit some times with headers of one length; each time twice as many, because headers whose
// lengths come and go would cost more than they bring.

import { naturalOf, NOT_AN_INTEGER } from "./ext_fields";
import { be32, Completion } from "./shared";
import {
  firstStep,
  HOLE_END,
  HOLE_ENTRIES32,
  HOLE_NUMBER32,
  HOLE_OPAQUE32,
  HOLE_OTHER32,
  HOLE_TEXT32,
  Step,
} from "./steps";

/** What is known of one shape. Behind it: its places, kept bytes and mask. */
@unmanaged
class Steady {
  /** Bytes of the header; 0: nothing is known. */
  length: u32;
  places: u32;
  /** Length of the header that the steps read last, and how many of that length they have read. */
  lengthBefore: u32;
  times: u32;
  /** So many have to be of one length. */
  patience: u32;
}

/** A value that is read, or at least checked. */
@unmanaged
class Place {
  at: u16;
  length: u16;
  hole: u16;
  target: u16;
}

const SHAPES: u32 = 8;
const PLACES: u32 = 32;
const PLACES_AT: usize = 32;
const BYTES: usize = 32 + 32 * 8;
const PART: usize = 512;
/** Vectors that are compared in one go: what is behind a header is read, but the mask is zero there. */
const STRIDE: u32 = 64;
const TABLE: usize = memory.data(8 * 1312, 16);
const SIZE: usize = 1312;

const PATIENCE: u32 = 4;
const PATIENCE_MOST: u32 = 4096;
const UINT16_MOST: i64 = 0xffff;
/** The length in front of a value. */
const WORD: u32 = 4;

if (offsetof<Steady>() > PLACES_AT) ERROR("Steady does not fit before its places");
if (PLACES * offsetof<Place>() + PLACES_AT != BYTES) ERROR("The places do not fit before the bytes");
if (BYTES + 2 * PART != SIZE || SHAPES * SIZE != 8 * 1312) ERROR("The table has another size");

/** Fills the completion, but for the positions of header and body. When the answer is no, what it holds is worth nothing. */
export function matchesSteady(index: u32, shape: Completion, to: Completion, at: usize, end: usize): bool {
  const steady = steadyAt(index), length = steady.length;
  if (<u32> (end - at) != length || !length) return false;
  const table = changetype<usize>(steady), kept = table + BYTES;
  let wrong = i64x2.splat(0);
  for (let part: u32 = 0; part < length; part += STRIDE) {
    const one = kept + part, other = at + part;
    wrong = v128.or(wrong, v128.or(difference(one, other), difference(one + 16, other + 16)));
    wrong = v128.or(wrong, v128.or(difference(one + 32, other + 32), difference(one + 48, other + 48)));
  }
  if (v128.any_true(wrong)) return false;

  const completion = changetype<usize>(to), learned = changetype<usize>(shape);
  v128.store(completion, v128.load(learned));
  v128.store(completion, v128.load(learned, 32), 32);
  v128.store(completion, v128.load(learned, 48), 48);
  const places = table + PLACES_AT, behind = places + steady.places * offsetof<Place>();
  for (let next = places; next < behind; next += offsetof<Place>()) {
    const place = changetype<Place>(next), hole: u32 = place.hole, value = at + place.at, size: u32 = place.length;
    if (hole == HOLE_OPAQUE32) {
      to.token = be32(value);
    } else if (hole == HOLE_TEXT32) {
      to.textPtr = <u32> value;
      to.textLen = <u16> size;
    } else {
      const number = size <= 8 ? shortNatural(value, size) : naturalOf(value, size);
      if (number == NOT_AN_INTEGER) return false;
      if (hole == HOLE_NUMBER32) store<f64>(completion + place.target, <f64> number);
      else {
        if (number > UINT16_MOST) return false;
        to.brokerId = <u16> number;
      }
    }
  }
  return true;
}

/** 1 to 8 digits, without vectors: their constants would have to be made anew for each number. */
function shortNatural(at: usize, length: u32): i64 {
  // The first digit is the lowest byte; zeroes move in before it.
  let digits = (load<u64>(at) ^ 0x3030303030303030) << <u64> (64 - length * 8);
  if ((digits + 0x0606060606060606 | digits) & 0xf0f0f0f0f0f0f0f0) return NOT_AN_INTEGER;
  // Two neighbours make one number below 100, in every other byte; then all four of them at once.
  digits = digits * 10 + (digits >> 8);
  return <i64> ((digits & 0x000000ff000000ff) * 0x000f424000000064 +
      (digits >> 16 & 0x000000ff000000ff) * 0x0000271000000001 >> 32);
}

/** A header that has been read by the steps of a shape: those say how long its values are. */
export function noteSteady(index: u32, shape: Completion, at: usize, end: usize): void {
  const steady = steadyAt(index), length = <u32> (end - at);
  if (steady.lengthBefore != length) {
    steady.lengthBefore = length;
    steady.times = 0;
  }
  if (++steady.times < steady.patience) return;
  steady.times = 0;
  if (steady.patience < PATIENCE_MOST) steady.patience *= 2;
  steady.length = write(steady, shape, at, length) ? length : 0;
}

/** There is another shape in this place. */
export function forgetSteady(index: u32): void {
  const steady = steadyAt(index);
  steady.length = 0;
  steady.lengthBefore = 0;
  steady.times = 0;
  steady.patience = PATIENCE;
}

/** Writes places, bytes and mask from the  False when there is no room for them. */
function write(steady: Steady, shape: Completion, from: usize, length: u32): bool {
  if (length > PART) return false;
  const table = changetype<usize>(steady), bytes = table + BYTES, mask = bytes + PART;
  memory.copy(bytes, from, length);
  memory.fill(mask + length, 0, -length & (STRIDE - 1));
  let at: u32 = 0, places: u32 = 0;
  for (let next = firstStep(shape);;) {
    const step = changetype<Step>(next), literal: u32 = step.literal, hole: u32 = step.hole;
    if (at + literal > length) return false;
    memory.fill(mask + at, 255, literal);
    at += literal;
    if (hole == HOLE_END) break;
    next += 32 + (literal & ~15);
    let size: u32 = step.expected;
    if (at + size > length) return false;
    // A length is compared; an opaque is a value without one.
    if (hole != HOLE_OPAQUE32) {
      memory.fill(mask + at, 255, WORD);
      at += WORD;
      size -= WORD;
    }
    memory.fill(mask + at, 0, size);
    if (hole != HOLE_OTHER32 && hole != HOLE_ENTRIES32) {
      if (places == PLACES) return false;
      const place = changetype<Place>(table + PLACES_AT + places * offsetof<Place>());
      place.at = <u16> at;
      place.length = <u16> size;
      place.hole = <u16> hole;
      place.target = step.target;
      places++;
    }
    at += size;
  }
  steady.places = places;
  return at == length;
}

function difference(kept: usize, at: usize): v128 {
  return v128.and(v128.xor(v128.load(kept), v128.load(at)), v128.load(kept, PART));
}

function steadyAt(index: u32): Steady {
  return changetype<Steady>(TABLE + index * SIZE);
}
