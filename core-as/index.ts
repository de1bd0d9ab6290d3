// The core's table of contents: one door, and behind it one function for each opcode.

import * as abi from "./abi";
import { allocate } from "./allocate";
import { allocateHostBlock, arenaIsReady, freeHostBlock, initArena } from "./arena";
import { addClients, addQueues, ringShare } from "./consistent_hash";
import { crc32, initCrc } from "./crc32";
import { initDigits } from "./ext_fields";
import { beginReading, readLz4 } from "./lz4";
import { initLz4 } from "./lz4_block";
import { beginWriting, endWriting, writeLz4 } from "./lz4_encode";
import { initMd5 } from "./md5";
import { encode, initEncoding, setClock } from "./encode";
import { panic, PANIC_SUBMISSIONS } from "./panic";
import {
  clearQueue,
  closeQueue,
  commitTaken,
  openQueue,
  putPairs,
  queueState,
  removeOne,
  removePairs,
  removeRuns,
  rollbackTaken,
  takePairs,
  untakePairs,
} from "./process_queue";
import { compileProgram, freeProgram } from "./program";
import { lease } from "./rows";
import { walk } from "./records";
import { appendFrame, freeSegment, openSegment, resetSegment } from "./segment";
import { initShapes } from "./shapes";
import { CONTROL, control as controlBlock, Submission, submissionAt } from "./shared";
import { closeConnection, feed, openConnection, room } from "./stream";
import { takeUniqueId } from "./unique_id";

export const abiVersion: i32 = abi.ABI_VERSION;
export const control: u32 = <u32> CONTROL;

/** Runs all submissions in order and writes each answer into its entry. */
export function drive(): void {
  const block = controlBlock();
  const tail = block.sqTail;
  let head = block.sqHead;
  if (tail - head > <u32> abi.SUBMISSION_ENTRIES) panic(PANIC_SUBMISSIONS, tail - head);
  while (head != tail) {
    run(submissionAt(head));
    block.sqHead = ++head;
  }
}

function run(entry: Submission): void {
  if (!arenaIsReady() && <i32> entry.opcode != abi.OP_INIT) {
    entry.result = abi.E_NOT_READY;
    return;
  }
  switch (<i32> entry.opcode) {
    case abi.OP_INIT:
      return init(entry);
    case abi.OP_CLOCK:
      return setClock(entry);
    case abi.OP_ALLOCATE_BLOCK:
      return allocateHostBlock(entry);
    case abi.OP_FREE_BLOCK:
      return freeHostBlock(entry);
    case abi.OP_CONNECTION_OPEN:
      return openConnection(entry);
    case abi.OP_CONNECTION_CLOSE:
      return closeConnection(entry);
    case abi.OP_ROOM:
      return room(entry);
    case abi.OP_FEED:
      return feed(entry);
    case abi.OP_PROGRAM_COMPILE:
      return compileProgram(entry);
    case abi.OP_PROGRAM_FREE:
      return freeProgram(entry);
    case abi.OP_SEGMENT_OPEN:
      return openSegment(entry);
    case abi.OP_SEGMENT_FREE:
      return freeSegment(entry);
    case abi.OP_SEGMENT_RESET:
      return resetSegment(entry);
    case abi.OP_ENCODE:
      return encode(entry);
    case abi.OP_APPEND:
      return appendFrame(entry);
    case abi.OP_WALK:
      return walk(entry);
    case abi.OP_CRC32:
      return crc32(entry);
    case abi.OP_QUEUE_OPEN:
      return openQueue(entry);
    case abi.OP_QUEUE_CLOSE:
      return closeQueue(entry);
    case abi.OP_QUEUE_PUT:
      return putPairs(entry);
    case abi.OP_QUEUE_TAKE:
      return takePairs(entry);
    case abi.OP_QUEUE_REMOVE:
      return removePairs(entry);
    case abi.OP_QUEUE_STATE:
      return queueState(entry);
    case abi.OP_QUEUE_CLEAR:
      return clearQueue(entry);
    case abi.OP_ALLOCATE:
      return allocate(entry);
    case abi.OP_QUEUE_REMOVE_RUNS:
      return removeRuns(entry);
    case abi.OP_QUEUE_REMOVE_ONE:
      return removeOne(entry);
    case abi.OP_QUEUE_COMMIT:
      return commitTaken(entry);
    case abi.OP_QUEUE_ROLLBACK:
      return rollbackTaken(entry);
    case abi.OP_QUEUE_AGAIN:
      return untakePairs(entry);
    case abi.OP_LEASE:
      return lease(entry);
    case abi.OP_LZ4_READ_BEGIN:
      return beginReading(entry);
    case abi.OP_LZ4_READ:
      return readLz4(entry);
    case abi.OP_LZ4_WRITE_BEGIN:
      return beginWriting(entry);
    case abi.OP_LZ4_WRITE:
      return writeLz4(entry);
    case abi.OP_LZ4_WRITE_END:
      return endWriting(entry);
    case abi.OP_RING_QUEUES:
      return addQueues(entry);
    case abi.OP_RING_CLIENTS:
      return addClients(entry);
    case abi.OP_RING_SHARE:
      return ringShare(entry);
    case abi.OP_UNIQUE_ID:
      return takeUniqueId(entry);
    default:
      entry.result = abi.E_UNKNOWN_OPCODE;
  }
}

/** OP_INIT: the tables that statics need, then the arena over the rest. */
function init(entry: Submission): void {
  entry.result = initArena();
  if (entry.result < 0) return;
  initEncoding();
  initCrc();
  initDigits();
  initShapes();
  initLz4();
  initMd5();
}
