// LZ4 frames, read in parts of any size: input goes into the argument area, output comes out of the scratch memory, which
// keeps the last 64 KiB for the matches to come. So a body of any length needs the same memory and no block of the arena.
// Read is what the Java client reads: frames back to back, skippable frames, all checksums; and linked blocks, which it does
// not. Not read: dictionaries.

import * as abi from "./abi";
import { BLOCK_DONE, BLOCK_IS_BAD, BLOCK_IS_FULL, Lz4Block, readBlock, startBlock } from "./lz4_block";
import * as frame from "./lz4_frame";
import { beginScratch, endScratch, hasScratch, LZ4_READER, SCRATCH, SCRATCH_END } from "./scratch";
import { ARGUMENT_TEXT, Submission } from "./shared";
import { endHash, startHash, updateHash, XxHash32 } from "./xxhash32";

/** The frames of one body. There is one, because a body is read from its first byte to its last without another between. */
@unmanaged
class Reading {
  phase: u32;
  flags: u32;
  /** Largest block of this frame. */
  blockMax: u32;
  /** What the frame says about its length, if it does. */
  contentSize: u64;
  /** Bytes that came out before this frame, and all that were handed out. */
  before: u32;
  handedOut: u32;
  /** Address of the first byte that was not handed out; the checksum of the content goes up to `hashed`. */
  ready: u32;
  hashed: u32;
  /** Addresses that the output must not pass: of the body, of the block. */
  bodyStop: u32;
  blockStop: u32;
  /** Where a match of this frame may begin. */
  floor: u32;
  /** Whether a frame has ended, so that the body may. */
  hasFrame: u32;
}

const MAGIC: u32 = 0;
const HEADER: u32 = 1;
const SKIP_SIZE: u32 = 2;
const SKIP: u32 = 3;
const BLOCK_SIZE: u32 = 4;
const STORED: u32 = 5;
const COMPRESSED: u32 = 6;
const BLOCK_CHECKSUM: u32 = 7;
const CONTENT_CHECKSUM: u32 = 8;

const READING: usize = memory.data(offsetof<Reading>(), 16);
const BLOCK: usize = memory.data(offsetof<Lz4Block>(), 16);
const BLOCK_HASH: usize = memory.data(offsetof<XxHash32>(), 16);
const CONTENT_HASH: usize = memory.data(offsetof<XxHash32>(), 16);

/** A match reaches so far back. */
const HISTORY: u32 = 65536;
/** Less room is not left for what comes out. */
const ROOM_MIN: u32 = 32768;
const SKIPPABLE: u32 = 0x184d2a50;
const SKIPPABLE_MASK: u32 = 0xfffffff0;
const LENGTH_MAX: u32 = 1 << 30;
const INPUT_END: u32 = <u32> ARGUMENT_TEXT + abi.ARGUMENT_BYTES;

function reading(): Reading {
  return changetype<Reading>(READING);
}

function theBlock(): Lz4Block {
  return changetype<Lz4Block>(BLOCK);
}

/** OP_LZ4_READ_BEGIN. */
export function beginReading(entry: Submission): void {
  if (!(entry.value >= 0 && entry.value <= <f64> LENGTH_MAX)) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  const state = reading(), block = theBlock(), scratch = <u32> SCRATCH;
  beginScratch(LZ4_READER);
  state.phase = MAGIC;
  state.flags = 0;
  state.hasFrame = 0;
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
  entry.result = read((<i32> entry.flags & abi.LZ4_LAST) != 0);
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

// ── the phases of a frame ────────────────────────────────────────────────────────────────────────────────────────────

/** Reads on, as far as input and output go: LZ4_*, or an error. */
function read(isLast: bool): i32 {
  const state = reading(), block = theBlock();
  let result = abi.LZ4_DONE;
  while (result == abi.LZ4_DONE) {
    const isEnd = state.phase == MAGIC && isLast && block.at == block.end;
    if (isEnd) return state.hasFrame ? abi.LZ4_DONE : abi.E_BAD_LZ4;
    result = block.end - block.at < neededBytes() ? abi.LZ4_MORE_INPUT : readPhase();
  }
  return result == abi.LZ4_MORE_INPUT && isLast ? abi.E_BAD_LZ4 : result;
}

function readPhase(): i32 {
  switch (reading().phase) {
    case STORED:
      return readStored();
    case COMPRESSED:
      return readCompressed();
    case SKIP:
      return skip();
    case HEADER:
      return readHeader();
    default:
      return readWord();
  }
}

/** What the phase reads in one piece. */
function neededBytes(): u32 {
  const state = reading();
  switch (state.phase) {
    case STORED:
    case COMPRESSED:
    case SKIP:
      return 0;
    case HEADER:
      // The flags tell how long the header is.
      return theBlock().at == theBlock().end ? 1 : descriptorLength(load<u8>(theBlock().at)) + 1;
    default:
      return 4;
  }
}

function descriptorLength(flags: u32): u32 {
  return flags & frame.CONTENT_SIZE ? 2 + 8 : 2;
}

/** A phase of one word. */
function readWord(): i32 {
  const state = reading(), block = theBlock(), word = load<u32>(block.at);
  block.at += 4;
  switch (state.phase) {
    case MAGIC:
      if (word == frame.MAGIC) state.phase = HEADER;
      else if ((word & SKIPPABLE_MASK) == SKIPPABLE) state.phase = SKIP_SIZE;
      else return abi.E_BAD_LZ4;
      return abi.LZ4_DONE;
    case SKIP_SIZE:
      block.left = word;
      state.phase = SKIP;
      return abi.LZ4_DONE;
    case BLOCK_SIZE:
      return word & ~frame.STORED ? beginBlock(word) : endBlocks();
    case BLOCK_CHECKSUM:
      state.phase = BLOCK_SIZE;
      return word == endHash(changetype<XxHash32>(BLOCK_HASH)) ? abi.LZ4_DONE : abi.E_BAD_LZ4;
    default:
      hashContent();
      return word == endHash(changetype<XxHash32>(CONTENT_HASH)) ? endFrame() : abi.E_BAD_LZ4;
  }
}

function skip(): i32 {
  const block = theBlock(), length = min(block.left, block.end - block.at);
  block.at += length;
  block.left -= length;
  if (block.left) return abi.LZ4_MORE_INPUT;
  return endFrame();
}

function readHeader(): i32 {
  const state = reading(), block = theBlock(), at = block.at;
  const flags: u32 = load<u8>(at), size: u32 = load<u8>(at, 1), length = descriptorLength(flags);
  if ((flags & (frame.VERSION_MASK | frame.FLAGS_REFUSED)) != frame.VERSION) return abi.E_BAD_LZ4;
  if (size & 0x8f || size < 0x40) return abi.E_BAD_LZ4;
  if (load<u8>(at + length) != frame.headerChecksum(at, length)) return abi.E_BAD_LZ4;
  state.flags = flags;
  state.blockMax = 1 << (8 + 2 * (size >>> 4));
  state.contentSize = load<u64>(at, 2);
  if (flags & frame.CONTENT_SIZE && state.contentSize > state.bodyStop - block.out) return abi.E_LZ4_TOO_LONG;
  state.before = bytesOut();
  state.hashed = block.out;
  state.floor = block.out;
  startHash(changetype<XxHash32>(CONTENT_HASH));
  state.phase = BLOCK_SIZE;
  block.at = at + length + 1;
  return abi.LZ4_DONE;
}

function beginBlock(word: u32): i32 {
  const state = reading(), block = theBlock(), length = word & ~frame.STORED;
  if (length > state.blockMax) return abi.E_BAD_LZ4;
  startBlock(block, length);
  startHash(changetype<XxHash32>(BLOCK_HASH));
  block.floor = state.flags & frame.INDEPENDENT ? block.out : state.floor;
  state.blockStop = block.out + state.blockMax;
  state.phase = word & frame.STORED ? STORED : COMPRESSED;
  return abi.LZ4_DONE;
}

function readStored(): i32 {
  const state = reading(), block = theBlock(), stop = min(state.bodyStop, <u32> SCRATCH_END);
  const at = block.at, length = min(block.left, min(block.end - at, stop - block.out));
  memory.copy(block.out, at, length);
  block.at += length;
  block.left -= length;
  block.out += length;
  hashBlock(at);
  if (block.left == 0) return endBlock();
  return block.out == stop ? full() : abi.LZ4_MORE_INPUT;
}

function readCompressed(): i32 {
  const state = reading(), block = theBlock(), at = block.at;
  block.stop = min(min(state.bodyStop, state.blockStop), <u32> SCRATCH_END);
  const result = readBlock(block);
  hashBlock(at);
  if (result == BLOCK_DONE) return endBlock();
  if (result == BLOCK_IS_BAD) return abi.E_BAD_LZ4;
  return result == BLOCK_IS_FULL ? full() : abi.LZ4_MORE_INPUT;
}

/** The output ends where there is more to come: of the body, of its block, or only of the room for it. */
function full(): i32 {
  const state = reading(), out = theBlock().out;
  if (out == state.bodyStop) return abi.E_LZ4_TOO_LONG;
  return out == state.blockStop ? abi.E_BAD_LZ4 : abi.LZ4_MORE_OUTPUT;
}

function endBlock(): i32 {
  const state = reading();
  state.phase = state.flags & frame.BLOCK_CHECKSUM ? BLOCK_CHECKSUM : BLOCK_SIZE;
  return abi.LZ4_DONE;
}

function endBlocks(): i32 {
  const state = reading();
  if (state.flags & frame.CONTENT_SIZE && state.contentSize != bytesOut() - state.before) return abi.E_BAD_LZ4;
  if ((state.flags & frame.CONTENT_CHECKSUM) == 0) return endFrame();
  state.phase = CONTENT_CHECKSUM;
  return abi.LZ4_DONE;
}

function endFrame(): i32 {
  const state = reading();
  state.flags = 0;
  state.hasFrame = 1;
  state.phase = MAGIC;
  return abi.LZ4_DONE;
}

/** Bytes of all frames so far. */
function bytesOut(): u32 {
  const state = reading();
  return state.handedOut + theBlock().out - state.ready;
}

/** The input from `from` on, as far as it was read, is part of a block. */
function hashBlock(from: u32): void {
  if ((reading().flags & frame.BLOCK_CHECKSUM) == 0) return;
  updateHash(changetype<XxHash32>(BLOCK_HASH), from, theBlock().at - from);
}

function hashContent(): void {
  const state = reading(), out = theBlock().out;
  if (state.flags & frame.CONTENT_CHECKSUM) {
    updateHash(changetype<XxHash32>(CONTENT_HASH), state.hashed, out - state.hashed);
  }
  state.hashed = out;
}
