// The leaves of an offset tree: 64 offsets each, as bitmaps. They lie in a ring, in the order of their offsets, behind a
// header in the same block. Gaps between leaves cost nothing.
//
//   block ─► header │ Leaf │ Leaf │ … `capacity` of them; the first is at `head`, they wrap around
//
// The first and the last leaf are never empty (those are dropped at once: `trim`), so the lowest and the highest offset are
// one instruction away; leaves between them may be empty until they reach an end, or until room is needed.

import * as abi from "./abi";
import { allocateBlock, freeBlock } from "./arena";

/** Where the leaves are. Begins the header; `offset_tree.ts` owns the rest of that. */
@unmanaged
export class LeafRing {
  /** Place of the first leaf in the ring. */
  head: u32;
  /** Leaves in use. */
  leaves: u32;
  /** Leaves that the block has room for. */
  capacity: u32;
}

/** 64 offsets, from a multiple of 64 on. Behind it: 64 sizes, u32 each, good where the bit in `present` is set. */
@unmanaged
export class Leaf {
  base: i64;
  present: u64;
  taken: u64;
}

/** Bytes of the header. */
export const LEAVES_HEADER: u32 = 64;

const LEAVES_MAX: u32 = abi.QUEUE_LEAVES;
const SIZES: usize = offsetof<Leaf>();
const LEAF: u32 = offsetof<Leaf>() + 64 * 4;
const FIRST_BLOCK: u32 = abi.BLOCK_MIN - abi.SLACK;
const FIRST_LEAVES: u32 = (FIRST_BLOCK - LEAVES_HEADER) / LEAF;

/** An empty ring in a block of its own, or 0 when there is no block. The rest of the header is not cleared. */
export function openLeaves(): u32 {
  const block = allocateBlock(FIRST_BLOCK);
  if (!block) return 0;
  const ring = changetype<LeafRing>(block);
  ring.capacity = FIRST_LEAVES;
  dropLeaves(ring);
  return block;
}

/** Drops all leaves. */
export function dropLeaves(ring: LeafRing): void {
  ring.head = 0;
  ring.leaves = 0;
}

/** The leaf at `index`, counted from the first. */
export function leafAt(ring: LeafRing, index: u32): Leaf {
  let place = ring.head + index;
  if (place >= ring.capacity) place -= ring.capacity;
  return changetype<Leaf>(changetype<usize>(ring) + LEAVES_HEADER + place * LEAF);
}

export function bitOf(offset: i64): u64 {
  return <u64> 1 << (offset & 63);
}

/** Where the size of an offset lies. */
export function sizeAt(leaf: Leaf, offset: i64): usize {
  return changetype<usize>(leaf) + SIZES + ((<u32> offset & 63) << 2);
}

/** The leaf of `base`, null when there is none. */
export function findLeaf(ring: LeafRing, base: i64): Leaf | null {
  // In a queue without gaps it lies here.
  const dense = leavesBetween(leafAt(ring, 0).base, base);
  if (dense < ring.leaves) {
    const leaf = leafAt(ring, <u32> dense);
    if (leaf.base == base) return leaf;
  }
  return searchLeaf(ring, base);
}

/** The same for a leaf that may be anywhere. */
export function searchLeaf(ring: LeafRing, base: i64): Leaf | null {
  const index = indexOfLeaf(ring, base);
  if (index == ring.leaves) return null;
  const leaf = leafAt(ring, index);
  return leaf.base == base ? leaf : null;
}

/** The leaf of `base`, made if it is not there; null when the ring is full: see `makeRoom`. Mostly it is the newest. */
export function leafToPut(ring: LeafRing, base: i64): Leaf | null {
  if (ring.leaves) {
    const newest = leafAt(ring, ring.leaves - 1);
    if (newest.base == base) return newest;
  }
  const index = indexOfLeaf(ring, base);
  if (index < ring.leaves) {
    const leaf = leafAt(ring, index);
    if (leaf.base == base) return leaf;
  }
  return ring.leaves < ring.capacity ? insert(ring, index, base) : null;
}

/** Drops the empty leaves at both ends. */
export function trim(ring: LeafRing): void {
  while (ring.leaves && !leafAt(ring, 0).present) {
    ring.head = ring.head + 1 == ring.capacity ? 0 : ring.head + 1;
    ring.leaves--;
  }
  while (ring.leaves && !leafAt(ring, ring.leaves - 1).present) ring.leaves--;
  if (!ring.leaves) ring.head = 0;
}

/**
 * Makes room for a leaf in a full ring: drops the empty leaves in the middle, and if that is not half of them, moves the
 * block into one twice as large. Returns where it is now, or 0: then the ring is full, or there is no block.
 */
export function makeRoom(ring: LeafRing): u32 {
  squeeze(ring);
  const moved = ring.leaves > ring.capacity >> 1 && ring.capacity < LEAVES_MAX ? grow(ring) : 0;
  if (moved) return moved;
  return ring.leaves < ring.capacity ? <u32> changetype<usize>(ring) : 0;
}

/** Whether the ring has left its first block. */
export function hasGrown(ring: LeafRing): bool {
  return ring.capacity > FIRST_LEAVES;
}

/** Whether the ring has all the leaves it may have. */
export function isFull(ring: LeafRing): bool {
  return ring.leaves == LEAVES_MAX;
}

/** The old block is freed. Returns the new one, or 0 when there is none. */
function grow(ring: LeafRing): u32 {
  const size = nextPowerOf2(LEAVES_HEADER + ring.capacity * LEAF + abi.SLACK) * 2 - abi.SLACK;
  const block = allocateBlock(size);
  if (!block) return 0;
  const grown = changetype<LeafRing>(block);
  memory.copy(block, changetype<usize>(ring), LEAVES_HEADER);
  grown.capacity = min((size - LEAVES_HEADER) / LEAF, LEAVES_MAX);
  grown.head = 0;
  for (let i: u32 = 0; i < ring.leaves; i++) {
    memory.copy(changetype<usize>(leafAt(grown, i)), changetype<usize>(leafAt(ring, i)), LEAF);
  }
  freeBlock(<u32> changetype<usize>(ring));
  return block;
}

function nextPowerOf2(size: u32): u32 {
  return <u32> 1 << (32 - clz(size - 1));
}

/** How many leaves further on `base` lies than `first` when there are no gaps; more than there can be when it is below. */
function leavesBetween(first: i64, base: i64): u64 {
  return <u64> (base - first) >> 6;
}

/** Index of the first leaf whose base is not below `base`, `leaves` when all are. */
export function indexOfLeaf(ring: LeafRing, base: i64): u32 {
  const leaves = ring.leaves;
  // New offsets come last.
  if (!leaves || leafAt(ring, leaves - 1).base < base) return leaves;
  const first = leafAt(ring, 0).base;
  if (base <= first) return 0;
  // With gaps it lies before its place in a queue without, never behind.
  let low: u32 = 1, high = <u32> min<u64>(leavesBetween(first, base), leaves - 1);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (leafAt(ring, middle).base < base) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Makes a leaf at `index`. Rarely in the middle: then the shorter side moves. */
function insert(ring: LeafRing, index: u32, base: i64): Leaf {
  if (index < ring.leaves >> 1 || (!index && ring.leaves)) {
    ring.head = ring.head ? ring.head - 1 : ring.capacity - 1;
    for (let i: u32 = 0; i < index; i++) move(ring, i + 1, i);
  } else {
    for (let i = ring.leaves; i > index; i--) move(ring, i - 1, i);
  }
  ring.leaves++;
  const leaf = leafAt(ring, index);
  leaf.base = base;
  leaf.present = 0;
  leaf.taken = 0;
  return leaf;
}

/** Drops the empty leaves in the middle. */
function squeeze(ring: LeafRing): void {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < ring.leaves; i++) {
    if (!leafAt(ring, i).present) continue;
    if (i != kept) move(ring, i, kept);
    kept++;
  }
  ring.leaves = kept;
}

function move(ring: LeafRing, from: u32, to: u32): void {
  memory.copy(changetype<usize>(leafAt(ring, to)), changetype<usize>(leafAt(ring, from)), LEAF);
}
