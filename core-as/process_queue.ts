// ProcessQueue accounting: which offsets of a message queue are in the client's hands. A handle is a place in a table of
// trees; each tree lies in a block of its own (`offset_tree.ts`).

import * as abi from "./abi";
import { freeBlock } from "./arena";
import { hasGrown, isFull, makeRoom, trim } from "./offset_leaves";
import {
  clearTree,
  lowestOffset,
  OffsetTree,
  openTree,
  putOffset,
  putOffsets,
  removeOffsets,
  removeRun,
  removeTaken,
  spanOf,
  takeOffsets,
  untake,
  untakeAll,
} from "./offset_tree";
import { ARGUMENT_TEXT, CONTROL, Submission } from "./shared";

/** State of the queue that the last command was for; as QUEUE_* say. Written by the core, read by the host. */
@unmanaged
class QueueState {
  count: u32;
  taken: u32;
  bytes: f64;
  min: i64;
  max: i64;
  span: i64;
  commit: i64;
}

if (offsetof<QueueState>() != abi.QUEUE_STATE_SIZE) ERROR("QueueState differs in size from abi.ts");
if (offsetof<QueueState>("count") != abi.QUEUE_COUNT) ERROR("QueueState.count moved");
if (offsetof<QueueState>("taken") != abi.QUEUE_TAKEN) ERROR("QueueState.taken moved");
if (offsetof<QueueState>("bytes") != abi.QUEUE_BYTES) ERROR("QueueState.bytes moved");
if (offsetof<QueueState>("min") != abi.QUEUE_MIN) ERROR("QueueState.min moved");
if (offsetof<QueueState>("max") != abi.QUEUE_MAX) ERROR("QueueState.max moved");
if (offsetof<QueueState>("span") != abi.QUEUE_SPAN) ERROR("QueueState.span moved");
if (offsetof<QueueState>("commit") != abi.QUEUE_COMMIT) ERROR("QueueState.commit moved");

const QUEUES: u32 = abi.QUEUES;
/** Addresses of the trees, u32 each. A free place holds the next free one, shifted up, with bit 0 set. */
const TREES: usize = memory.data(abi.QUEUES * 4, 16);
/** The free place that is used next, or QUEUES; places from `unused` on never were. */
let free: u32 = QUEUES;
let unused: u32 = 0;

/** What a double holds exactly; larger offsets come as pairs. */
const VALUE_MAX: f64 = 9007199254740991;

/** OP_QUEUE_OPEN. */
export function openQueue(entry: Submission): void {
  const tree = free < QUEUES || unused < QUEUES ? openTree() : 0;
  if (!tree) {
    entry.result = abi.E_NO_ROOM;
    return;
  }
  let queue = free;
  if (queue < QUEUES) free = load<u32>(placeOf(queue)) >> 1;
  else queue = unused++;
  store<u32>(placeOf(queue), tree);
  entry.handle = queue;
  answer(entry, changetype<OffsetTree>(tree), 0);
}

/** OP_QUEUE_CLOSE. */
export function closeQueue(entry: Submission): void {
  const tree = treeOf(entry);
  if (!tree) return;
  clearTree(tree);
  answer(entry, tree, 0);
  freeBlock(<u32> changetype<usize>(tree));
  store<u32>(placeOf(entry.handle), free << 1 | 1);
  free = entry.handle;
}

/** OP_QUEUE_PUT. */
export function putPairs(entry: Submission): void {
  let tree = treeOf(entry);
  if (!tree) return;
  if (entry.len > <u32> abi.PAIRS_MAX) {
    answer(entry, tree, abi.E_BAD_ARGUMENT);
    return;
  }
  const before = tree.count, end = PAIRS + entry.len * abi.PAIR_SIZE;
  let failure: i32 = 0;
  for (let pair = PAIRS; !failure;) {
    pair = putOffsets(tree, pair, end);
    if (pair == end) break;
    if (load<i64>(pair, abi.PAIR_OFFSET) < 0) failure = abi.E_BAD_ARGUMENT;
    else failure = roomIn(entry.handle);
    tree = treeAt(entry.handle);
  }
  const added = tree.count - before;
  entry.value = added;
  answer(entry, tree, failure ? failure : added);
}

/** Whether there is a queue of this name. */
export function isQueue(queue: u32): bool {
  return queue < unused && !(load<u32>(placeOf(queue)) & 1);
}

/** Enters one offset into a queue there is. 1: it is new, 0: it was there; E_BAD_ARGUMENT, E_QUEUE_FULL, E_NO_ROOM. */
export function putIntoQueue(queue: u32, offset: i64, size: u32): i32 {
  if (offset < 0) return abi.E_BAD_ARGUMENT;
  const result = putOffset(treeAt(queue), offset, size);
  if (result >= 0) return result;
  const failure = roomIn(queue);
  return failure ? failure : putOffset(treeAt(queue), offset, size);
}

/** Makes room for a leaf in a queue whose tree has none; that may move it. Returns why there is none, otherwise 0. */
function roomIn(queue: u32): i32 {
  const tree = treeAt(queue), roomier = makeRoom(tree);
  if (!roomier) return isFull(tree) ? abi.E_QUEUE_FULL : abi.E_NO_ROOM;
  store<u32>(placeOf(queue), roomier);
  return 0;
}

/** Fills QUEUE_STATE for a queue there is. */
export function stateOfQueue(queue: u32): void {
  fillState(treeAt(queue));
}

/** OP_QUEUE_TAKE. */
export function takePairs(entry: Submission): void {
  const tree = treeOf(entry);
  if (!tree) return;
  const most = min<u32>(entry.len, abi.PAIRS_MAX);
  answer(entry, tree, takeOffsets(tree, most, PAIRS));
}

/** OP_QUEUE_REMOVE. */
export function removePairs(entry: Submission): void {
  const tree = treeOf(entry);
  if (!tree) return;
  const wasEmpty = tree.count == 0, end = PAIRS + entry.len * abi.PAIR_SIZE;
  const isSound = entry.len <= <u32> abi.PAIRS_MAX && removeOffsets(tree, PAIRS, end) == end;
  answerRemoval(entry, tree, wasEmpty, isSound ? 0 : abi.E_BAD_ARGUMENT);
}

/** OP_QUEUE_REMOVE_RUNS. */
export function removeRuns(entry: Submission): void {
  const tree = treeOf(entry);
  if (!tree) return;
  let result: i32 = entry.len > <u32> abi.PAIRS_MAX ? abi.E_BAD_ARGUMENT : 0;
  const wasEmpty = tree.count == 0;
  const end = PAIRS + entry.len * abi.PAIR_SIZE;
  for (let pair = PAIRS; pair < end && !result; pair += abi.PAIR_SIZE) {
    const first = load<i64>(pair, abi.PAIR_OFFSET);
    if (first < 0) result = abi.E_BAD_ARGUMENT;
    else removeRun(tree, first, load<u32>(pair, abi.PAIR_BYTES));
  }
  answerRemoval(entry, tree, wasEmpty, result);
}

/** OP_QUEUE_REMOVE_ONE. */
export function removeOne(entry: Submission): void {
  const value = entry.value, isOffset = value >= 0 && value <= VALUE_MAX && floor(value) == value;
  store<i64>(PAIRS, isOffset ? <i64> value : -1, abi.PAIR_OFFSET);
  entry.len = 1;
  removePairs(entry);
}

/** OP_QUEUE_COMMIT. */
export function commitTaken(entry: Submission): void {
  const tree = treeOf(entry);
  if (!tree) return;
  const highest = removeTaken(tree);
  trim(tree);
  changetype<QueueState>(CONTROL + abi.QUEUE_STATE).commit = highest < 0 ? -1 : offsetAfter(highest);
  answer(entry, tree, 0);
}

/** OP_QUEUE_ROLLBACK. */
export function rollbackTaken(entry: Submission): void {
  const tree = treeOf(entry);
  if (!tree) return;
  untakeAll(tree);
  answer(entry, tree, 0);
}

/** OP_QUEUE_AGAIN. */
export function untakePairs(entry: Submission): void {
  const tree = treeOf(entry);
  if (!tree) return;
  let result: i32 = entry.len > <u32> abi.PAIRS_MAX ? abi.E_BAD_ARGUMENT : 0;
  const end = PAIRS + entry.len * abi.PAIR_SIZE;
  for (let pair = PAIRS; pair < end && result >= 0; pair += abi.PAIR_SIZE) {
    const offset = load<i64>(pair, abi.PAIR_OFFSET);
    if (offset < 0) result = abi.E_BAD_ARGUMENT;
    else result += <i32> untake(tree, offset);
  }
  answer(entry, tree, result);
}

/** OP_QUEUE_STATE. */
export function queueState(entry: Submission): void {
  const tree = treeOf(entry);
  if (tree) answer(entry, tree, 0);
}

/** OP_QUEUE_CLEAR. A queue that had grown goes back to a small block, where there is one. */
export function clearQueue(entry: Submission): void {
  const tree = treeOf(entry);
  if (!tree) return;
  const fresh = hasGrown(tree) ? openTree() : 0;
  if (fresh) {
    store<u32>(placeOf(entry.handle), fresh);
    freeBlock(<u32> changetype<usize>(tree));
    answer(entry, changetype<OffsetTree>(fresh), 0);
    return;
  }
  clearTree(tree);
  answer(entry, tree, 0);
}

const PAIRS: usize = ARGUMENT_TEXT;

function placeOf(queue: u32): usize {
  return TREES + (queue << 2);
}

/** The tree of a queue there is. */
function treeAt(queue: u32): OffsetTree {
  return changetype<OffsetTree>(load<u32>(placeOf(queue)));
}

/** The tree of the entry's handle; null, and the answer is E_BAD_HANDLE, when there is none. */
function treeOf(entry: Submission): OffsetTree | null {
  const tree = entry.handle < unused ? load<u32>(placeOf(entry.handle)) : 1;
  if (!(tree & 1)) return changetype<OffsetTree>(tree);
  entry.result = abi.E_BAD_HANDLE;
  return null;
}

/** Nothing comes after the last offset that there can be. */
function offsetAfter(offset: i64): i64 {
  return offset == i64.MAX_VALUE ? offset : offset + 1;
}

function answer(entry: Submission, tree: OffsetTree, result: i32): void {
  fillState(tree);
  entry.result = result;
}

/** Answers also what to commit now. */
function answerRemoval(entry: Submission, tree: OffsetTree, wasEmpty: bool, result: i32): void {
  trim(tree);
  const commit = tree.count ? lowestOffset(tree) : offsetAfter(tree.max);
  changetype<QueueState>(CONTROL + abi.QUEUE_STATE).commit = wasEmpty ? -1 : commit;
  answer(entry, tree, result);
}

function fillState(tree: OffsetTree): void {
  const state = changetype<QueueState>(CONTROL + abi.QUEUE_STATE);
  state.count = tree.count;
  state.taken = tree.taken;
  state.bytes = <f64> tree.bytes;
  state.min = tree.count ? lowestOffset(tree) : -1;
  state.max = tree.max;
  state.span = spanOf(tree);
}
