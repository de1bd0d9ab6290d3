// The walk over the body of a pull: one pass that checks every length, compares checksums and notes in rows where the parts
// of each record are. Records lie back to back; all integers are big endian.
//
//   record     = totalSize i32, magic i32, bodyCRC i32, queueId i32, flag i32, queueOffset i64, physicalOffset i64,
//                sysFlag i32, bornTimestamp i64, bornHost 8|20, storeTimestamp i64, storeHost 8|20, reconsumeTimes i32,
//                preparedTransactionOffset i64, bodyLength i32, body, topicLength i8 (v1) | i16 (v2), topic,
//                propertiesLength i16, properties
//   properties = *( name %x01 value %x02 )          the last %x02 may be missing
//   element    = totalSize i32, magic i32, crc i32, flag i32, bodyLength i32, body, propertiesLength i16, properties
//
// An inner batch is a record whose body is a run of elements.

import * as abi from "./abi";
import { inArena } from "./arena";
import { crc32Of } from "./crc32";
import { freshRow, Row, rowAt } from "./rows";
import { Submission } from "./shared";
import { bornHostLength, isCompressed, isInnerBatch, storeHostLength } from "./sys_flag";

const ROW_ENTRIES: u32 = abi.ROW_ENTRIES;

/** Both hosts v4, no body, topic or properties. */
const RECORD_MIN: u32 = 91;
const ELEMENT_MIN: u32 = 22;
/** Lengths of 16 bits are signed. */
const SHORT_MAX: u32 = 32767;
const MAGIC_V1: u32 = 0xdaa320a7;
const MAGIC_V2: u32 = 0xdaa320ab;

// Where the fields of a record are that do not depend on the hosts.
const MAGIC: usize = 4;
const BODY_CRC: usize = 8;
const QUEUE_OFFSET: usize = 20;
const SYS_FLAG: usize = 36;
/** Bytes of the fixed fields up to the body, without the hosts. */
const HEAD: usize = 72;
const ELEMENT_BODY_LENGTH: usize = 16;
const ELEMENT_BODY: usize = 20;

const NAME_VALUE: u8 = 1;
const PROPERTY: i8 = 2;
/** "TAGS", "KEYS" and "UNIQ_KEY", as a load reads them. */
const TAGS: u32 = 0x53474154;
const KEYS: u32 = 0x5359454b;
const UNIQ_KEY: u64 = 0x59454b5f51494e55;

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
  const checkCrc = (entry.flags & abi.WALK_CRC) != 0;
  const start: usize = entry.ptr, end = start + entry.len;
  let at = start + <u32> entry.value;
  let count: u32 = 0;
  while (at < end && count < ROW_ENTRIES) {
    const length = recordLength(at, end);
    const row = freshRow(count, <u32> (at - start), length ? length : <u32> (end - at));
    if (!length) {
      row.status = <u8> abi.ROW_BAD_REST;
      count++;
      at = end;
      break;
    }
    if (!readRecord(row, start, at, at + length, checkCrc)) {
      row.status = <u8> abi.ROW_BAD_RECORD;
    } else if (row.kind == <u8> abi.ROW_BATCH && row.status == <u8> abi.ROW_OK && !isCompressed(row.sysFlag)) {
      const after = unwrap(count, start);
      if (after <= ROW_ENTRIES) {
        count = after;
        at += length;
        continue;
      }
      // The batch gets its rows in the next walk, unless it had all of them already.
      if (count) break;
    }
    count++;
    at += length;
  }
  entry.value = <f64> (at - start);
  entry.result = count;
}

/** The record's total size, or 0 when that makes no sense. */
function recordLength(at: usize, end: usize): u32 {
  if (end - at < RECORD_MIN) return 0;
  const length = loadU32(at);
  return length >= RECORD_MIN && length <= <u32> (end - at) ? length : 0;
}

/** Reads one record whose first RECORD_MIN bytes are there. False when its parts do not fit in it; then nothing is noted. */
function readRecord(row: Row, start: usize, at: usize, end: usize, checkCrc: bool): bool {
  const magic = loadU32(at + MAGIC);
  if (magic != MAGIC_V1 && magic != MAGIC_V2) return false;
  const sysFlag = loadU32(at + SYS_FLAG);
  const body = at + HEAD + bornHostLength(sysFlag) + storeHostLength(sysFlag);
  // The topic's length takes one byte at least.
  if (body >= end) return false;
  const bodyLength = loadU32(body - 4);
  if (bodyLength >= <u32> (end - body)) return false;

  let topic = body + bodyLength;
  let topicLength: u32 = load<u8>(topic);
  if (magic == MAGIC_V1) {
    if (topicLength > 127) return false;
    topic += 1;
  } else {
    if (end - topic < 2) return false;
    topicLength = loadU16(topic);
    if (topicLength > SHORT_MAX) return false;
    topic += 2;
  }
  if (<u32> (end - topic) < topicLength + 2) return false;
  const properties = topic + topicLength + 2;
  const propertiesLength = loadU16(properties - 2);
  if (propertiesLength > SHORT_MAX || propertiesLength > <u32> (end - properties)) return false;

  row.body = <u32> (body - start);
  row.bodyLength = bodyLength;
  row.topic = <u32> (topic - start);
  row.topicLength = <u16> topicLength;
  row.queueOffset = bswap<i64>(load<i64>(at + QUEUE_OFFSET));
  row.sysFlag = sysFlag;
  noteProperties(row, start, properties, propertiesLength);
  if (isInnerBatch(sysFlag)) row.kind = <u8> abi.ROW_BATCH;
  if (checkCrc && (crc32Of(body, bodyLength, 0) & 0x7fffffff) != loadU32(at + BODY_CRC)) {
    row.status = <u8> abi.ROW_BAD_CRC;
  }
  return true;
}

/** Notes the properties, and where the values of TAGS, KEYS and UNIQ_KEY are: the last of each name that is not empty. */
function noteProperties(row: Row, start: usize, properties: usize, length: u32): void {
  row.properties = <u32> (properties - start);
  row.propertiesLength = <u16> length;
  const separator = i8x16.splat(PROPERTY);
  const end = properties + length;
  let pair = properties;
  for (let block = properties; block < end; block += 16) {
    let found = i8x16.bitmask(v128.eq<i8>(v128.load(block), separator));
    // What lies behind the properties is somebody else's.
    if (end - block < 16) found &= (1 << <i32> (end - block)) - 1;
    for (; found; found &= found - 1) {
      const pairEnd = block + ctz(found);
      noteProperty(row, start, pair, pairEnd);
      pair = pairEnd + 1;
    }
  }
  if (pair < end) noteProperty(row, start, pair, end);
}

/** One pair without its separator. The name has no %x01 in it, so the first one ends it. */
function noteProperty(row: Row, start: usize, pair: usize, end: usize): void {
  const length = <u32> (end - pair);
  if (length < 6) return;
  const name = load<u32>(pair);
  if (load<u8>(pair, 4) == NAME_VALUE) {
    if (name == TAGS) {
      row.tags = <u32> (pair + 5 - start);
      row.tagsLength = <u16> (length - 5);
    } else if (name == KEYS) {
      row.keys = <u32> (pair + 5 - start);
      row.keysLength = <u16> (length - 5);
    }
  } else if (length > 9 && load<u64>(pair) == UNIQ_KEY && load<u8>(pair, 8) == NAME_VALUE) {
    row.uniqKey = <u32> (pair + 9 - start);
    row.uniqKeyLength = <u16> (length - 9);
  }
}

/**
 * Writes one row for each element of the inner batch that row `first` describes, over that row. A broken element is the
 * batch's last. Returns the index behind the last row; more than ROW_ENTRIES, and the row as it was, when they do not fit.
 */
function unwrap(first: u32, start: usize): u32 {
  const batch = rowAt(first);
  const body = start + batch.body, end = body + batch.bodyLength;
  const elements = countElements(body, end, ROW_ENTRIES - first);
  if (elements > ROW_ENTRIES - first) return ROW_ENTRIES + 1;

  // Everything that the elements have in common; the first of them takes the batch's own row.
  const record = batch.record, recordLength = batch.recordLength;
  const topic = batch.topic, topicLength = batch.topicLength;
  const queueOffset = batch.queueOffset, sysFlag = batch.sysFlag;
  let at = body;
  for (let i: u32 = 0; i < elements; i++) {
    const row = freshRow(first + i, record, recordLength);
    row.topic = topic;
    row.topicLength = topicLength;
    row.queueOffset = queueOffset + i;
    row.sysFlag = sysFlag;
    row.kind = <u8> abi.ROW_ELEMENT;
    row.innerIndex = <u16> i;
    const length = elementLength(at, end);
    if (length) noteElement(row, start, at);
    else row.status = <u8> abi.ROW_BAD_RECORD;
    at += length;
  }
  return first + elements;
}

/** Elements of a batch, a broken one included, but not more than one beyond `most`. */
function countElements(at: usize, end: usize, most: u32): u32 {
  let count: u32 = 0;
  while (at < end && count <= most) {
    const length = elementLength(at, end);
    count++;
    if (!length) break;
    at += length;
  }
  return count;
}

/** The element's total size, or 0 when that or a length in it makes no sense. */
function elementLength(at: usize, end: usize): u32 {
  const rest = <u32> (end - at);
  if (rest < ELEMENT_MIN) return 0;
  const length = loadU32(at);
  if (length < ELEMENT_MIN || length > rest) return 0;
  const bodyLength = loadU32(at + ELEMENT_BODY_LENGTH);
  if (bodyLength > length - ELEMENT_MIN) return 0;
  const propertiesLength = loadU16(at + ELEMENT_BODY + bodyLength);
  return propertiesLength <= SHORT_MAX && propertiesLength <= length - ELEMENT_MIN - bodyLength ? length : 0;
}

/** Only for an element whose lengths fit. */
function noteElement(row: Row, start: usize, at: usize): void {
  const body = at + ELEMENT_BODY;
  const bodyLength = loadU32(at + ELEMENT_BODY_LENGTH);
  row.body = <u32> (body - start);
  row.bodyLength = bodyLength;
  noteProperties(row, start, body + bodyLength + 2, loadU16(body + bodyLength));
}

function loadU32(at: usize): u32 {
  return bswap<u32>(load<u32>(at));
}

function loadU16(at: usize): u32 {
  return bswap<u16>(load<u16>(at));
}
