// One compressed block: sequences of literals and a match behind them. What arrives and what comes out may end anywhere, so
// a block is a run of steps, and each step either is done, or waits with its state kept. Sequences that lie wholly inside
// both, nearly all of them, go through a loop of their own, which copies 16 bytes at a time and overshoots into the slack.
// Format: LZ4 Block Format Description, https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
//
//   sequence  token u8 (literals << 4 | match - 4) │ more literals u8* │ literals │ distance u16 │ more match u8*
//             a count of 15 goes on in further bytes, as long as they are 255; the last sequence ends behind its literals

import { copy16 } from "./shared";

/** A block that is being read, and where from and to. Belongs to `lz4_phases.ts`. */
@unmanaged
export class Lz4Block {
  /** The next byte of input, and the end of what has arrived. */
  at: u32;
  end: u32;
  /** Bytes of the block that have not been read. */
  left: u32;
  /** Where the next byte goes. */
  out: u32;
  /** Nothing goes from here on, but for overshoot. */
  stop: u32;
  /** A match may begin here and not before. */
  floor: u32;
  /** STEP_* */
  step: u32;
  token: u32;
  /** What is left of the literals or of the match. */
  count: u32;
  distance: u32;
}

/** Also the answer of a step that is done. */
export const BLOCK_DONE: i32 = 0;
export const BLOCK_NEEDS_INPUT: i32 = 1;
/** There is more to write, and `stop` is reached. */
export const BLOCK_IS_FULL: i32 = 2;
export const BLOCK_IS_BAD: i32 = 3;

const STEP_TOKEN: u32 = 0;
const STEP_LITERALS: u32 = 1;
const STEP_DISTANCE: u32 = 2;
const STEP_MATCH: u32 = 3;

/** No count is larger than the largest block. */
const COUNT_MAX: u32 = 4194304;
const MATCH_MIN: u32 = 4;
/** Behind literals comes nothing, or at least a distance, a token and the five literals that every block ends with. */
const BEHIND_LITERALS: u32 = 2 + 1 + 5;

/** A block of `length` bytes begins. */
export function startBlock(block: Lz4Block, length: u32): void {
  block.left = length;
  block.step = STEP_TOKEN;
}

/** Reads on, as far as input and output go. */
export function readBlock(block: Lz4Block): i32 {
  let result = BLOCK_DONE;
  while (result == BLOCK_DONE) {
    switch (block.step) {
      case STEP_TOKEN:
        result = readWhole(block) ? readToken(block) : BLOCK_IS_BAD;
        break;
      case STEP_LITERALS:
        result = copyLiterals(block);
        if (result == BLOCK_DONE && block.left < BEHIND_LITERALS) return block.left ? BLOCK_IS_BAD : BLOCK_DONE;
        break;
      case STEP_DISTANCE:
        result = readDistance(block);
        break;
      default:
        result = copyPart(block);
    }
  }
  return result;
}

/** The end of what has arrived of the block. */
function endOfInput(block: Lz4Block): u32 {
  return block.at + min(block.left, block.end - block.at);
}

// ── whole sequences ──────────────────────────────────────────────────────────────────────────────────────────────────

/** A sequence without further counts takes at most 17 bytes of input, and one byte is left for a further count of its match. */
const INPUT_MOST: u32 = 18 + 16;
/** Literals of one step, a match with one further count, and overshoot. */
const OUTPUT_MOST: u32 = 16 + 19 + 254 + 16;

/** Sequences, while they and their overshoot are inside input and output. False: a match begins before the first byte. */
function readWhole(block: Lz4Block): bool {
  const end = endOfInput(block);
  if (end - block.at < INPUT_MOST || block.stop - block.out < OUTPUT_MOST) return true;
  const lastAt = end - INPUT_MOST, lastOut = block.stop - OUTPUT_MOST, floor = block.floor;
  let at = block.at, out = block.out, isGood = true;
  while (at <= lastAt && out <= lastOut) {
    const token: u32 = load<u8>(at);
    let literals = token >>> 4, from = at + 1;
    if (literals == 15) {
      const more: u32 = load<u8>(from);
      literals += more;
      from++;
      if (more == 255 || from + literals > lastAt || out + literals > lastOut) break;
      copy16(out, from, literals);
    } else {
      v128.store(out, v128.load(from));
    }
    from += literals;
    const to = out + literals, distance: u32 = load<u16>(from);
    let match = token & 15;
    from += 2;
    if (match == 15) {
      const more: u32 = load<u8>(from);
      if (more == 255) break;
      match += more;
      from++;
    }
    match += MATCH_MIN;
    if (distance - 1 >= to - floor) {
      isGood = false;
      break;
    }
    copyMatch(to, distance, match);
    at = from;
    out = to + match;
  }
  block.left -= at - block.at;
  block.at = at;
  block.out = out;
  return isGood;
}

// ── any sequence, step by step ───────────────────────────────────────────────────────────────────────────────────────

function readToken(block: Lz4Block): i32 {
  if (block.left == 0) return BLOCK_IS_BAD;
  const end = endOfInput(block);
  if (block.at == end) return BLOCK_NEEDS_INPUT;
  const token: u32 = load<u8>(block.at);
  const behind = readCount(block, block.at + 1, end, token >>> 4);
  if (!behind) return noCount(block, end);
  block.token = token;
  block.step = STEP_LITERALS;
  return block.count > block.left ? BLOCK_IS_BAD : BLOCK_DONE;
}

function copyLiterals(block: Lz4Block): i32 {
  const length = min(block.count, min(block.end - block.at, block.stop - block.out));
  memory.copy(block.out, block.at, length);
  block.at += length;
  block.left -= length;
  block.out += length;
  block.count -= length;
  if (block.count) return block.out == block.stop ? BLOCK_IS_FULL : BLOCK_NEEDS_INPUT;
  block.step = STEP_DISTANCE;
  return BLOCK_DONE;
}

function readDistance(block: Lz4Block): i32 {
  const end = endOfInput(block);
  if (end - block.at < 2) return noCount(block, end);
  const distance: u32 = load<u16>(block.at);
  if (!readCount(block, block.at + 2, end, block.token & 15)) return noCount(block, end);
  if (distance - 1 >= block.out - block.floor) return BLOCK_IS_BAD;
  block.distance = distance;
  block.count += MATCH_MIN;
  block.step = STEP_MATCH;
  return BLOCK_DONE;
}

function copyPart(block: Lz4Block): i32 {
  const length = min(block.count, block.stop - block.out);
  if (length) copyMatch(block.out, block.distance, length);
  block.out += length;
  block.count -= length;
  if (block.count) return BLOCK_IS_FULL;
  block.step = STEP_TOKEN;
  return BLOCK_DONE;
}

/** A count whose first part is `count` and whose further bytes begin at `at`: 0 when they do not end before `end`, or too late. */
function readCount(block: Lz4Block, at: u32, end: u32, count: u32): u32 {
  if (count == 15) {
    let more: u32;
    do {
      if (at == end || count > COUNT_MAX) return 0;
      more = load<u8>(at++);
      count += more;
    } while (more == 255);
  }
  block.left -= at - block.at;
  block.at = at;
  block.count = count;
  return at;
}

/** What stopped a count: the end of what has arrived, or of the block. */
function noCount(block: Lz4Block, end: u32): i32 {
  return block.left == end - block.at || end - block.at > COUNT_MAX / 255 + 2 ? BLOCK_IS_BAD : BLOCK_NEEDS_INPUT;
}

// ── matches ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** For each distance below 16: which of its bytes lies at each place of a vector. */
const REPEATED: usize = memory.data(16 * 16, 16);

/** Fills the table; once. */
export function initLz4(): void {
  for (let distance: u32 = 1; distance < 16; distance++) {
    for (let place: u32 = 0; place < 16; place++) store<u8>(REPEATED + distance * 16 + place, place % distance);
  }
}

/** Repeats what lies `distance` back, at least one byte; writes up to 15 bytes too far. */
function copyMatch(out: usize, distance: u32, length: u32): void {
  const end = out + length;
  let from = out - distance;
  if (distance >= 16) {
    do {
      v128.store(out, v128.load(from));
      out += 16;
      from += 16;
    } while (out < end);
    return;
  }
  const pattern = i8x16.swizzle(v128.load(from), v128.load(REPEATED + distance * 16));
  const step = 16 - 16 % distance;
  do {
    v128.store(out, pattern);
    out += step;
  } while (out < end);
}
