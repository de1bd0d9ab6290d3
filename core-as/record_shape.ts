// Records that look like the one before. Messages of one batch often have the same size in all their parts; then everything
// that a row says is where it was, only further on. Total size, magic, flags and four lengths are compared, and the properties
// with their layout: if all are the same, so are all bounds that were checked when the shape was learned, and a row is four
// vectors and an addition. Bodies of changing lengths cost one comparison.

import * as abi from "./abi";
import { layoutGeneration, matchesLayout } from "./properties";
import { Row } from "./rows";

/** A record whose row has been read piece by piece. Words are as they lie on the wire. Behind it: its row, and a mask. */
@unmanaged
class Shape {
  size: u32;
  /** The size as a number; 0: nothing is known. */
  length: u32;
  magic: u32;
  sysFlag: u32;
  bodyLength: u32;
  /** Of one byte or two: see the mask. */
  topicLength: u32;
  topicLengthMask: u32;
  propertiesLength: u32;
  // Positions in the record.
  bodyAt: u32;
  topicLengthAt: u32;
  propertiesAt: u32;
  /** Of the layouts when it was learned. */
  generation: u32;
}

const ROW_SIZE: u32 = abi.ROW_SIZE;
const ROW: usize = 64;
/** All ones for each position in the row that is one. */
const MASK: usize = ROW + abi.ROW_SIZE;
const SHAPE: usize = memory.data(192, 16);
/** Size of the record before, as on the wire: only what comes twice is learned. */
let before: u32 = 0;

if (offsetof<Shape>() > ROW || MASK + abi.ROW_SIZE != 192) ERROR("Shape does not fit");

/**
 * Fills the row of the record at `at`, of whose `rest` bytes the first 91 are there, when it looks like the shape. All of the
 * row is written.
 */
export function readAlike(row: Row, start: usize, at: usize, rest: u32): bool {
  const shape = changetype<Shape>(SHAPE);
  if (load<u32>(at) != shape.size || shape.length > rest || shape.generation != layoutGeneration()) return false;
  const properties = at + shape.propertiesAt;
  const wrong = (load<u32>(at, 4) ^ shape.magic) | (load<u32>(at, 36) ^ shape.sysFlag) |
    (load<u32>(at + shape.bodyAt - 4) ^ shape.bodyLength) |
    ((<u32> load<u16>(at + shape.topicLengthAt) & shape.topicLengthMask) ^ shape.topicLength) |
    (<u32> bswap<u16>(load<u16>(properties - 2)) ^ shape.propertiesLength);
  if (wrong || !matchesLayout(properties, shape.propertiesLength)) return false;
  const to = changetype<usize>(row);
  const moved = i32x4.splat(<i32> (at - start));
  for (let i: u32 = 0; i < ROW_SIZE; i += 16) {
    const from = v128.load(SHAPE + i, ROW), mask = v128.load(SHAPE + i, MASK);
    v128.store(to + i, v128.add<i32>(from, v128.and(moved, mask)));
  }
  row.queueOffset = bswap<i64>(load<i64>(at, 20));
  return true;
}

/**
 * Learns from a plain, sound record and its row, when it is as long as the record before. Its properties must have the layout
 * that is known: after many misses none is learned, and the one that is kept is another record's.
 */
export function learnAlike(row: Row, start: usize, at: usize): void {
  const shape = changetype<Shape>(SHAPE);
  const size = load<u32>(at);
  if (size != before) {
    before = size;
    return;
  }
  if (!matchesLayout(start + row.properties, row.propertiesLength)) return;
  // Until all of it is written there is no shape.
  shape.size = 0;
  const record = <u32> (at - start);
  shape.bodyAt = row.body - record;
  shape.topicLengthAt = row.body + row.bodyLength - record;
  shape.topicLengthMask = row.topic - row.body - row.bodyLength == 1 ? 0xff : 0xffff;
  shape.propertiesAt = row.properties - record;
  shape.propertiesLength = row.propertiesLength;
  shape.length = row.recordLength;
  shape.magic = load<u32>(at, 4);
  shape.sysFlag = load<u32>(at, 36);
  shape.bodyLength = load<u32>(at + shape.bodyAt - 4);
  shape.topicLength = <u32> load<u16>(at + shape.topicLengthAt) & shape.topicLengthMask;
  shape.generation = layoutGeneration();
  const from = changetype<usize>(row);
  for (let i: u32 = 0; i < ROW_SIZE; i += 4) keep(i, load<u32>(from + i), 0);
  keep(offsetof<Row>("record"), 0, -1);
  keep(offsetof<Row>("body"), shape.bodyAt, -1);
  keep(offsetof<Row>("topic"), row.topic - record, -1);
  keep(offsetof<Row>("properties"), shape.propertiesAt, -1);
  if (row.tags) keep(offsetof<Row>("tags"), row.tags - record, -1);
  if (row.keys) keep(offsetof<Row>("keys"), row.keys - record, -1);
  if (row.uniqKey) keep(offsetof<Row>("uniqKey"), row.uniqKey - record, -1);
  shape.size = size;
}

function keep(field: u32, value: u32, mask: i32): void {
  store<u32>(SHAPE + field, value, ROW);
  store<i32>(SHAPE + field, mask, MASK);
}
