// The offset tree of one process queue, two levels: a ring of leaves in offset order, and in each leaf 64 offsets as
// bitmaps. It lies in one block, the ring behind the tree. Gaps between leaves cost nothing.
//
//   block ─► OffsetTree │ Leaf │ Leaf │ … `capacity` of them; the first is at `head`, they wrap around
//
// The first and the last leaf are never empty (those are dropped at once), so the lowest and the highest offset are one
// instruction away; leaves between them may be empty until they reach an end, or until room is needed.

import * as abi from "./abi";
import { allocateBlock, freeBlock } from "./arena";

/** One process queue's offsets. Lives at the start of its block; owned by `process_queue.ts`. */
@unmanaged
export class OffsetTree {
  /** Sum of the sizes of all offsets. */
  bytes: u64;
  /** Highest offset ever put, -1 before the first. */
  max: i64;
  count: u32;
  taken: u32;
  /** Place of the first leaf in the ring. */
  head: u32;
  /** Leaves in use. */
  leaves: u32;
  /** Leaves that the block has room for. */
  capacity: u32;
}

/** 64 offsets, from a multiple of 64 on. Behind it: 64 sizes, u32 each, good where the bit in `present` is set. */
@unmanaged
class Leaf {
  base: i64;
  present: u64;
  taken: u64;
}

const LEAVES_MAX: u32 = abi.QUEUE_LEAVES;
const SIZES: usize = offsetof<Leaf>();
const LEAF: u32 = offsetof<Leaf>() + 64 * 4;
/** Where the ring starts, behind the tree. */
const RING: u32 = 64;
const FIRST_BLOCK: u32 = abi.BLOCK_MIN - abi.SLACK;
const FIRST_LEAVES: u32 = (FIRST_BLOCK - RING) / LEAF;

if (offsetof<OffsetTree>() > RING) ERROR("OffsetTree does not fit before its ring");

/** A new, empty tree in a block of its own, or 0 when there is no block. */
export function openTree(): u32 {
  const block = allocateBlock(FIRST_BLOCK);
  if (!block) return 0;
  const tree = changetype<OffsetTree>(block);
  tree.capacity = FIRST_LEAVES;
  clearTree(tree);
  return block;
}

/** Forgets all offsets, also the highest. */
export function clearTree(tree: OffsetTree): void {
  tree.bytes = 0;
  tree.max = -1;
  tree.count = 0;
  tree.taken = 0;
  tree.head = 0;
  tree.leaves = 0;
}

/** Enters one offset. Returns 1 when it is new, 0 when it was there, E_NO_ROOM when the ring is full: see `makeRoom`. */
export function putOffset(tree: OffsetTree, offset: i64, size: u32): i32 {
  const leaf = leafToPut(tree, offset & ~63);
  if (!leaf) return abi.E_NO_ROOM;
  if (offset > tree.max) tree.max = offset;
  const bit = bitOf(offset);
  if (leaf.present & bit) return 0;
  leaf.present |= bit;
  store<u32>(sizeAt(leaf, offset), size);
  tree.bytes += size;
  tree.count++;
  return 1;
}

/** Removes one offset, if it is there. `trim` afterwards. */
export function removeOffset(tree: OffsetTree, offset: i64): void {
  const base = offset & ~63;
  const index = search(tree, base);
  if (index == tree.leaves) return;
  const leaf = leafAt(tree, index);
  const bit = bitOf(offset);
  if (leaf.base != base || !(leaf.present & bit)) return;
  tree.taken -= <u32> ((leaf.taken & bit) != 0);
  leaf.present &= ~bit;
  leaf.taken &= ~bit;
  tree.bytes -= load<u32>(sizeAt(leaf, offset));
  tree.count--;
}

/** Removes those of `count` offsets from `first` on that are there, a leaf at a time. `trim` afterwards. */
export function removeRun(tree: OffsetTree, first: i64, count: u32): void {
  if (!count) return;
  const last = count - 1 > <u64> (i64.MAX_VALUE - first) ? i64.MAX_VALUE : first + <i64> (count - 1);
  for (let index = search(tree, first & ~63); index < tree.leaves; index++) {
    const leaf = leafAt(tree, index), base = leaf.base;
    if (base > last) return;
    let bits = leaf.present;
    if (base < first) bits &= <u64> -1 << (first - base);
    if (last - base < 63) bits &= ~(<u64> -1 << (last - base + 1));
    tree.count -= <u32> popcnt(bits);
    tree.taken -= <u32> popcnt(leaf.taken & bits);
    leaf.present &= ~bits;
    leaf.taken &= ~bits;
    for (; bits; bits &= bits - 1) tree.bytes -= load<u32>(sizeAt(leaf, <i64> ctz(bits)));
  }
}

/** Drops the empty leaves at both ends. */
export function trim(tree: OffsetTree): void {
  while (tree.leaves && !leafAt(tree, 0).present) {
    tree.head = tree.head + 1 == tree.capacity ? 0 : tree.head + 1;
    tree.leaves--;
  }
  while (tree.leaves && !leafAt(tree, tree.leaves - 1).present) tree.leaves--;
  if (!tree.leaves) tree.head = 0;
}

/** The lowest offset in the tree; only when it is not empty. */
export function lowestOffset(tree: OffsetTree): i64 {
  const leaf = leafAt(tree, 0);
  return leaf.base + <i64> ctz(leaf.present);
}

/** Highest less lowest of the offsets that are not taken, 0 when all are: what an orderly consumer works on does not count. */
export function spanOf(tree: OffsetTree): i64 {
  if (tree.count == tree.taken) return 0;
  let first: u32 = 0, last = tree.leaves - 1;
  while (!freeIn(leafAt(tree, first))) first++;
  while (!freeIn(leafAt(tree, last))) last--;
  const low = leafAt(tree, first), high = leafAt(tree, last);
  return (high.base + 63 - <i64> clz(freeIn(high))) - (low.base + <i64> ctz(freeIn(low)));
}

/** Bits of the offsets that are not taken. */
function freeIn(leaf: Leaf): u64 {
  return leaf.present & ~leaf.taken;
}

/** Takes the lowest offsets that are not taken, at most `most`, and writes a pair for each. Returns their number. */
export function takeOffsets(tree: OffsetTree, most: u32, pairs: usize): u32 {
  let count: u32 = 0;
  for (let i: u32 = 0; i < tree.leaves && count < most; i++) {
    const leaf = leafAt(tree, i);
    for (let free = freeIn(leaf); free && count < most; free &= free - 1) {
      const offset = leaf.base + <i64> ctz(free);
      const pair = pairs + count * abi.PAIR_SIZE;
      store<i64>(pair, offset, abi.PAIR_OFFSET);
      store<u32>(pair, load<u32>(sizeAt(leaf, offset)), abi.PAIR_BYTES);
      leaf.taken |= bitOf(offset);
      count++;
    }
  }
  tree.taken += count;
  return count;
}

/** Removes all that are taken; `trim` afterwards. Returns the highest of them, -1 when there was none. */
export function removeTaken(tree: OffsetTree): i64 {
  let highest: i64 = -1;
  for (let i: u32 = 0; tree.taken; i++) {
    const leaf = leafAt(tree, i);
    const taken = leaf.taken;
    if (!taken) continue;
    highest = leaf.base + 63 - <i64> clz(taken);
    for (let rest = taken; rest; rest &= rest - 1) tree.bytes -= load<u32>(sizeAt(leaf, <i64> ctz(rest)));
    tree.count -= <u32> popcnt(taken);
    tree.taken -= <u32> popcnt(taken);
    leaf.present &= ~taken;
    leaf.taken = 0;
  }
  return highest;
}

/** No offset is taken any more. */
export function untakeAll(tree: OffsetTree): void {
  for (let i: u32 = 0; tree.taken; i++) {
    const leaf = leafAt(tree, i);
    tree.taken -= <u32> popcnt(leaf.taken);
    leaf.taken = 0;
  }
}

/** This offset is not taken any more. False when it was not. */
export function untake(tree: OffsetTree, offset: i64): bool {
  const base = offset & ~63;
  const index = search(tree, base);
  if (index == tree.leaves) return false;
  const leaf = leafAt(tree, index);
  const bit = bitOf(offset);
  if (leaf.base != base || !(leaf.taken & bit)) return false;
  leaf.taken &= ~bit;
  tree.taken--;
  return true;
}

/**
 * Makes room for a leaf in a full ring: drops the empty leaves in the middle, and if that is not half of them, moves the
 * tree into a block twice as large. Returns where the tree is now, or 0: then it is full, or there is no block.
 */
export function makeRoom(tree: OffsetTree): u32 {
  squeeze(tree);
  const moved = tree.leaves > tree.capacity >> 1 && tree.capacity < LEAVES_MAX ? grow(tree) : 0;
  if (moved) return moved;
  return tree.leaves < tree.capacity ? <u32> changetype<usize>(tree) : 0;
}

/** Whether the tree has left its first block. */
export function hasGrown(tree: OffsetTree): bool {
  return tree.capacity > FIRST_LEAVES;
}

/** Whether the ring has all the leaves it may have. */
export function isFull(tree: OffsetTree): bool {
  return tree.leaves == LEAVES_MAX;
}

/** The old block is freed. Returns the new one, or 0 when there is none. */
function grow(tree: OffsetTree): u32 {
  const size = nextPowerOf2(RING + tree.capacity * LEAF + abi.SLACK) * 2 - abi.SLACK;
  const block = allocateBlock(size);
  if (!block) return 0;
  const grown = changetype<OffsetTree>(block);
  memory.copy(block, changetype<usize>(tree), offsetof<OffsetTree>());
  grown.capacity = min((size - RING) / LEAF, LEAVES_MAX);
  grown.head = 0;
  for (let i: u32 = 0; i < tree.leaves; i++) {
    memory.copy(changetype<usize>(leafAt(grown, i)), changetype<usize>(leafAt(tree, i)), LEAF);
  }
  freeBlock(<u32> changetype<usize>(tree));
  return block;
}

function nextPowerOf2(size: u32): u32 {
  return <u32> 1 << (32 - clz(size - 1));
}

function bitOf(offset: i64): u64 {
  return <u64> 1 << (offset & 63);
}

function sizeAt(leaf: Leaf, offset: i64): usize {
  return changetype<usize>(leaf) + SIZES + ((<u32> offset & 63) << 2);
}

function leafAt(tree: OffsetTree, index: u32): Leaf {
  let place = tree.head + index;
  if (place >= tree.capacity) place -= tree.capacity;
  return changetype<Leaf>(changetype<usize>(tree) + RING + place * LEAF);
}

/** Index of the first leaf whose base is not below `base`, `leaves` when all are. */
function search(tree: OffsetTree, base: i64): u32 {
  const leaves = tree.leaves;
  if (!leaves) return 0;
  // New offsets come last.
  const newest = leafAt(tree, leaves - 1).base;
  if (base >= newest) return base == newest ? leaves - 1 : leaves;
  const first = leafAt(tree, 0).base;
  if (base <= first) return 0;
  // In a queue without gaps the leaf would be here; it is never further on.
  let low: u32 = 1, high = leaves - 1;
  const dense = <u64> (base - first) >> 6;
  if (dense < high) {
    const guess = leafAt(tree, <u32> dense).base;
    if (guess == base) return <u32> dense;
    high = <u32> dense;
  }
  while (low < high) {
    const middle = (low + high) >> 1;
    if (leafAt(tree, middle).base < base) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The leaf of `base`, made if it is not there; null when the ring is full. Mostly it is the newest. */
function leafToPut(tree: OffsetTree, base: i64): Leaf | null {
  if (tree.leaves) {
    const newest = leafAt(tree, tree.leaves - 1);
    if (newest.base == base) return newest;
  }
  const index = search(tree, base);
  if (index < tree.leaves) {
    const leaf = leafAt(tree, index);
    if (leaf.base == base) return leaf;
  }
  return tree.leaves < tree.capacity ? insert(tree, index, base) : null;
}

/** Makes a leaf at `index`. Rarely in the middle: then the shorter side moves. */
function insert(tree: OffsetTree, index: u32, base: i64): Leaf {
  if (index < tree.leaves >> 1 || (!index && tree.leaves)) {
    tree.head = tree.head ? tree.head - 1 : tree.capacity - 1;
    for (let i: u32 = 0; i < index; i++) move(tree, i + 1, i);
  } else {
    for (let i = tree.leaves; i > index; i--) move(tree, i - 1, i);
  }
  tree.leaves++;
  const leaf = leafAt(tree, index);
  leaf.base = base;
  leaf.present = 0;
  leaf.taken = 0;
  return leaf;
}

/** Drops the empty leaves in the middle. */
function squeeze(tree: OffsetTree): void {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < tree.leaves; i++) {
    if (!leafAt(tree, i).present) continue;
    if (i != kept) move(tree, i, kept);
    kept++;
  }
  tree.leaves = kept;
}

function move(tree: OffsetTree, from: u32, to: u32): void {
  memory.copy(changetype<usize>(leafAt(tree, to)), changetype<usize>(leafAt(tree, from)), LEAF);
}
