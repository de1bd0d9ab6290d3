// LZ4 frames, written a block of at most 64 KiB at a time, as the Java client can read them: blocks are independent. Blocks
// of this size need 16 bits for a position, so the table of hashes is small enough for the fastest cache, and a reader
// needs no more than 64 KiB for one. The search takes the latest place with the same hash of four bytes, and
// goes in ever larger steps where nothing is found, so that bytes without repetitions cost little.

import * as abi from "./abi";
import * as frame from "./lz4_frame";
import { beginScratch, endScratch, hasScratch, LZ4_WRITER, SCRATCH, SCRATCH_END } from "./scratch";
import { ARGUMENT_TEXT, copy16, Submission } from "./shared";
import { endHash, hashOf, startHash, updateHash, XxHash32 } from "./xxhash32";

const BLOCK_MAX: u32 = 65536;
/** BD: blocks of at most 64 KiB. */
const BLOCK_MAX_CODE: u32 = 4 << 4;

const CONTENT_HASH: usize = memory.data(offsetof<XxHash32>(), 16);
const OPTIONS: u32 = abi.LZ4_BLOCK_CHECKSUM | abi.LZ4_CONTENT_CHECKSUM | abi.LZ4_CONTENT_SIZE;

let flags: u32 = 0;
/** Bytes that are still to come, when the frame says how many. */
let announced: u64 = 0;

/** OP_LZ4_WRITE_BEGIN. */
export function beginWriting(entry: Submission): void {
  const hasSize = (<i32> entry.flags & abi.LZ4_CONTENT_SIZE) != 0;
  if (entry.flags & ~OPTIONS || (hasSize && !(entry.value >= 0 && entry.value <= 9007199254740991))) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  beginScratch(LZ4_WRITER);
  flags = entry.flags;
  announced = hasSize ? <u64> entry.value : 0;
  startHash(changetype<XxHash32>(CONTENT_HASH));
  const start = SCRATCH, descriptor = start + 4;
  store<u32>(start, frame.MAGIC);
  store<u8>(descriptor, frame.VERSION | frame.INDEPENDENT | flags);
  store<u8>(descriptor, BLOCK_MAX_CODE, 1);
  store<u64>(descriptor, announced, 2);
  const length: u32 = hasSize ? 10 : 2;
  store<u8>(descriptor + length, frame.headerChecksum(descriptor, length));
  tellWritten(entry, 4 + length + 1);
}

/** OP_LZ4_WRITE. */
export function writeLz4(entry: Submission): void {
  const len = entry.len, hasSize = (flags & abi.LZ4_CONTENT_SIZE) != 0;
  if (!hasScratch(LZ4_WRITER) || len > BLOCK_MAX || (hasSize && len > announced)) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  if (hasSize) announced -= len;
  tellWritten(entry, len ? writeBlock(len) : 0);
}

/** OP_LZ4_WRITE_END. */
export function endWriting(entry: Submission): void {
  if (!hasScratch(LZ4_WRITER) || announced) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  store<u32>(SCRATCH, 0);
  store<u32>(SCRATCH, endHash(changetype<XxHash32>(CONTENT_HASH)), 4);
  tellWritten(entry, flags & frame.CONTENT_CHECKSUM ? 8 : 4);
  endScratch();
}

function tellWritten(entry: Submission, length: u32): void {
  entry.ptr = <u32> SCRATCH;
  entry.len = length;
  entry.result = 0;
}

/** A block with its size and its checksum; stored as it is when that is not longer. Returns how many bytes it has. */
function writeBlock(length: u32): u32 {
  const start = SCRATCH + 4;
  if (flags & frame.CONTENT_CHECKSUM) updateHash(changetype<XxHash32>(CONTENT_HASH), ARGUMENT_TEXT, length);
  let size = compress(ARGUMENT_TEXT, length, start);
  store<u32>(SCRATCH, size);
  if (size == 0) {
    memory.copy(start, ARGUMENT_TEXT, length);
    store<u32>(SCRATCH, length | frame.STORED);
    size = length;
  }
  if ((flags & frame.BLOCK_CHECKSUM) == 0) return 4 + size;
  store<u32>(start + size, hashOf(start, size));
  return 4 + size + 4;
}

// ── one block ────────────────────────────────────────────────────────────────────────────────────────────────────────

const HASH_BITS: u32 = 13;
/** For each hash the latest position that has it; 0, the first one, where there is none. */
const TABLE: usize = SCRATCH_END - (2 << 13);
const MATCH_MIN: u32 = 4;
/** The last match begins so many bytes before the end of a block; its last five bytes are literals. */
const MATCH_LAST: u32 = 12;
const LITERALS_LAST: u32 = 5;
/** Positions that are tried one by one before the steps grow; then so many of each step. */
const PATIENCE: u32 = 64;

/** The block's length, or 0 when it is not shorter than what it holds. Writes up to 15 bytes behind its end. */
function compress(source: usize, length: u32, to: usize): u32 {
  const end = source + length, start = to;
  const limit = to + length - 1;
  let anchor = source;
  if (length > MATCH_LAST) {
    memory.fill(TABLE, 0, 2 << HASH_BITS);
    const last = end - MATCH_LAST, matchEnd = end - LITERALS_LAST;
    let at = source + 1;
    let tries = PATIENCE;
    while (at <= last) {
      const slot = slotOf(load<u32>(at));
      let found = source + load<u16>(slot);
      store<u16>(slot, <u32> (at - source));
      if (load<u32>(found) != load<u32>(at)) {
        at += tries++ / PATIENCE;
        continue;
      }
      while (at > anchor && found > source && load<u8>(at - 1) == load<u8>(found - 1)) {
        at--;
        found--;
      }
      const behind = endOfMatch(at + MATCH_MIN, found + MATCH_MIN, matchEnd);
      to = writeSequence(to, limit, anchor, <u32> (at - anchor), <u32> (at - found), <u32> (behind - at));
      if (!to) return 0;
      anchor = at = behind;
      tries = PATIENCE;
      if (at <= last) store<u16>(slotOf(load<u32>(at - 2)), <u32> (at - 2 - source));
    }
  }
  to = writeLiterals(to, limit, anchor, <u32> (end - anchor), 0);
  return to ? <u32> (to - start) : 0;
}

function slotOf(four: u32): usize {
  return TABLE + (four * 2654435761 >>> (32 - HASH_BITS) << 1);
}

/** Where two runs, equal so far, begin to differ. */
function endOfMatch(at: usize, other: usize, end: usize): usize {
  while (at + 8 <= end) {
    const differing = load<u64>(at) ^ load<u64>(other);
    if (differing) return at + (<usize> ctz(differing) >> 3);
    at += 8;
    other += 8;
  }
  while (at < end && load<u8>(at) == load<u8>(other)) {
    at++;
    other++;
  }
  return at;
}

/** Returns where the next sequence goes; 0 when this one does not end before `limit`. */
function writeSequence(to: usize, limit: usize, literals: usize, count: u32, distance: u32, match: u32): usize {
  const more = match - MATCH_MIN;
  to = writeLiterals(to, limit, literals, count, min(more, 15));
  if (!to || to + 2 + more / 255 + 1 > limit) return 0;
  store<u16>(to, distance);
  return writeCount(to + 2, more);
}

/** A token with the low half `low`, and its literals. */
function writeLiterals(to: usize, limit: usize, literals: usize, count: u32, low: u32): usize {
  if (to + 1 + count / 255 + 1 + count > limit + 1) return 0;
  store<u8>(to, min(count, 15) << 4 | low);
  to = writeCount(to + 1, count);
  if (count > 64) memory.copy(to, literals, count);
  else copy16(to, literals, count);
  return to + count;
}

/** The further bytes of a count. */
function writeCount(to: usize, count: u32): usize {
  if (count < 15) return to;
  count -= 15;
  for (; count >= 255; count -= 255) store<u8>(to++, 255);
  store<u8>(to, count);
  return to + 1;
}
