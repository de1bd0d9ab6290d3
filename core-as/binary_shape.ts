// Whether a ROCKETMQ header has a learned shape (shapes.ts), in one function and without waiting, as in json_shape.ts.

import { naturalOf, NOT_AN_INTEGER } from "./ext_fields";
import { be32, Completion } from "./shared";
import { firstStep, HOLE_END, HOLE_NUMBER32, HOLE_OPAQUE32, HOLE_OTHER32, HOLE_TEXT32, MASKS, Step } from "./steps";

const UINT16_MOST: u32 = 0xffff;
/** The length in front of a value. */
const WORD: u32 = 4;

/** Fills the completion, but for the positions of header and body. When the answer is no, what it holds is worth nothing. */
export function matchesBinary(shape: Completion, to: Completion, at: usize, end: usize): bool {
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

    const word = be32(at), value = at + WORD;
    if (hole >= HOLE_OPAQUE32) {
      at = value;
      if (hole == HOLE_OPAQUE32) to.token = word;
      else if (word != <u32> (end - at)) return false;
      continue;
    }
    let size: u32 = step.expected;
    if (word + WORD != size) {
      if (word - 1 >= UINT16_MOST - WORD) return false;
      size = word + WORD;
      step.expected = <u16> size;
    }
    const length = size - WORD;
    at += size;
    if (at > end) return false;
    if (hole == HOLE_OTHER32) continue;
    if (hole == HOLE_TEXT32) {
      to.textPtr = <u32> value;
      to.textLen = <u16> length;
      continue;
    }
    const number = naturalOf(value, length);
    if (number == NOT_AN_INTEGER) return false;
    if (hole == HOLE_NUMBER32) store<f64>(completion + step.target, <f64> number);
    else {
      if (number > <i64> UINT16_MOST) return false;
      to.brokerId = <u16> number;
    }
  }
}
