// Whether a JSON header has a learned shape (shapes.ts). All of it is one function: a call for each hole would take as long as
// the hole.
//
// Nothing in it waits for what was read before. A hole remembers how long its value was, and the position behind it is that
// length, checked by a branch, not the one that was computed from the bytes. The literals are judged together where the header
// ends; behind a wrong one, holes can only read what is no value of theirs, and stay before `end`.

import { digitsFrom, digitsOf } from "./ext_fields";
import { isText, textLength } from "./json_text";
import { Completion } from "./shared";
import { firstStep, HOLE_END, HOLE_NUMBER, HOLE_OPAQUE, HOLE_OTHER, HOLE_TEXT, MASKS, Step } from "./steps";

const DIGITS_MOST: u32 = 15;
const OPAQUE_MOST: i64 = 0x7fffffff;
const UINT16_MOST: u32 = 0xffff;
const ZERO: u32 = 48;

/** Fills the completion, but for the positions of header and body. When the answer is no, what it holds is worth nothing. */
export function matchesJson(shape: Completion, to: Completion, at: usize, end: usize): bool {
  const completion = changetype<usize>(to), learned = changetype<usize>(shape);
  v128.store(completion, v128.load(learned));
  v128.store(completion, v128.load(learned, 32), 32);
  v128.store(completion, v128.load(learned, 48), 48);
  let next = firstStep(shape), differences = i64x2.splat(0);
  while (true) {
    const step = changetype<Step>(next), hole: u32 = step.hole;
    let left: u32 = step.literal;
    if (at + left > end) return false;
    for (; left >= 16; left -= 16) {
      next += 16;
      differences = v128.or(differences, v128.xor(v128.load(at), v128.load(next)));
      at += 16;
    }
    next += 16;
    const rest = v128.and(v128.xor(v128.load(at), v128.load(next)), v128.load(MASKS + 16 - left));
    differences = v128.or(differences, rest);
    at += left;
    next += 16;
    if (hole == HOLE_END) return at == end && !v128.any_true(differences);

    let length: u32 = step.expected;
    if (hole >= HOLE_TEXT) {
      if (!isText(at, length, end)) {
        length = textLength(at, end);
        step.expected = <u16> length;
      }
      if (hole == HOLE_OTHER) {
        if (!length) return false;
      } else {
        if (length > UINT16_MOST) return false;
        to.textPtr = <u32> at;
        to.textLen = <u16> length;
      }
    } else {
      const found = digitsFrom(at);
      if (found != length) {
        if (found - 1 >= DIGITS_MOST) return false;
        length = found;
        step.expected = <u16> found;
      }
      const value = digitsOf(at, length);
      if (hole == HOLE_NUMBER) store<f64>(completion + step.target, <f64> value);
      else if (hole == HOLE_OPAQUE) {
        if (value > OPAQUE_MOST || (length > 1 && load<u8>(at) == ZERO)) return false;
        to.token = <u32> value;
      } else {
        if (value > <i64> UINT16_MOST) return false;
        to.brokerId = <u16> value;
      }
    }
    at += length;
  }
}
