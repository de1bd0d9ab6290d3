// The phases of LZ4 frames (lz4_frame.ts): each reads a word, a header, or as much of a block as input and output allow, and
// says which one is next. So input and output may end anywhere. `lz4.ts` brings the one and takes the other.

import * as abi from "./abi";
import { BLOCK_DONE, BLOCK_IS_BAD, BLOCK_IS_FULL, Lz4Block, readBlock, startBlock } from "./lz4_block";
import * as frame from "./lz4_frame";
import { SCRATCH_END } from "./scratch";
import { endHash, startHash, updateHash, XxHash32 } from "./xxhash32";

/** The frames of one body. There is one, because a body is read from its first byte to its last without another between. */
@unmanaged
export class Reading {
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

const SKIPPABLE: u32 = 0x184d2a50;
const SKIPPABLE_MASK: u32 = 0xfffffff0;

export function reading(): Reading {
  return changetype<Reading>(READING);
}

export function theBlock(): Lz4Block {
  return changetype<Lz4Block>(BLOCK);
}

/** No frame has been read yet. */
export function startFrames(): void {
  const state = reading();
  state.phase = MAGIC;
  state.flags = 0;
  state.hasFrame = 0;
}

/** Reads on, as far as input and output go: LZ4_*, or an error. */
export function readFrames(isLast: bool): i32 {
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

/** Adds what has come out to the checksum of the content, if there is one. */
export function hashContent(): void {
  const state = reading(), out = theBlock().out;
  if (state.flags & frame.CONTENT_CHECKSUM) {
    updateHash(changetype<XxHash32>(CONTENT_HASH), state.hashed, out - state.hashed);
  }
  state.hashed = out;
}
