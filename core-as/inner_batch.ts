// Inner batches: a record whose body is a run of elements, which the client has to tell apart. Each becomes a row.
//
//   element = totalSize i32, magic i32, crc i32, flag i32, bodyLength i32, body, propertiesLength i16, properties

import * as abi from "./abi";
import { noteProperties } from "./properties";
import { freshRow, Row, rowAt } from "./rows";
import { be16, be32 } from "./shared";

const ROW_ENTRIES: u32 = abi.ROW_ENTRIES;

const ELEMENT_MIN: u32 = 22;
/** Lengths of 16 bits are signed. */
const SHORT_MAX: u32 = 32767;
const ELEMENT_BODY_LENGTH: usize = 16;
const ELEMENT_BODY: usize = 20;

/**
 * Writes one row for each element of the inner batch that row `first` describes, over that row. A broken element is the
 * batch's last. Returns the index behind the last row; more than ROW_ENTRIES, and the row as it was, when they do not fit.
 */
export function unwrap(first: u32, start: usize): u32 {
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
  const length = be32(at);
  if (length < ELEMENT_MIN || length > rest) return 0;
  const bodyLength = be32(at + ELEMENT_BODY_LENGTH);
  if (bodyLength > length - ELEMENT_MIN) return 0;
  const propertiesLength = be16(at + ELEMENT_BODY + bodyLength);
  return propertiesLength <= SHORT_MAX && propertiesLength <= length - ELEMENT_MIN - bodyLength ? length : 0;
}

/** Only for an element whose lengths fit. */
function noteElement(row: Row, start: usize, at: usize): void {
  const body = at + ELEMENT_BODY;
  const bodyLength = be32(at + ELEMENT_BODY_LENGTH);
  row.body = <u32> (body - start);
  row.bodyLength = bodyLength;
  noteProperties(row, start, body + bodyLength + 2, be16(body + bodyLength));
}
