// Learned shapes. A peer writes the same header over and over, and only a few values in it differ. So the scanner notes where
// the values of a header are; what lies between them is kept as literals, and the next header is only compared:
//
//   shape  =  completion │ step, step, …              step  =  hole, lengths │ literal in blocks of 16 bytes
//
//   {"code":0,"extFields":{"queueId":"│3│","queueOffset":"│1234567│"},"flag":1,"opaque":│42│,"version":513}
//   └─────────── literal ────────────┘ ↑ └─── literal ────┘   ↑   └────── literal ──────┘ ↑ └── literal ──┘
//                                  number                  number                     opaque              end
//
// Every literal must be there, every hole must hold what the scanner would read in it, and the last literal must end where
// the header ends: a hit is proof and never a guess. What was no hole (code, flag, a remark that says FOUND) is part of a
// literal, and its value comes out of the shape's completion.
//
// ROCKETMQ headers are learned likewise: there a length stands before each value, and belongs to its hole.
//
// For headers of either kind whose values are also as long as they were there is a quicker way: steady_shape.ts.
//
// Every cache has an adversary, here a peer that never repeats itself: after a run of misses the scanner works alone for a
// while, but for headers that the quicker way still knows. That bounds what learning can cost.

import * as abi from "./abi";
import { matchesBinary } from "./binary_shape";
import { matchesJson } from "./json_shape";
import { firstStep, HOLE_END, HOLE_OTHER, HOLE_OTHER32, MASKS, Step } from "./steps";
import { Completion, control, copy16 } from "./shared";
import { forgetSteady, initSteady, matchesSteady, noteSteady } from "./steady_shape";

/** A value of the header that was scanned last. */
@unmanaged
class Note {
  hole: u32;
  /** Where in a completion a number goes. */
  target: u32;
  ptr: u32;
  len: u32;
}

const SHAPES: u32 = 8;
/** A shape: a completion, then its steps. `fields` of the completion is 0 as long as there is no shape. */
const SHAPE_SIZE: u32 = 2048;
const TABLE: usize = memory.data(8 * 2048, 64);
const NOTES: u32 = 48;
const NOTES_TABLE: usize = memory.data(48 * 16, 16);
/** A hit is worth one, a miss costs four; below zero the scanner works alone for `REST` headers, and learns from the last. */
const CREDIT_MOST: i32 = 32;
const CREDIT_AFTER_REST: i32 = 16;
const MISS: i32 = 4;
const REST: u32 = 512;
const ZERO: u32 = 48;
/** Serialize type of ROCKETMQ headers. */
const BINARY: u32 = 1;

if (offsetof<Note>() != 16) ERROR("Notes do not fit their table");

/** The shape that was hit or learned last, and the one that the next learned one replaces. */
let latest: u32 = 0;
let oldest: u32 = 0;
let notes: u32 = 0;
let credit: i32 = CREDIT_MOST;
let resting: u32 = 0;

/** Fills the table of masks. */
export function initShapes(): void {
  initSteady();
  v128.store(MASKS, i8x16.splat(-1));
}

/** Fills a completion, but for the positions of header and body, when the header has a shape that was learned. */
export function matchesShape(to: Completion, at: usize, end: usize): bool {
  if (resting) {
    resting--;
    return false;
  }
  if (matches(latest, to, at, end) || matchesOther(to, at, end)) {
    if (credit < CREDIT_MOST) credit++;
    control().shapeHits++;
    return true;
  }
  credit -= MISS;
  if (credit < 0) {
    credit = CREDIT_AFTER_REST;
    resting = REST;
  }
  return false;
}

/** The same, sooner, for a header that is like an earlier one also in the lengths of its values. */
export function matchesLengths(to: Completion, at: usize): bool {
  if (!matchesSteady(to, at)) return false;
  if (credit < CREDIT_MOST) credit++;
  control().shapeHits++;
  return true;
}

/** Notes nothing yet of the header that is scanned next. */
export function forgetNotes(): void {
  notes = 0;
}

/** Notes a value; in the order of the header. The next byte of JSON behind digits is none, behind text it is a quote. */
export function note(hole: u32, target: u32, ptr: usize, len: u32): void {
  if (notes < NOTES) {
    const value = noteAt(notes);
    value.hole = hole;
    value.target = target;
    value.ptr = <u32> ptr;
    value.len = len;
  }
  notes++;
}

/** Learns the shape of a header that was scanned, from its notes and the completion that was filled. */
export function learnShape(from: Completion, at: usize, end: usize): void {
  if (resting || notes > NOTES) return;
  const shape = shapeAt(oldest), limit = changetype<usize>(shape) + SHAPE_SIZE;
  // Nothing may match its old completion with its new steps.
  shape.fields = 0;
  forgetSteady(oldest);
  let step = firstStep(shape);
  for (let i: u32 = 0; i < notes && step; i++) {
    const value = noteAt(i);
    if (value.hole == HOLE_OTHER && !varies(value.ptr, value.len)) continue;
    if (value.hole == HOLE_OTHER32 && !varies(value.ptr + 4, value.len - 4)) continue;
    step = writeStep(step, limit, at, value.ptr, value);
    at = value.ptr + value.len;
  }
  if (!step || !writeStep(step, limit, at, end, null)) return;
  copy16(changetype<usize>(shape), changetype<usize>(from), offsetof<Completion>());
  latest = oldest;
  oldest = (oldest + 1) % SHAPES;
}

/** Text without a digit says what something is and stays; with digits it counts, or names one of many. */
function varies(at: usize, length: u32): bool {
  if (length < 2) return false;
  for (let i: u32 = 0; i < length; i++) if (<u32> load<u8>(at + i) - ZERO <= 9) return true;
  return false;
}

/** Returns where the next step goes; 0 when there is no room for this one. */
function writeStep(step: usize, limit: usize, from: usize, to: usize, value: Note | null): usize {
  const length = <u32> (to - from), next = step + 32 + (length & ~15);
  if (length > SHAPE_SIZE || next > limit) return 0;
  const written = changetype<Step>(step);
  written.hole = value ? <u16> value.hole : <u16> HOLE_END;
  written.literal = <u16> length;
  written.expected = value ? <u16> value.len : 0;
  written.target = value ? <u16> value.target : 0;
  copy16(step + 16, from, length);
  return next;
}

function matchesOther(to: Completion, at: usize, end: usize): bool {
  for (let i: u32 = 1; i < SHAPES; i++) {
    const index = (latest + i) & (SHAPES - 1);
    if (!matches(index, to, at, end)) continue;
    latest = index;
    return true;
  }
  return false;
}

function matches(index: u32, to: Completion, at: usize, end: usize): bool {
  const shape = shapeAt(index), kind = to.headerWord >> 24;
  if (!shape.fields || shape.headerWord >> 24 != kind) return false;
  if (!(kind == BINARY ? matchesBinary(shape, to, at, end) : matchesJson(shape, to, at, end))) return false;
  noteSteady(index, shape, at, end);
  return true;
}

function shapeAt(index: u32): Completion {
  return changetype<Completion>(TABLE + index * SHAPE_SIZE);
}

function noteAt(index: u32): Note {
  return changetype<Note>(NOTES_TABLE + index * offsetof<Note>());
}
