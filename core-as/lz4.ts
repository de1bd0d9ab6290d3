// LZ4 frames, read in parts of any size: input goes into the argument area, output comes out of the scratch memory, which
// keeps the last 64 KiB for the matches to come. So a body of any length needs the same memory and no block of the arena.
// Read is what the Java client reads: frames back to back, skippable frames, all checksums; and linked blocks, which it does
// not. Not read: dictionaries.

import * as abi from "./abi";
import { hashContent, readFrames, reading, startFrames, theBlock } from "./lz4_phases";
import { beginScratch, endScratch, hasScratch, LZ4_READER, SCRATCH, SCRATCH_END } from "./scratch";
import { ARGUMENT_TEXT, Submission } from "./shared";

/** A match reaches so far back. */
const HISTORY: u32 = 65536;
/** Less room is not left for what comes out. */
const ROOM_MIN: u32 = 32768;
const LENGTH_MAX: u32 = 1 << 30;
const INPUT_END: u32 = <u32> ARGUMENT_TEXT + abi.ARGUMENT_BYTES;

/** OP_LZ4_READ_BEGIN. */
export function beginReading(entry: Submission): void {
  if (!(entry.value >= 0 && entry.value <= <f64> LENGTH_MAX)) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  const state = reading(), block = theBlock(), scratch = <u32> SCRATCH;
  beginScratch(LZ4_READER);
  startFrames();
  state.handedOut = 0;
  state.ready = scratch;
  state.hashed = scratch;
  state.bodyStop = scratch + <u32> entry.value;
  state.blockStop = state.bodyStop;
  state.floor = scratch;
  block.out = scratch;
  block.at = <u32> ARGUMENT_TEXT;
  block.end = <u32> ARGUMENT_TEXT;
  tellRoom(entry);
  entry.result = 0;
}

/** OP_LZ4_READ. */
export function readLz4(entry: Submission): void {
  const block = theBlock();
  if (!hasScratch(LZ4_READER) || entry.len > INPUT_END - block.end) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  block.end += entry.len;
  makeRoom();
  entry.result = readFrames((<i32> entry.flags & abi.LZ4_LAST) != 0);
  handOut(entry);
  if (entry.result == abi.LZ4_MORE_INPUT) moveRest();
  else if (entry.result != abi.LZ4_MORE_OUTPUT) endScratch();
  tellRoom(entry);
}

/** Where the next input goes. */
function tellRoom(entry: Submission): void {
  const end = theBlock().end;
  entry.handle = end;
  entry.token = INPUT_END - end;
}

/** What has come out since the last command, unless something was wrong with it. */
function handOut(entry: Submission): void {
  const state = reading(), out = theBlock().out;
  hashContent();
  entry.ptr = state.ready;
  entry.len = entry.result < 0 ? 0 : out - state.ready;
  state.handedOut += out - state.ready;
  state.ready = out;
}

/** What was not read moves to the front. */
function moveRest(): void {
  const block = theBlock(), rest = block.end - block.at;
  memory.copy(ARGUMENT_TEXT, block.at, rest);
  block.at = <u32> ARGUMENT_TEXT;
  block.end = <u32> ARGUMENT_TEXT + rest;
}

/** Moves the history to the front when little room is left behind it. All before `ready` has been taken. */
function makeRoom(): void {
  const state = reading(), block = theBlock(), scratch = <u32> SCRATCH;
  if (block.out < <u32> SCRATCH_END - ROOM_MIN) return;
  const moved = block.out - HISTORY - scratch;
  memory.copy(scratch, scratch + moved, HISTORY);
  block.out -= moved;
  block.floor = movedBack(block.floor, moved);
  state.floor = movedBack(state.floor, moved);
  state.ready -= moved;
  state.hashed -= moved;
  state.bodyStop -= moved;
  state.blockStop -= moved;
}

function movedBack(address: u32, moved: u32): u32 {
  return max(address, <u32> SCRATCH + moved) - moved;
}
