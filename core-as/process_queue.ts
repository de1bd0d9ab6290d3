// ProcessQueue accounting: which offsets of a message queue are in the client's hands. A handle is a place in a table of
// trees; each tree lies in a block of its own (`offset_tree.ts`).

import * as abi from "./abi";
import { freeBlock } from "./arena";
import {
  clearTree,
  hasGrown,
  highestOffset,
  isFull,
  lowestOffset,
  makeRoom,
  OffsetTree,
  openTree,
  putOffset,
  removeOffset,
  takeOffsets,
  trim,
} from "./offset_tree";
import { rowAt } from "./rows";
import { ARGUMENT_TEXT, CONTROL, Submission } from "./shared";

/** State of the queue that the last command was for; as QUEUE_* say. Written by the core, read by the host. */
@unmanaged
class QueueState {
  count: u32;
  taken: u32;
  bytes: f64;
  min: f64;
  max: f64;
  span: f64;
}

if (offsetof<QueueState>() != abi.QUEUE_STATE_SIZE) ERROR("QueueState differs in size from abi.ts");
if (offsetof<QueueState>("count") != abi.QUEUE_COUNT) ERROR("QueueState.count moved");
if (offsetof<QueueState>("taken") != abi.QUEUE_TAKEN) ERROR("QueueState.taken moved");
if (offsetof<QueueState>("bytes") != abi.QUEUE_BYTES) ERROR("QueueState.bytes moved");
if (offsetof<QueueState>("min") != abi.QUEUE_MIN) ERROR("QueueState.min moved");
if (offsetof<QueueState>("max") != abi.QUEUE_MAX) ERROR("QueueState.max moved");
if (offsetof<QueueState>("span") != abi.QUEUE_SPAN) ERROR("QueueState.span moved");

const QUEUES: u32 = abi.QUEUES;
/** Addresses of the trees, u32 each. A free place holds the next free one, shifted up, with bit 0 set. */
const TREES: usize = memory.data(abi.QUEUES * 4, 16);
/** The free place that is used next, or QUEUES; places from `unused` on never were. */
let free: u32 = QUEUES;
let unused: u32 = 0;

/** Offsets are whole numbers up to this one: what a double holds exactly. */
const OFFSET_MAX: f64 = 9007199254740991;

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
  let added: i32 = 0, failure: i32 = 0;
  const end = PAIRS + entry.len * abi.PAIR_SIZE;
  for (let pair = PAIRS; pair < end && !failure; pair += abi.PAIR_SIZE) {
    const offset = load<f64>(pair, abi.PAIR_OFFSET);
    let one: i32 = abi.E_BAD_ARGUMENT;
    if (isOffset(offset)) {
      one = put(entry.handle, <i64> offset, load<u32>(pair, abi.PAIR_BYTES));
    }
    if (one < 0) failure = one;
    else added += one;
  }
  answerPut(entry, added, failure);
}

/**
 * OP_QUEUE_PUT_ROWS. Offsets of rows come from the network: a row whose offset is none becomes ROW_BAD_RECORD. The size of
 * a message is that of its body as it was stored.
 */
export function putRows(entry: Submission): void {
  if (!treeOf(entry)) return;
  if (<u64> entry.ptr + entry.len > <u64> abi.ROW_ENTRIES) {
    answerPut(entry, 0, abi.E_BAD_ARGUMENT);
    return;
  }
  let added: i32 = 0, failure: i32 = 0;
  for (let i: u32 = 0; i < entry.len && !failure; i++) {
    const row = rowAt(entry.ptr + i);
    if (<i32> row.status != abi.ROW_OK) continue;
    if (row.queueOffset < 0 || row.queueOffset > <i64> OFFSET_MAX) {
      row.status = <u8> abi.ROW_BAD_RECORD;
      continue;
    }
    const one = put(entry.handle, row.queueOffset, row.bodyLength);
    if (one < 0) failure = one;
    else added += one;
  }
  answerPut(entry, added, failure);
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
  if (entry.len > <u32> abi.PAIRS_MAX) {
    answer(entry, tree, abi.E_BAD_ARGUMENT);
    return;
  }
  const wasEmpty = tree.count == 0;
  let result: i32 = 0;
  const end = PAIRS + entry.len * abi.PAIR_SIZE;
  for (let pair = PAIRS; pair < end; pair += abi.PAIR_SIZE) {
    const offset = load<f64>(pair, abi.PAIR_OFFSET);
    if (!isOffset(offset)) {
      result = abi.E_BAD_ARGUMENT;
      break;
    }
    removeOffset(tree, <i64> offset);
  }
  trim(tree);
  entry.value = wasEmpty ? -1 : <f64> (tree.count ? lowestOffset(tree) : tree.max + 1);
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

/** The tree of the entry's handle; null, and the answer is E_BAD_HANDLE, when there is none. */
function treeOf(entry: Submission): OffsetTree | null {
  const tree = entry.handle < unused ? load<u32>(placeOf(entry.handle)) : 1;
  if (!(tree & 1)) return changetype<OffsetTree>(tree);
  entry.result = abi.E_BAD_HANDLE;
  return null;
}

function isOffset(value: f64): bool {
  return value >= 0 && value <= OFFSET_MAX && floor(value) == value;
}

/** Enters one offset, in more room if it needs that. As `putOffset`, and E_QUEUE_FULL. */
function put(queue: u32, offset: i64, size: u32): i32 {
  const tree = changetype<OffsetTree>(load<u32>(placeOf(queue)));
  const result = putOffset(tree, offset, size);
  if (result >= 0) return result;
  const roomier = makeRoom(tree);
  if (!roomier) return isFull(tree) ? abi.E_QUEUE_FULL : abi.E_NO_ROOM;
  store<u32>(placeOf(queue), roomier);
  return putOffset(changetype<OffsetTree>(roomier), offset, size);
}

/** After a failure: how many were new before it. */
function answerPut(entry: Submission, added: i32, failure: i32): void {
  entry.value = added;
  answer(entry, changetype<OffsetTree>(load<u32>(placeOf(entry.handle))), failure ? failure : added);
}

function answer(entry: Submission, tree: OffsetTree, result: i32): void {
  const state = changetype<QueueState>(CONTROL + abi.QUEUE_STATE);
  const count = tree.count;
  const lowest = count ? <f64> lowestOffset(tree) : -1;
  state.count = count;
  state.taken = tree.taken;
  state.bytes = <f64> tree.bytes;
  state.min = lowest;
  state.max = <f64> tree.max;
  state.span = count ? <f64> highestOffset(tree) - lowest : 0;
  entry.result = result;
}
