// Encoding: a header program is run at the end of a segment, and the two length words are written in front of it.
// Whether all of it fits is known before the first byte, so a frame is never half encoded.

import * as abi from "./abi";
import { isBlock, OWNER_PROGRAM, OWNER_SEGMENT } from "./arena";
import { FRAME_HEAD, nextStep, Program, STEP, stepsOf, takesArgument } from "./program";
import { endOf, roomOf, Segment } from "./segment";
import { ARGUMENT_LENGTHS, ARGUMENT_TEXT, copy16, Submission } from "./shared";
import { decimal, decimal32, decimalLength, escapeJson, escapesLength, initText } from "./text";
import { isId, newId, setIdTime, UNIQUE_ID_BYTES, writeId } from "./unique_id";

/** All values of a command are integers up to here, so that an f64 carries them exactly. */
const INTEGER_MOST: f64 = 9007199254740992.0;

/** OP_CLOCK's time in decimal digits. */
const CLOCK: usize = memory.data(32, 16);
let clockDigits: u32 = 0;
/** Where the lengths of OPEN holes go, innermost last. */
const OPENED: usize = memory.data(32, 16);

if (abi.SEGMENT_BYTES > 0xffffff) ERROR("A segment could hold a header that is longer than its word can say");

export function initEncoding(): void {
  initText();
  clockDigits = decimal(CLOCK, 0);
}

/** OP_CLOCK. */
export function setClock(entry: Submission): void {
  entry.result = abi.E_BAD_ARGUMENT;
  if (!(entry.value >= 0 && entry.value <= INTEGER_MOST)) return;
  clockDigits = decimal(CLOCK, <i64> entry.value);
  setIdTime(<i64> entry.value, entry.token);
  entry.result = 0;
}

/** OP_ENCODE. */
export function encode(entry: Submission): void {
  const text = textOf(entry.flags & abi.ENCODE_COUNT_MASK);
  const inside: u32 = isApart(entry) ? 0 : entry.len;
  const refusal = whyNot(entry, text, inside);
  if (refusal) {
    entry.result = refusal;
    return;
  }
  const program = changetype<Program>(entry.handle);
  const segment = changetype<Segment>(entry.ptr);
  const opaque = entry.token, value = <i64> entry.value, body = entry.len;
  if (program.uniqueIds && !(entry.flags & abi.ENCODE_SAME_ID)) newId();
  const start = endOf(segment);
  const end = runProgram(program, start + FRAME_HEAD, opaque, value);
  const head = <u32> (end - start);
  // Without assertions their argument would still be computed.
  if (!ASC_NO_ASSERT) assert(head == exactly(program, <u32> text, opaque, value));
  store<u32>(start, bswap(head - 4 + body));
  store<u32>(start, bswap((head - FRAME_HEAD) | program.kind), 4);
  segment.length += head + inside;
  entry.result = <i32> end;
}

/** Bytes of all arguments. */
function textOf(args: u32): u64 {
  // Most frames have one.
  if (args == 1) return load<u32>(ARGUMENT_LENGTHS);
  let text: u64 = 0;
  for (let i: u32 = 0, count = min<u32>(args, abi.ARGUMENTS_MAX); i < count; i++) {
    text += load<u32>(ARGUMENT_LENGTHS + (i << 2));
  }
  return text;
}

/** The error that this command gets, or 0; nothing has been written then. `inside` bytes of its body are the segment's. */
function whyNot(entry: Submission, text: u64, inside: u64): i32 {
  if (!isBlock(entry.handle, OWNER_PROGRAM)) return abi.E_BAD_HANDLE;
  if (!isBlock(entry.ptr, OWNER_SEGMENT)) return abi.E_BAD_POINTER;
  const program = changetype<Program>(entry.handle);
  const value = entry.value, flags: u32 = entry.flags;
  if ((flags & abi.ENCODE_COUNT_MASK) != program.arguments) return abi.E_BAD_ARGUMENT;
  if (!(abs<f64>(value) <= INTEGER_MOST) || trunc<f64>(value) != value) return abi.E_BAD_ARGUMENT;
  if (text > <u64> abi.ARGUMENT_BYTES) return abi.E_BAD_ARGUMENT;
  if (flags & abi.ENCODE_SAME_ID && !isId()) return abi.E_BAD_ARGUMENT;

  const room: u64 = roomOf(changetype<Segment>(entry.ptr));
  const most: u64 = program.most + program.perByte * <u32> text;
  const body: u64 = entry.len;
  if (most + inside <= room && most + body <= <u64> abi.FRAME_MAX) return 0;
  // The worst case does not fit; perhaps this one does.
  const head: u64 = exactly(program, <u32> text, entry.token, <i64> value);
  if (head + body > <u64> abi.FRAME_MAX) return abi.E_FRAME_TOO_LARGE;
  return head + inside <= room ? 0 : abi.E_NO_ROOM;
}

function isApart(entry: Submission): bool {
  return (entry.flags & abi.ENCODE_BODY_APART) != 0;
}

/** The length of this very frame's head. */
function exactly(program: Program, text: u32, opaque: u32, value: i64): u32 {
  let head = program.fixed + text + program.timestamps * clockDigits +
    program.opaques * decimalLength(<i32> opaque) + program.values * decimalLength(value);
  if (program.perByte == 1) return head;
  let at = ARGUMENT_TEXT, lengths = ARGUMENT_LENGTHS;
  for (let step = stepsOf(program), left = program.arguments; left; step = nextStep(step)) {
    const hole: u32 = load<u16>(step);
    if (!takesArgument(hole)) continue;
    const length = load<u32>(lengths);
    if (hole == abi.HOLE_ARGUMENT_JSON) head += escapesLength(at, length);
    at += length;
    lengths += 4;
    left--;
  }
  return head;
}

/** Writes one header at `to`; returns its end. */
function runProgram(program: Program, to: usize, opaque: u32, value: i64): usize {
  let step = stepsOf(program);
  let text = ARGUMENT_TEXT, lengths = ARGUMENT_LENGTHS, opened = OPENED;
  while (true) {
    const hole: u32 = load<u16>(step), literal: u32 = load<u16>(step, 2);
    const next = nextStep(step);
    copyLiteral(to, step + STEP, next);
    to += literal;
    step = next;
    switch (<i32> hole) {
      case abi.HOLE_END:
        return to;
      case abi.HOLE_OPAQUE:
        to += <i32> opaque >= 0 ? decimal32(to, opaque) : decimal(to, <i32> opaque);
        break;
      case abi.HOLE_OPAQUE32:
        store<u32>(to, bswap(opaque));
        to += 4;
        break;
      case abi.HOLE_VALUE:
        // Most queue ids are one digit.
        store<u8>(to, 48 + value);
        to += <u64> value < 10 ? 1 : decimal(to, value);
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
      case abi.HOLE_UNIQUE_ID:
        writeId(to);
        to += UNIQUE_ID_BYTES;
        break;
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

/** Copies a literal, whose padding ends where the next step starts. Engines check for interrupts in every round of a loop. */
function copyLiteral(to: usize, from: usize, end: usize): void {
  for (; from + 64 <= end; from += 64, to += 64) {
    v128.store(to, v128.load(from));
    v128.store(to, v128.load(from, 16), 16);
    v128.store(to, v128.load(from, 32), 32);
    v128.store(to, v128.load(from, 48), 48);
  }
  const left = <u32> (end - from);
  if (!left) return;
  v128.store(to, v128.load(from));
  if (left <= 16) return;
  v128.store(to, v128.load(from, 16), 16);
  if (left > 32) v128.store(to, v128.load(from, 32), 32);
}
