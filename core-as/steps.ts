// What a learned shape is made of: a completion, then steps. shapes.ts writes them, json_shape.ts and binary_shape.ts follow.

import { Completion } from "./shared";

/** The header ends behind the literal. */
export const HOLE_END: u32 = 0;
// In JSON. Behind digits the next literal begins with a byte that is none, behind text with a quote.
/** Digits of a number that goes to a place in the completion. */
export const HOLE_NUMBER: u32 = 1;
/** Digits of the opaque. */
export const HOLE_OPAQUE: u32 = 2;
/** Digits of a number of 16 bits. */
export const HOLE_BROKER_ID: u32 = 3;
/** Text whose place and length go to the completion. */
export const HOLE_TEXT: u32 = 4;
/** Text that nobody needs; not empty, because an empty remark is none. */
export const HOLE_OTHER: u32 = 5;
// In ROCKETMQ headers: the same behind an i32 length, and never empty, because an empty value is none.
export const HOLE_NUMBER32: u32 = 6;
export const HOLE_BROKER_ID32: u32 = 7;
export const HOLE_TEXT32: u32 = 8;
export const HOLE_OTHER32: u32 = 9;
/** The opaque, an i32. */
export const HOLE_OPAQUE32: u32 = 10;
/** The i32 length of all entries: what is left of the header. */
export const HOLE_ENTRIES32: u32 = 11;

/** A literal, whose blocks of 16 bytes follow, and the hole behind it. */
@unmanaged
export class Step {
  hole: u16;
  literal: u16;
  /** How long the value was last time, a length before it included. */
  expected: u16;
  /** Where in a completion a number goes. */
  target: u16;
  reserved0: u32;
  reserved1: u32;
}

/** 16 bytes of ones and 16 of zeroes: the mask for the first n bytes of a vector starts n before the zeroes. */
export const MASKS: usize = memory.data(32, 64);

if (offsetof<Step>() != 16) ERROR("A step and its literal are not aligned");

export function firstStep(shape: Completion): usize {
  return changetype<usize>(shape) + offsetof<Completion>();
}
