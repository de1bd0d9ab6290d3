// The offset tree of one process queue, two levels: a ring of leaves in offset order (`offset_leaves.ts`), and in each leaf 64
// offsets as bitmaps.
//
// Offsets mostly come and go in runs. So all neighbours of one leaf are entered or removed together: its bitmap is a local
// meanwhile and tells at the end how many were new or there, and the sums of the tree are written once. An offset at a time,
// each waits for what the one before it has just stored.

import * as abi from "./abi";
import {
  bitOf,
  dropLeaves,
  findLeaf,
  indexOfLeaf,
  Leaf,
  leafAt,
  LeafRing,
  leafToPut,
  LEAVES_HEADER,
  openLeaves,
  searchLeaf,
  sizeAt,
} from "./offset_leaves";

/** One process queue's offsets: the header of its leaves. Lives at the start of its block; owned by `process_queue.ts`. */
@unmanaged
export class OffsetTree extends LeafRing {
  taken: u32;
  /** Sum of the sizes of all offsets. */
  bytes: u64;
  /** Highest offset ever put, -1 before the first. */
  max: i64;
  count: u32;
}

if (offsetof<OffsetTree>() > LEAVES_HEADER) ERROR("OffsetTree does not fit before its leaves");

/** A new, empty tree in a block of its own, or 0 when there is no block. */
export function openTree(): u32 {
  const block = openLeaves();
  if (block) clearTree(changetype<OffsetTree>(block));
  return block;
}

/** Forgets all offsets, also the highest. */
export function clearTree(tree: OffsetTree): void {
  dropLeaves(tree);
  tree.bytes = 0;
  tree.max = -1;
  tree.count = 0;
  tree.taken = 0;
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

/**
 * Enters the offsets of pairs. Returns `end`, or the pair whose offset is below zero, or found the ring full: see `makeRoom`.
 * What lies behind the last pair is read, and not used.
 */
export function putOffsets(tree: OffsetTree, pairs: usize, end: usize): usize {
  let pair = pairs, offset = load<i64>(pair, abi.PAIR_OFFSET), max = tree.max, bytes = tree.bytes;
  while (pair < end && offset >= 0) {
    const base = offset & ~63;
    const leaf = leafToPut(tree, base);
    if (!leaf) break;
    const before = leaf.present;
    let present = before;
    do {
      const bit = bitOf(offset);
      if (!(present & bit)) {
        const size = load<u32>(pair, abi.PAIR_BYTES);
        store<u32>(sizeAt(leaf, offset), size);
        bytes += size;
        present |= bit;
      }
      if (offset > max) max = offset;
      pair += abi.PAIR_SIZE;
      offset = load<i64>(pair, abi.PAIR_OFFSET);
    } while (pair < end && (offset & ~63) == base);
    leaf.present = present;
    tree.count += <u32> popcnt(before ^ present);
  }
  tree.max = max;
  tree.bytes = bytes;
  return pair;
}

/** Removes the offsets of pairs that are there; `trim` afterwards. Returns `end`, or the pair whose offset is below zero. */
export function removeOffsets(tree: OffsetTree, pairs: usize, end: usize): usize {
  let pair = pairs, offset = load<i64>(pair, abi.PAIR_OFFSET), bytes = tree.bytes;
  while (pair < end && offset >= 0) {
    const base = offset & ~63;
    const leaf = findLeaf(tree, base);
    const before = leaf ? leaf.present : 0;
    let present = before;
    do {
      const bit = bitOf(offset);
      if (present & bit) {
        bytes -= load<u32>(sizeAt(changetype<Leaf>(leaf), offset));
        present ^= bit;
      }
      pair += abi.PAIR_SIZE;
      offset = load<i64>(pair, abi.PAIR_OFFSET);
    } while (pair < end && (offset & ~63) == base);
    if (leaf) {
      const removed = before ^ present;
      tree.count -= <u32> popcnt(removed);
      tree.taken -= <u32> popcnt(leaf.taken & removed);
      leaf.present = present;
      leaf.taken &= present;
    }
  }
  tree.bytes = bytes;
  return pair;
}

/** Removes those of `count` offsets from `first` on that are there, a leaf at a time. `trim` afterwards. */
export function removeRun(tree: OffsetTree, first: i64, count: u32): void {
  if (!count) return;
  const last = count - 1 > <u64> (i64.MAX_VALUE - first) ? i64.MAX_VALUE : first + <i64> (count - 1);
  for (let index = indexOfLeaf(tree, first & ~63); index < tree.leaves; index++) {
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
  const leaf = searchLeaf(tree, offset & ~63);
  const bit = bitOf(offset);
  if (!leaf || !(leaf.taken & bit)) return false;
  leaf.taken &= ~bit;
  tree.taken--;
  return true;
}
