// Blocks of the arena: a buddy allocator (Knowlton 1965; Knuth, The Art of Computer Programming, 2.5). A block is a power of
// two from BLOCK_MIN on and lies at a multiple of its size; its last SLACK bytes are nobody's. The lowest free address is taken
// first, because what was touched once stays resident.
//
//   heap base ─► tree    u8 per node     a binary tree over all pages of the memory; node 1 is the root, its children 2, 3 …
//                        what it holds:  0 nothing is free below it, k + 1: the largest free block below it has order k
//                blocks  u8 per page     0, or owner << 5 | order of the block in use that starts at this page
//                arena                   from the next page on
//
// Both tables lie outside the blocks, so that nothing a host writes into a block can reach them, and any pointer can be
// judged by a look at its page. They take 3 bytes a page: 96 KiB of an arena of 128 MiB.

import * as abi from "./abi";
import { panic, PANIC_BLOCK } from "./panic";
import { control, NULL_PAGE, SLACK, Submission } from "./shared";

/** Who uses a block, so that a pointer to one kind is not taken for another. 1 to 7. */
export const OWNER_HOST: u32 = 1;
export const OWNER_INBOX: u32 = 2;
export const OWNER_FRAME: u32 = 3;
export const OWNER_SEGMENT: u32 = 4;
export const OWNER_PROGRAM: u32 = 5;
export const OWNER_CORE: u32 = 6;

const PAGE_BITS: u32 = 12;
const ORDER_MASK: u32 = 31;
const OWNER_BITS: u32 = 5;

if (1 << PAGE_BITS != abi.BLOCK_MIN) ERROR("BLOCK_MIN is not one page");

let tree: usize = 0;
let blocks: usize = 0;
/** Pages of the memory, the ones below the arena included. */
let pages: u32 = 0;
/** Order of the tree's root. */
let rootOrder: u32 = 0;

/** OP_INIT: lays the tables out over what the memory has. */
export function initArena(): i32 {
  if (pages) return abi.E_BAD_ARGUMENT;
  const all = <u32> memory.size() << (16 - PAGE_BITS);
  const order = 32 - clz(all - 1);
  const nodes: usize = 2 << order;
  const start = (<usize> __heap_base + 15) & ~15;
  const end = start + nodes + all;
  if (<u64> end > <u64> all << PAGE_BITS) return abi.E_NO_ROOM;
  tree = start;
  blocks = start + nodes;
  pages = all;
  rootOrder = order;
  fillTree(<u32> ((end + abi.BLOCK_MIN - 1) >> PAGE_BITS));
  return 0;
}

export function arenaIsReady(): bool {
  return pages != 0;
}

/** Whether `ptr..ptr+len` and the slack behind it lie inside the arena. */
export function inArena(ptr: u32, len: u32): bool {
  return ptr >= NULL_PAGE && <u64> ptr + len + SLACK <= <u64> memory.size() << 16;
}

/** A block of at least `size` usable bytes for the core itself, or 0. */
export function allocateBlock(size: u32): u32 {
  return takeBlock(size, OWNER_CORE);
}

/** Frees a block of `allocateBlock`. */
export function freeBlock(block: u32): void {
  giveBlock(block, OWNER_CORE);
}

/** A block of at least `size` usable bytes, or 0. */
export function takeBlock(size: u32, owner: u32): u32 {
  const order = orderOf(size);
  if (load<u8>(tree + 1) <= order) return 0;
  let node: u32 = 1;
  for (let at = rootOrder; at > order; at--) {
    node <<= 1;
    node += <u32> (load<u8>(tree + node) <= order);
  }
  store<u8>(tree + node, 0);
  const page = (node << order) - (1 << rootOrder);
  assert(page < pages && load<u8>(blocks + page) == 0);
  store<u8>(blocks + page, owner << OWNER_BITS | order);
  control().bytesInUse += <u32> abi.BLOCK_MIN << order;
  tellParents(node, order);
  return page << PAGE_BITS;
}

/** Frees a block that this owner must have. */
export function giveBlock(block: u32, owner: u32): void {
  if (!isBlock(block, owner)) panic(PANIC_BLOCK, block);
  const page = block >> PAGE_BITS;
  const order = load<u8>(blocks + page) & ORDER_MASK;
  store<u8>(blocks + page, 0);
  control().bytesInUse -= <u32> abi.BLOCK_MIN << order;
  const node = ((1 << rootOrder) + page) >> order;
  assert(load<u8>(tree + node) == 0);
  store<u8>(tree + node, order + 1);
  tellParents(node, order);
}

/** Whether a block in use starts at `ptr`, and is this owner's. */
export function isBlock(ptr: u32, owner: u32): bool {
  if (ptr & (abi.BLOCK_MIN - 1)) return false;
  const page = ptr >> PAGE_BITS;
  return page < pages && load<u8>(blocks + page) >> OWNER_BITS == owner;
}

/** OP_ALLOCATE_BLOCK. */
export function allocateHostBlock(entry: Submission): void {
  const block = takeBlock(entry.len, OWNER_HOST);
  entry.result = block ? <i32> block : abi.E_NO_ROOM;
}

/** OP_FREE_BLOCK. */
export function freeHostBlock(entry: Submission): void {
  if (!isBlock(entry.ptr, OWNER_HOST)) {
    entry.result = abi.E_BAD_POINTER;
    return;
  }
  giveBlock(entry.ptr, OWNER_HOST);
  entry.result = 0;
}

/** Order of the smallest block with `size` usable bytes; larger than any root when there is none. */
function orderOf(size: u32): u32 {
  const last = <u64> size + SLACK - 1;
  return 64 - <u32> clz(last >> PAGE_BITS);
}

/** All pages from `first` on are free. */
function fillTree(first: u32): void {
  const leaves = <u32> 1 << rootOrder;
  memory.fill(tree, 0, 2 * leaves);
  memory.fill(blocks, 0, pages);
  memory.fill(tree + leaves + first, 1, pages - first);
  for (let order: u32 = 1; order <= rootOrder; order++) {
    const from = leaves >> order;
    for (let node = from; node < 2 * from; node++) store<u8>(tree + node, freeBelow(node, order));
  }
}

/** What a node of this order holds, after its children. Two halves that are wholly free are one block. */
function freeBelow(node: u32, order: u32): u32 {
  const left: u32 = load<u8>(tree + 2 * node), right: u32 = load<u8>(tree + 2 * node + 1);
  return left == order && right == order ? order + 1 : max(left, right);
}

/** Hands a change of a node up, as far as it changes anything. */
function tellParents(node: u32, order: u32): void {
  for (node >>= 1, order++; node; node >>= 1, order++) {
    const free = freeBelow(node, order);
    if (load<u8>(tree + node) == free) return;
    store<u8>(tree + node, free);
  }
}
