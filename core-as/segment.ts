// Outbound segments: blocks that frames are encoded into, back to back, and that a socket writes as one run.

import * as abi from "./abi";
import { giveBlock, isBlock, OWNER_SEGMENT, takeBlock } from "./arena";
import { panic, PANIC_SEGMENT } from "./panic";
import { SLACK, Submission } from "./shared";
import { forgetTarget } from "./target";

/** Start of a segment's block; its bytes follow at SEGMENT_DATA. The core owns both numbers, the host reads them. */
@unmanaged
export class Segment {
  /** Bytes encoded so far. */
  length: u32;
  capacity: u32;
}

const CAPACITY: u32 = abi.SEGMENT_BYTES - abi.SEGMENT_DATA - abi.SLACK;

if (offsetof<Segment>("length") != abi.SEGMENT_LENGTH) ERROR("Segment.length moved");
if (offsetof<Segment>("capacity") != abi.SEGMENT_CAPACITY) ERROR("Segment.capacity moved");
if (<i32> offsetof<Segment>() > abi.SEGMENT_DATA) ERROR("Segment reaches into its bytes");
if (abi.SEGMENT_DATA & 15) ERROR("SEGMENT_DATA is not aligned");

/** OP_SEGMENT_OPEN. */
export function openSegment(entry: Submission): void {
  const block = takeBlock(abi.SEGMENT_BYTES - SLACK, OWNER_SEGMENT);
  if (!block) {
    entry.result = abi.E_NO_ROOM;
    return;
  }
  const segment = changetype<Segment>(block);
  segment.length = 0;
  segment.capacity = CAPACITY;
  entry.result = block;
}

/** OP_SEGMENT_FREE. */
export function freeSegment(entry: Submission): void {
  entry.result = abi.E_BAD_HANDLE;
  if (!isBlock(entry.handle, OWNER_SEGMENT)) return;
  giveBlock(entry.handle, OWNER_SEGMENT);
  forgetTarget();
  entry.result = 0;
}

/** OP_SEGMENT_RESET. */
export function resetSegment(entry: Submission): void {
  entry.result = abi.E_BAD_HANDLE;
  if (!isBlock(entry.handle, OWNER_SEGMENT)) return;
  changetype<Segment>(entry.handle).length = 0;
  entry.result = 0;
}

/** OP_APPEND: room for a frame that is ready. */
export function appendFrame(entry: Submission): void {
  entry.result = abi.E_BAD_POINTER;
  if (!isBlock(entry.ptr, OWNER_SEGMENT)) return;
  const segment = changetype<Segment>(entry.ptr);
  entry.result = abi.E_NO_ROOM;
  if (entry.len > roomOf(segment)) return;
  entry.result = <i32> endOf(segment);
  segment.length += entry.len;
}

export function roomOf(segment: Segment): u32 {
  if (segment.length > CAPACITY) panic(PANIC_SEGMENT, segment.length);
  return CAPACITY - segment.length;
}

/** Where the next frame starts. */
export function endOf(segment: Segment): usize {
  return changetype<usize>(segment) + abi.SEGMENT_DATA + segment.length;
}
