// Header programs: a request header compiled once into literals and holes. `encode.ts` runs them.
//
//   block ─► Program │ step │ step │ …
//   step  =  hole u16 │ literal length u16 │ 12 unused │ literal, padded to 16
//
// Literals are aligned and padded, so that they are copied 16 bytes at a time without a tail.

import * as abi from "./abi";
import { giveBlock, isBlock, OWNER_PROGRAM, takeBlock } from "./arena";
import { ARGUMENT_TEXT, copy16, Submission } from "./shared";
import { forgetTarget } from "./target";
import { UNIQUE_ID_BYTES } from "./unique_id";

/** Start of a program's block: what its frames need, known before the first byte is written. */
@unmanaged
export class Program {
  /** Bytes of the frame's two length words, of literals, and of holes whose size is always the same. */
  fixed: u32;
  /** No frame needs more without its arguments' text, nor more than `perByte` for each byte of that. */
  most: u32;
  perByte: u32;
  /** Holes by kind: their sizes differ from frame to frame. */
  opaques: u32;
  values: u32;
  timestamps: u32;
  arguments: u32;
  uniqueIds: u32;
  /** Serialize type in the high byte, as in the header word. */
  kind: u32;
}

/** Length word and header word. */
export const FRAME_HEAD: u32 = 8;
/** Literals begin so far behind their step. */
export const STEP: usize = 16;
const STEPS: usize = 48;
const DEPTH_MAX: u32 = 8;
const HOLE_LAST: u32 = abi.HOLE_UNIQUE_ID;
const BINARY: u32 = 0x01000000;

const OPAQUE_MOST: u32 = 11; // -2147483648
const VALUE_MOST: u32 = 17; // -9007199254740992
const TIMESTAMP_MOST: u32 = 16;
/** An escaped byte takes at most so many. */
const ESCAPE_MOST: u32 = 6;

if (offsetof<Program>() > STEPS) ERROR("Program reaches into its steps");

/** A program's first step. */
export function stepsOf(program: Program): usize {
  return changetype<usize>(program) + STEPS;
}

/** The step behind this one. */
export function nextStep(step: usize): usize {
  return step + STEP + padded(load<u16>(step, 2));
}

/** OP_PROGRAM_COMPILE. */
export function compileProgram(entry: Submission): void {
  const size = sizeOfProgram(entry.len);
  if (!size) {
    entry.result = abi.E_BAD_PROGRAM;
    return;
  }
  const block = takeBlock(size, OWNER_PROGRAM);
  entry.result = block ? <i32> block : abi.E_NO_ROOM;
  if (block) translate(block);
}

/** OP_PROGRAM_FREE. */
export function freeProgram(entry: Submission): void {
  entry.result = abi.E_BAD_HANDLE;
  if (!isBlock(entry.handle, OWNER_PROGRAM)) return;
  giveBlock(entry.handle, OWNER_PROGRAM);
  forgetTarget();
  entry.result = 0;
}

/** Bytes that the steps in the argument area take when compiled; 0 when they are no program. */
function sizeOfProgram(length: u32): u32 {
  if (length > <u32> abi.ARGUMENT_BYTES) return 0;
  let size: u32 = <u32> STEPS, at: u32 = 0, depth: u32 = 0, args: u32 = 0;
  while (at + abi.STEP_HEADER <= length) {
    let hole: u32 = load<u16>(ARGUMENT_TEXT + at);
    const literal: u32 = load<u16>(ARGUMENT_TEXT + at, 2);
    if (!at) hole &= ~abi.PROGRAM_BINARY;
    at += abi.STEP_HEADER + literal;
    if (at > length || hole > HOLE_LAST) return 0;
    size += <u32> STEP + padded(literal);
    args += <u32> takesArgument(hole);
    if (hole == abi.HOLE_END) return at == length && !depth && args <= <u32> abi.ARGUMENTS_MAX ? size : 0;
    if (hole == abi.HOLE_OPEN && ++depth > DEPTH_MAX) return 0;
    if (hole == abi.HOLE_CLOSE && !depth--) return 0;
  }
  return 0;
}

/** Copies steps that make a program into its block. */
function translate(block: u32): void {
  const program = changetype<Program>(block);
  memory.fill(block, 0, STEPS);
  program.fixed = FRAME_HEAD;
  program.perByte = 1;
  if (load<u16>(ARGUMENT_TEXT) & abi.PROGRAM_BINARY) program.kind = BINARY;
  let from = ARGUMENT_TEXT, to = <usize> block + STEPS;
  for (let last = false; !last;) {
    const hole: u32 = load<u16>(from) & ~abi.PROGRAM_BINARY;
    const literal: u32 = load<u16>(from, 2);
    store<u16>(to, hole);
    store<u16>(to, literal, 2);
    copy16(to + STEP, from + abi.STEP_HEADER, literal);
    program.fixed += literal;
    count(program, hole);
    from += abi.STEP_HEADER + literal;
    to += STEP + padded(literal);
    last = hole == abi.HOLE_END;
  }
  program.most = program.fixed + program.opaques * OPAQUE_MOST + program.values * VALUE_MOST +
    program.timestamps * TIMESTAMP_MOST;
}

/** Adds what a hole needs. */
function count(program: Program, hole: u32): void {
  program.fixed += 4 * <u32> isFourBytes(hole) + UNIQUE_ID_BYTES * <u32> (hole == abi.HOLE_UNIQUE_ID);
  program.opaques += <u32> (hole == abi.HOLE_OPAQUE);
  program.values += <u32> (hole == abi.HOLE_VALUE || hole == abi.HOLE_VALUE32);
  program.timestamps += <u32> (hole == abi.HOLE_BORN_TIMESTAMP || hole == abi.HOLE_BORN_TIMESTAMP32);
  program.arguments += <u32> takesArgument(hole);
  program.uniqueIds += <u32> (hole == abi.HOLE_UNIQUE_ID);
  if (hole == abi.HOLE_ARGUMENT_JSON) program.perByte = ESCAPE_MOST;
}

export function takesArgument(hole: u32): bool {
  return hole - abi.HOLE_ARGUMENT <= <u32> (abi.HOLE_ARGUMENT32 - abi.HOLE_ARGUMENT);
}

/** Whether a hole is a big-endian i32 or begins with one. */
function isFourBytes(hole: u32): bool {
  return hole == abi.HOLE_OPAQUE32 || hole == abi.HOLE_VALUE32 || hole == abi.HOLE_BORN_TIMESTAMP32 ||
    hole == abi.HOLE_ARGUMENT32 || hole == abi.HOLE_OPEN;
}

function padded(length: u32): u32 {
  return (length + 15) & ~15;
}
