// Header programs: a request header compiled once into literals and holes, and run for each frame.
//
//   block ─► Program │ step │ step │ …
//   step  =  hole u16 │ literal length u16 │ 12 unused │ literal, padded to 16
//
// Literals are aligned and padded, so that they are copied 16 bytes at a time without a tail.

import * as abi from "./abi";
import { giveBlock, isBlock, OWNER_PROGRAM, OWNER_SEGMENT, takeBlock } from "./arena";
import { endOf, roomOf, Segment } from "./segment";
import { ARGUMENT_LENGTHS, ARGUMENT_TEXT, copy16, Submission } from "./shared";
import { decimal, decimalLength, escapeJson, escapesLength, initText } from "./text";

/** Start of a program's block: what its frames need at most, known before the first byte is written. */
@unmanaged
class Program {
  /** Bytes of literals, and of holes whose size is always the same. */
  fixed: u32;
  /** Holes by kind: their sizes differ from frame to frame. */
  opaques: u32;
  values: u32;
  timestamps: u32;
  arguments: u32;
  /** Arguments that are escaped, each to at most six times its length. */
  escaped: u32;
  /** Serialize type in the high byte, as in the header word. */
  kind: u32;
}

const STEPS: usize = 32;
const STEP: usize = 16;
const DEPTH_MAX: u32 = 8;
/** Length word and header word. */
const FRAME_HEAD: u32 = 8;
const BINARY: u32 = 0x01000000;

const OPAQUE_MOST: u32 = 11; // -2147483648
const VALUE_MOST: u32 = 17; // -9007199254740992
const TIMESTAMP_MOST: u32 = 16;
/** All values of a command are integers up to here, so that an f64 carries them exactly. */
const INTEGER_MOST: f64 = 9007199254740992.0;

if (offsetof<Program>() > STEPS) ERROR("Program reaches into its steps");
if (abi.SEGMENT_BYTES > 0xffffff) ERROR("A segment could hold a header that is longer than its word can say");

/** OP_CLOCK's time in decimal digits. */
const CLOCK: usize = memory.data(32, 16);
let clockDigits: u32 = 0;
/** Where the lengths of OPEN holes go, innermost last. */
const OPENED: usize = memory.data(32, 16);

export function initPrograms(): void {
  initText();
  clockDigits = decimal(CLOCK, 0);
}

/** OP_CLOCK. */
export function setClock(entry: Submission): void {
  entry.result = abi.E_BAD_ARGUMENT;
  if (!(entry.value >= 0 && entry.value <= INTEGER_MOST)) return;
  clockDigits = decimal(CLOCK, <i64> entry.value);
  entry.result = 0;
}

// ── compiling ────────────────────────────────────────────────────────────────────────────────────────────────────────

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
    if (at > length || hole > <u32> abi.HOLE_CLOSE) return 0;
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
}

/** Adds what a hole needs at most. */
function count(program: Program, hole: u32): void {
  program.fixed += 4 * <u32> isFourBytes(hole);
  program.opaques += <u32> (hole == abi.HOLE_OPAQUE);
  program.values += <u32> (hole == abi.HOLE_VALUE || hole == abi.HOLE_VALUE32);
  program.timestamps += <u32> (hole == abi.HOLE_BORN_TIMESTAMP || hole == abi.HOLE_BORN_TIMESTAMP32);
  program.arguments += <u32> takesArgument(hole);
  program.escaped += <u32> (hole == abi.HOLE_ARGUMENT_JSON);
}

function takesArgument(hole: u32): bool {
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

// ── encoding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** OP_ENCODE. */
export function encode(entry: Submission): void {
  const refusal = whyNot(entry);
  if (refusal) {
    entry.result = refusal;
    return;
  }
  const segment = changetype<Segment>(entry.ptr);
  const start = endOf(segment);
  const end = runProgram(changetype<Program>(entry.handle), start + FRAME_HEAD, entry.token, <i64> entry.value);
  const head = <u32> (end - start);
  assert(head == exactly(changetype<Program>(entry.handle), <u32> textOf(entry), entry.token, <i64> entry.value));
  store<u32>(start, bswap(head - 4 + entry.len));
  store<u32>(start, bswap((head - FRAME_HEAD) | changetype<Program>(entry.handle).kind), 4);
  segment.length += head + (isApart(entry) ? 0 : entry.len);
  entry.result = <i32> end;
}

/** The error that this command gets, or 0; nothing has been written then. */
function whyNot(entry: Submission): i32 {
  if (!isBlock(entry.handle, OWNER_PROGRAM)) return abi.E_BAD_HANDLE;
  if (!isBlock(entry.ptr, OWNER_SEGMENT)) return abi.E_BAD_POINTER;
  const program = changetype<Program>(entry.handle);
  if (<u32> (entry.flags & abi.ENCODE_COUNT_MASK) != program.arguments) return abi.E_BAD_ARGUMENT;
  if (!(abs<f64>(entry.value) <= INTEGER_MOST) || trunc<f64>(entry.value) != entry.value) return abi.E_BAD_ARGUMENT;
  const text = textOf(entry);
  if (text > <u64> abi.ARGUMENT_BYTES) return abi.E_BAD_ARGUMENT;

  const inside: u64 = isApart(entry) ? 0 : entry.len;
  const room: u64 = roomOf(changetype<Segment>(entry.ptr));
  let head = mostOf(program, <u32> text);
  if (head + inside <= room && head + entry.len <= <u64> abi.FRAME_MAX) return 0;
  // The worst case does not fit; perhaps this one does.
  head = exactly(program, <u32> text, entry.token, <i64> entry.value);
  if (head + entry.len > <u64> abi.FRAME_MAX) return abi.E_FRAME_TOO_LARGE;
  return head + inside <= room ? 0 : abi.E_NO_ROOM;
}

/** Bytes of all arguments. */
function textOf(entry: Submission): u64 {
  const args: u32 = entry.flags & abi.ENCODE_COUNT_MASK;
  let text: u64 = 0;
  for (let i: u32 = 0; i < args; i++) text += load<u32>(ARGUMENT_LENGTHS + (i << 2));
  return text;
}

function isApart(entry: Submission): bool {
  return (entry.flags & abi.ENCODE_BODY_APART) != 0;
}

/** No frame with this much text has a longer head. */
function mostOf(program: Program, text: u32): u64 {
  return FRAME_HEAD + program.fixed + program.opaques * OPAQUE_MOST + program.values * VALUE_MOST +
    program.timestamps * TIMESTAMP_MOST + (program.escaped ? 6 * text : text);
}

/** The length of this very frame's head. */
function exactly(program: Program, text: u32, opaque: u32, value: i64): u64 {
  let head = FRAME_HEAD + program.fixed + text + program.timestamps * clockDigits;
  if (program.opaques) head += program.opaques * decimalLength(<i32> opaque);
  if (program.values) head += program.values * decimalLength(value);
  if (!program.escaped) return head;
  let at = ARGUMENT_TEXT, lengths = ARGUMENT_LENGTHS;
  let step = changetype<usize>(program) + STEPS;
  while (true) {
    const hole: u32 = load<u16>(step);
    if (hole == abi.HOLE_END) return head;
    step += STEP + padded(load<u16>(step, 2));
    if (!takesArgument(hole)) continue;
    const length = load<u32>(lengths);
    if (hole == abi.HOLE_ARGUMENT_JSON) head += escapesLength(at, length);
    at += length;
    lengths += 4;
  }
}

/** Writes one header at `to`; returns its end. */
function runProgram(program: Program, to: usize, opaque: u32, value: i64): usize {
  let step = changetype<usize>(program) + STEPS;
  let text = ARGUMENT_TEXT, lengths = ARGUMENT_LENGTHS, opened = OPENED;
  while (true) {
    const hole: u32 = load<u16>(step), literal: u32 = load<u16>(step, 2);
    copy16(to, step + STEP, literal);
    to += literal;
    step += STEP + padded(literal);
    switch (<i32> hole) {
      case abi.HOLE_END:
        return to;
      case abi.HOLE_OPAQUE:
        to += decimal(to, <i32> opaque);
        break;
      case abi.HOLE_OPAQUE32:
        store<u32>(to, bswap(opaque));
        to += 4;
        break;
      case abi.HOLE_VALUE:
        to += decimal(to, value);
        break;
      case abi.HOLE_VALUE32: {
        const length = decimal(to + 4, value);
        store<u32>(to, bswap(length));
        to += 4 + length;
        break;
      }
      case abi.HOLE_BORN_TIMESTAMP32:
        store<u32>(to, bswap(clockDigits));
        to += 4;
      // falls through
      case abi.HOLE_BORN_TIMESTAMP:
        v128.store(to, v128.load(CLOCK));
        to += clockDigits;
        break;
      case abi.HOLE_ARGUMENT32:
        store<u32>(to, bswap(load<u32>(lengths)));
        to += 4;
      // falls through
      case abi.HOLE_ARGUMENT: {
        const length = load<u32>(lengths);
        copy16(to, text, length);
        to += length;
        text += length;
        lengths += 4;
        break;
      }
      case abi.HOLE_ARGUMENT_JSON: {
        const length = load<u32>(lengths);
        to += escapeJson(to, text, length);
        text += length;
        lengths += 4;
        break;
      }
      case abi.HOLE_OPEN:
        store<u32>(opened, <u32> to);
        opened += 4;
        to += 4;
        break;
      default: { // HOLE_CLOSE
        opened -= 4;
        const start = load<u32>(opened);
        store<u32>(start, bswap(<u32> to - start - 4));
      }
    }
  }
}
