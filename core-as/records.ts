// The walk over the body of a pull: one pass that checks every length, compares checksums and notes in rows where the parts
// of each record are. Records lie back to back; all integers are big endian.
//
//   record     = totalSize i32, magic i32, bodyCRC i32, queueId i32, flag i32, queueOffset i64, physicalOffset i64,
//                sysFlag i32, bornTimestamp i64, bornHost 8|20, storeTimestamp i64, storeHost 8|20, reconsumeTimes i32,
//                preparedTransactionOffset i64, bodyLength i32, body, topicLength i8 (v1) | i16 (v2), topic,
//                propertiesLength i16, properties
//
// What a row is for us, and whether its offset goes into a process queue, is decided in the same pass: see `take_in.ts`.

import * as abi from "./abi";
import { inArena } from "./arena";
import { crc32Of } from "./crc32";
import { unwrap } from "./inner_batch";
import { noteProperties } from "./properties";
import { alikeLength, learnAlike, readAlike } from "./record_shape";
import { freshRow, Row, rowAt } from "./rows";
import { be16, be32, Submission } from "./shared";
import { bornHostLength, isCompressed, isInnerBatch, storeHostLength } from "./sys_flag";
import { isAscii } from "./text";
import { beginTaking, endTaking, failureOfTaking, nothingTaken, takeRows } from "./take_in";

const ROW_ENTRIES: u32 = abi.ROW_ENTRIES;

/** Both hosts v4, no body, topic or properties. */
const RECORD_MIN: u32 = 91;
/** Lengths of 16 bits are signed. */
const SHORT_MAX: u32 = 32767;
/** As a load reads them. */
const MAGIC_V1: u32 = 0xa720a3da;
const MAGIC_V2: u32 = 0xab20a3da;

// Where the fields of a record are that do not depend on the hosts.
const MAGIC: usize = 4;
const BODY_CRC: usize = 8;
const QUEUE_OFFSET: usize = 20;
const SYS_FLAG: usize = 36;
/** Bytes of the fixed fields up to the body, without the hosts. */
const HEAD: usize = 72;

/**
 * OP_WALK. Fills at most ROW_ENTRIES rows; `value` is then where to go on, always the start of a record: a batch that does
 * not fit the rows that are left waits for the next walk, and one that would never fit is a row of its own (ROW_BATCH).
 */
export function walk(entry: Submission): void {
  if (!inArena(entry.ptr, entry.len)) {
    entry.result = abi.E_BAD_POINTER;
    return;
  }
  if (!(entry.value >= 0 && entry.value <= <f64> entry.len && floor(entry.value) == entry.value)) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  const refusal = beginTaking(entry);
  if (refusal) {
    entry.result = refusal;
    return;
  }
  const start: usize = entry.ptr, end = start + entry.len;
  const flags: u32 = entry.flags;
  const crcMost: u32 = !(flags & abi.WALK_CRC) ? 0 : flags & abi.WALK_CRC_SHORT ? abi.CRC_LONG : u32.MAX_VALUE;
  const takes = (flags & (abi.WALK_TAGS | abi.WALK_PUT)) != 0;
  let at = start + <u32> entry.value;
  let count: u32 = 0;
  while (at < end && count < ROW_ENTRIES) {
    const alike = readAlike(count, start, at, end);
    if (alike > count) {
      if (crcMost) checkRows(count, alike, start, crcMost);
      if (flags & abi.WALK_ASCII) noteAscii(count, alike, start);
      const taken = takes ? takeRows(count, alike, start) : alike;
      if (!taken && nothingTaken()) {
        entry.result = failureOfTaking();
        return;
      }
      at += (taken - count) * alikeLength();
      count = taken;
      if (taken < alike) break;
      continue;
    }
    const behind = readRows(count, start, at, end, crcMost);
    if (behind == NO_ROWS) break;
    if (flags & abi.WALK_ASCII) noteAscii(count, behind, start);
    const row = rowAt(count);
    // What a batch holds that is unwrapped elsewhere must go into the queue before anything behind it.
    const isLast = takes && behind > count && row.kind == <u8> abi.ROW_BATCH && row.status == <u8> abi.ROW_OK;
    if (takes && !isLast) {
      const taken = takeRows(count, behind, start);
      if (taken < behind) {
        if (!count && nothingTaken()) {
          entry.result = failureOfTaking();
          return;
        }
        count = taken;
        break;
      }
    }
    at += row.recordLength;
    count = behind;
    if (isLast && flags & abi.WALK_PUT) break;
  }
  endTaking();
  entry.value = <f64> (at - start);
  entry.result = count;
}

/** The rows of a record do not fit into what is left of the table. */
const NO_ROWS: u32 = u32.MAX_VALUE;

/**
 * Fills the rows of the record at `at` from row `first` on. Returns the index behind them, or NO_ROWS. Bodies below `crcMost`
 * bytes are compared with their checksums.
 */
function readRows(first: u32, start: usize, at: usize, end: usize, crcMost: u32): u32 {
  const length = recordLength(at, end);
  const row = freshRow(first, <u32> (at - start), length ? length : <u32> (end - at));
  if (!length) {
    row.status = <u8> abi.ROW_BAD_REST;
  } else if (!readRecord(row, start, at, at + length, crcMost)) {
    row.status = <u8> abi.ROW_BAD_RECORD;
  } else if (row.kind == <u8> abi.ROW_BATCH && row.status == <u8> abi.ROW_OK && !isCompressed(row.sysFlag)) {
    const behind = unwrap(first, start);
    if (behind <= ROW_ENTRIES) return behind;
    // The batch gets its rows in the next walk, unless it had all of them already.
    if (first) return NO_ROWS;
  }
  return first + 1;
}

/** Compares the checksums of sound records. */
function checkRows(first: u32, behind: u32, start: usize, crcMost: u32): void {
  for (let i = first; i < behind; i++) {
    const row = rowAt(i);
    if (row.bodyLength >= crcMost) continue;
    if (!isIntact(start + row.record, start + row.body, row.bodyLength)) row.status = <u8> abi.ROW_BAD_CRC;
  }
}

/** Whoever reads bodies as text has a shorter way for ASCII. After the shape has learned: it is not part of that. */
function noteAscii(first: u32, behind: u32, start: usize): void {
  for (let i = first; i < behind; i++) {
    const row = rowAt(i);
    if (row.status == <u8> abi.ROW_OK) row.isAscii = <u16> isAscii(start + row.body, row.bodyLength);
  }
}

/** The record's total size, or 0 when that makes no sense. */
function recordLength(at: usize, end: usize): u32 {
  const rest = <u32> (end - at);
  if (rest < RECORD_MIN) return 0;
  const length = be32(at);
  return length - RECORD_MIN <= rest - RECORD_MIN ? length : 0;
}

/** Reads one record whose first RECORD_MIN bytes are there. False when its parts do not fit in it; then nothing is noted. */
function readRecord(row: Row, start: usize, at: usize, end: usize, crcMost: u32): bool {
  const magic = load<u32>(at, MAGIC);
  const sysFlag = be32(at + SYS_FLAG);
  const body = at + HEAD + bornHostLength(sysFlag) + storeHostLength(sysFlag);
  // The topic's length takes one byte at least.
  if (body >= end) return false;
  const bodyLength = be32(body - 4);
  if (bodyLength >= <u32> (end - body)) return false;

  let topic = body + bodyLength;
  let topicLength: u32 = load<u8>(topic);
  if (magic == MAGIC_V1) {
    if (topicLength > 127) return false;
    topic += 1;
  } else {
    if (magic != MAGIC_V2 || end - topic < 2) return false;
    topicLength = be16(topic);
    if (topicLength > SHORT_MAX) return false;
    topic += 2;
  }
  if (<u32> (end - topic) < topicLength + 2) return false;
  const properties = topic + topicLength + 2;
  const propertiesLength = be16(properties - 2);
  if (propertiesLength > SHORT_MAX || propertiesLength > <u32> (end - properties)) return false;

  row.body = <u32> (body - start);
  row.bodyLength = bodyLength;
  row.topic = <u32> (topic - start);
  row.topicLength = <u16> topicLength;
  row.queueOffset = bswap<i64>(load<i64>(at, QUEUE_OFFSET));
  row.sysFlag = sysFlag;
  noteProperties(row, start, properties, propertiesLength);
  if (isInnerBatch(sysFlag)) row.kind = <u8> abi.ROW_BATCH;
  // Elements have no checksum of their own that could be compared later.
  const isCompared = isInnerBatch(sysFlag) ? crcMost > 0 : bodyLength < crcMost;
  if (isCompared && !isIntact(at, body, bodyLength)) row.status = <u8> abi.ROW_BAD_CRC;
  else if (!isInnerBatch(sysFlag)) learnAlike(row, start, at);
  return true;
}

/** Whether a body matches the checksum of its record. The sign bit is not part of that. */
function isIntact(at: usize, body: usize, length: u32): bool {
  return (crc32Of(body, length, 0) & 0x7fffffff) == be32(at + BODY_CRC);
}
