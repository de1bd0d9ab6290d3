// Answers of real servers with other values in them, then some that are nearly like them: through a core that has learned
// their shapes, and through one whose scanner works alone.

import { HeaderCore, ScannerCore } from "../core/header_core.ts";
import { type AnswerHeader, withOtherValues } from "../core/random_answers.ts";
import type { Random } from "../core/random.ts";
import { mutated } from "../core/random_records.ts";
import { frameBytes } from "../support/frames.ts";

/** So many right answers come first; they earn the credit that the others may cost. */
const RIGHT = 12;
const NEAR_MOST = 3;
const BODY_MOST = 24;

/** What was mutated near a right answer, and how much of it a learned shape took all the same. */
export interface NearCounts {
  near: number;
  nearHits: number;
}

/** Both cores keep what they have learned from one case to the next. */
export class AnswerFuzzer {
  readonly counts: NearCounts = { near: 0, nearHits: 0 };
  readonly #answers: readonly AnswerHeader[];
  readonly #learning = new HeaderCore();
  readonly #scanning = new ScannerCore();

  constructor(answers: readonly AnswerHeader[]) {
    this.#answers = answers;
  }

  run(random: Random): void {
    const { counts } = this, answer = random.pick(this.#answers);
    for (let right = 0; right < RIGHT; right++) this.#read(random, withOtherValues(random, answer));
    for (let near = random.below(NEAR_MOST + 1); near > 0; near--) {
      counts.near++;
      if (this.#read(random, nearlyLike(random, withOtherValues(random, answer)))) counts.nearHits++;
    }
  }

  /** Returns whether a learned shape has read it. */
  #read(random: Random, { bytes, kind }: AnswerHeader): boolean {
    const frame = frameBytes(bytes, random.bytes(random.below(BODY_MOST)), kind);
    const learned = this.#learning.readFrame(frame), scanned = this.#scanning.readFrame(frame);
    if (learned.completion.some((byte, index) => byte !== scanned.completion[index])) {
      throw new Error(
        `"${new TextDecoder().decode(bytes)}" is ${learned.completion}, but ${scanned.completion} scanned`,
      );
    }
    return learned.isHit;
  }
}

/** A digit is another one, or twice there, or not; or anything is broken anywhere. */
function nearlyLike(random: Random, { bytes, kind }: AnswerHeader): AnswerHeader {
  const digits = [...bytes.keys()].filter((index) => bytes[index]! >= 48 && bytes[index]! <= 57);
  if (digits.length === 0 || random.once(3)) return { kind, bytes: mutated(random, bytes) };
  const at = random.pick(digits), before = bytes.subarray(0, at), behind = bytes.subarray(at + 1);
  const digit = 48 + random.below(10);
  const there = random.pick([[digit], [digit], [digit], [digit, digit], []]);
  return { kind, bytes: Uint8Array.from([...before, ...there, ...behind]) };
}
