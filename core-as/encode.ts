// Encoding: a header program is run at the end of a segment, and the two length words are written in front of it.
// Whether all of it fits is known before the first byte, so a frame is never half encoded.

import * as abi from "./abi";
import { isBlock, OWNER_PROGRAM, OWNER_SEGMENT } from "./arena";
import { FRAME_HEAD, nextStep, Program, STEP, stepsOf, takesArgument } from "./program";
import { endOf, roomOf, Segment } from "./segment";
import { ARGUMENT_LENGTHS, ARGUMENT_TEXT, copy16, Submission } from "./shared";
import { forgetTarget, NOTHING, target } from "./target";
import { decimal, decimal32, decimalLength, escapeJson, escapesLength, initText } from "./text";
import { isId, newId, setIdTime, UNIQUE_ID_BYTES, writeId } from "./unique_id";

/** All values of a command are integers up to here, so that an f64 carries them exactly. */
const INTEGER_MOST: u64 = 9007199254740992;

/** OP_CLOCK's time in decimal digits. */
const CLOCK: usize = memory.data(32, 16);
let clockDigits: u32 = 0;
/** Where the lengths of OPEN holes go, innermost last. */
const OPENED: usize = memory.data(32, 16);

if (abi.SEGMENT_BYTES > 0xffffff) ERROR("A segment could hold a header that is longer than its word can say");

export function initEncoding(): void {
  initText();
  forgetTarget();
  clockDigits = decimal(CLOCK, 0);
}

/** OP_CLOCK. */
export function setClock(entry: Submission): void {
  entry.result = abi.E_BAD_ARGUMENT;
  if (!(entry.value >= 0 && entry.value <= <f64> INTEGER_MOST)) return;
  clockDigits = decimal(CLOCK, <i64> entry.value);
  setIdTime(<i64> entry.value, entry.token);
  entry.result = 0;
}

/** OP_ENCODE. */
export function encode(entry: Submission): void {
  const program = entry.handle, ptr = entry.ptr, flags: u32 = entry.flags, body = entry.len, opaque = entry.token;
  const isLast = program == target().program && ptr == target().segment && flags == target().flags;
  entry.result = isLast ? 0 : aim(program, ptr, flags);
  if (entry.result < 0) return;

  const segment = changetype<Segment>(ptr), inside = body & target().bodyMask;
  // A number that no i64 has becomes the nearest one, NaN becomes 0: no conversion traps, and the result differs from the number.
  const text = textOf(flags & abi.ENCODE_COUNT_MASK), number = entry.value, value = <i64> number;
  if (<f64> value != number || <u64> abs(value) > INTEGER_MOST || text > <u64> abi.ARGUMENT_BYTES) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  const most: u64 = target().most + target().perByte * <u32> text;
  if (most + inside > roomOf(segment) || most + body > <u64> abi.FRAME_MAX) {
    // The worst case does not fit; perhaps this one does.
    const head: u64 = exactly(changetype<Program>(program), <u32> text, opaque, value);
    if (head + body > <u64> abi.FRAME_MAX) entry.result = abi.E_FRAME_TOO_LARGE;
    else if (head + inside > roomOf(segment)) entry.result = abi.E_NO_ROOM;
    if (entry.result < 0) return;
  }

  if (target().takesId) newId();
  const start = endOf(segment);
  const end = runProgram(changetype<Program>(program), start + FRAME_HEAD, opaque, value);
  const head = <u32> (end - start);
  // Without assertions their argument would still be computed.
  if (!ASC_NO_ASSERT) assert(head == exactly(changetype<Program>(program), <u32> text, opaque, value));
  store<u32>(start, bswap(head - 4 + body));
  store<u32>(start, bswap((head - FRAME_HEAD) | target().kind), 4);
  segment.length += head + inside;
  entry.result = <i32> end;
}

/** Makes these the target; or says which error the command gets. */
function aim(handle: u32, ptr: u32, flags: u32): i32 {
  if (!isBlock(handle, OWNER_PROGRAM)) return abi.E_BAD_HANDLE;
  if (!isBlock(ptr, OWNER_SEGMENT)) return abi.E_BAD_POINTER;
  const program = changetype<Program>(handle), hasId = (flags & abi.ENCODE_SAME_ID) != 0;
  if ((flags & abi.ENCODE_COUNT_MASK) != program.arguments) return abi.E_BAD_ARGUMENT;
  if (hasId && !isId()) return abi.E_BAD_ARGUMENT;
  // The id that a host gives is judged for each frame.
  target().program = handle;
  target().segment = ptr;
  target().flags = hasId ? NOTHING : flags;
  target().bodyMask = flags & abi.ENCODE_BODY_APART ? 0 : -1;
  target().most = program.most;
  target().perByte = program.perByte;
  target().kind = program.kind;
  target().takesId = <u32> (program.uniqueIds && !hasId);
  return 0;
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
        to += writeOpaque(to, opaque);
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

/** The opaque written last: its digits, how many there are, and what it is with a 0 for the last one. */
const OPAQUE: usize = memory.data(32, 16);
let opaqueTens: u32 = 0;
let opaqueDigits: u32 = 1;

/** Writes an opaque in decimal digits; returns how many bytes. Most opaques follow the one before and differ in the last digit. */
function writeOpaque(to: usize, opaque: u32): u32 {
  if (<i32> opaque < 0) return decimal(to, <i32> opaque);
  if (opaque - opaqueTens > 9) {
    opaqueTens = opaque - opaque % 10;
    opaqueDigits = decimal32(OPAQUE, opaque);
  }
  v128.store(to, v128.load(OPAQUE));
  store<u8>(to + opaqueDigits - 1, 48 + opaque - opaqueTens);
  return opaqueDigits;
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
