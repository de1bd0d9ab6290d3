// Consistent hashing without a ring. Every client has some nodes on a circle of 2^32 places, and a queue belongs to the first
// node at or behind its own place, around the end of the circle: that is the node with the smallest (node - queue) modulo
// 2^32. So no node has to be kept or sorted: the queues are, four to a vector, and each node goes past all of them. Hashes
// are those of the Java client (`ConsistentHashRouter`): a queue's of its text, a node's of "<client id>-<number>".

import * as abi from "./abi";
import { md5Start } from "./md5";
import { beginScratch, hasScratch, RING, SCRATCH } from "./scratch";
import { ARGUMENT_LENGTHS, ARGUMENT_TEXT, Submission } from "./shared";

/** What is known of four queues: hashes, distances to the best nodes, and whether those are the asking client's. */
const GROUP: u32 = 48;
const DISTANCES: u32 = 16;
const MINE: u32 = 32;
const QUEUES_MAX: u32 = abi.RING_QUEUES;
if (abi.RING_QUEUES / 4 * 48 > 114688) ERROR("RING_QUEUES do not fit the scratch memory");
if (abi.RING_QUEUES * 4 > abi.ARGUMENT_BYTES) ERROR("RING_QUEUES do not fit the argument area");

/** Nodes of a client in one command, and in all: a number and its hyphen must fit eight bytes. */
const NODES_MAX: u32 = 1000;
const NUMBERS: u32 = 1000000;

/** Queues of this ring. */
let queues: u32 = 0;

/** OP_RING_QUEUES. */
export function addQueues(entry: Submission): void {
  const first = entry.handle, count = <u32> entry.flags;
  if (first == 0) beginRing();
  if (!hasScratch(RING) || first != queues || count > QUEUES_MAX - queues || !argumentsFit(count)) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  let text = ARGUMENT_TEXT;
  for (let i: u32 = 0; i < count; i++) {
    const length = argumentLength(i);
    addQueue(md5Start(text, length, 0, 0));
    text += length;
  }
  entry.result = 0;
}

/** OP_RING_CLIENTS. */
export function addClients(entry: Submission): void {
  const count = <u32> entry.flags, nodes = entry.len, from = entry.handle;
  if (!hasScratch(RING) || !argumentsFit(count) || nodes > NODES_MAX || from > NUMBERS - nodes) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  let text = ARGUMENT_TEXT;
  for (let i: u32 = 0; i < count; i++) {
    const length = argumentLength(i);
    for (let node = from; node < from + nodes; node++) addNode(nodeHash(text, length, node), i == entry.token);
    text += length;
  }
  entry.result = 0;
}

/** OP_RING_SHARE. */
export function ringShare(entry: Submission): void {
  if (!hasScratch(RING)) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  let count: u32 = 0;
  for (let queue: u32 = 0; queue < queues; queue++) {
    if (!load<u32>(placeOf(queue), MINE)) continue;
    store<u32>(ARGUMENT_TEXT + (count << 2), queue);
    count++;
  }
  entry.result = count;
}

function beginRing(): void {
  beginScratch(RING);
  queues = 0;
}

/** Whether the texts of `count` arguments lie in the argument area. */
function argumentsFit(count: u32): bool {
  if (count > <u32> abi.ARGUMENTS_MAX) return false;
  let sum: u64 = 0;
  for (let i: u32 = 0; i < count; i++) sum += argumentLength(i);
  return sum <= <u64> abi.ARGUMENT_BYTES;
}

function argumentLength(index: u32): u32 {
  return load<u32>(ARGUMENT_LENGTHS + (index << 2));
}

/** Where the hash of a queue lies. */
function placeOf(queue: u32): usize {
  return SCRATCH + (queue >>> 2) * GROUP + ((queue & 3) << 2);
}

function addQueue(hash: u32): void {
  const place = placeOf(queues++);
  store<u32>(place, hash);
  store<u32>(place, -1, DISTANCES);
  store<u32>(place, 0, MINE);
}

/** "-<number>" behind the client's id. */
function nodeHash(text: usize, length: u32, node: u32): u32 {
  let digits: u64 = 0, count: u32 = 1;
  do {
    digits = digits << 8 | (0x30 + node % 10);
    node /= 10;
    count++;
  } while (node);
  return md5Start(text, length, digits << 8 | 0x2d, count);
}

/** A later node at the same place takes over. */
function addNode(hash: u32, isMine: bool): void {
  const node = i32x4.splat(hash), mine = i32x4.splat(isMine ? -1 : 0);
  const end = SCRATCH + ((queues + 3) >>> 2) * GROUP;
  for (let group = SCRATCH; group < end; group += GROUP) {
    const distance = i32x4.sub(node, v128.load(group)), best = v128.load(group, DISTANCES);
    const isNearer = i32x4.le_u(distance, best);
    v128.store(group, i32x4.min_u(distance, best), DISTANCES);
    v128.store(group, v128.bitselect(mine, v128.load(group, MINE), isNearer), MINE);
  }
}
