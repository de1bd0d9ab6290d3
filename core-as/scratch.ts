// Memory for what takes several commands and ends with the last of them: reading LZ4 frames, writing one, a hash ring; and for
// the folding of a long checksum. They have one memory together, because the host runs each of them to its end without another
// between.

import { SLACK } from "./shared";

export const SCRATCH_BYTES: u32 = 114688;

export const SCRATCH: usize = memory.data(SCRATCH_BYTES + SLACK, 16);
export const SCRATCH_END: usize = SCRATCH + SCRATCH_BYTES;

const NOBODY: u32 = 0;
export const LZ4_READER: u32 = 1;
export const LZ4_WRITER: u32 = 2;
export const RING: u32 = 3;
export const CHECKSUM: u32 = 4;

let user: u32 = NOBODY;

/** Whoever used the memory before has lost it. */
export function beginScratch(who: u32): void {
  user = who;
}

export function endScratch(): void {
  user = NOBODY;
}

/** Whether nobody else has begun. */
export function hasScratch(who: u32): bool {
  return user == who;
}
