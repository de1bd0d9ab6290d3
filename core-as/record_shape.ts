// Records that look like the one before. Messages of one batch often have the same size in all their parts; then everything
// that a row says is where it was, only further on. Total size, magic, flags and four lengths are compared, and the properties
// with their layout: if all are the same, so are all bounds that were checked when the shape was learned, and a row is four
// vectors and an addition. Bodies of changing lengths cost one comparison.
//
// The rows of a whole run of such records are made in one loop, with the row and what is compared in registers.

import * as abi from "./abi";
import { difference, layoutBytes, layoutGeneration, matchesLayout } from "./properties";
import { Row, rowAt } from "./rows";

/** A record whose row has been read piece by piece. Words are as they lie on the wire. Behind it: its row, and a mask. */
@unmanaged
class Shape {
  sizeAndMagic: u64;
  /** The size as a number. */
  length: u32;
  sysFlag: u32;
  bodyLength: u32;
  /** Of one byte or two: see the mask. */
  topicLength: u32;
  topicLengthMask: u32;
  /** As a number; 0: nothing is known. */
  propertiesLength: u32;
  propertiesLengthWord: u32;
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
 * Fills rows from `first` on with the records from `at` on that look like the shape, one behind the other; all of each row is
 * written. Returns the index behind them. They are `alikeLength` bytes long each.
 *
 * Where a record ends is a constant here, so that no record waits for the row of the one before; and as long as the records
 * run on, each row is the one before with a length added to its positions.
 */
export function readAlike(first: u32, start: usize, at: usize, end: usize): u32 {
  const shape = changetype<Shape>(SHAPE), length = shape.length;
  if (<u32> (end - at) < length || load<u32>(at) != <u32> shape.sizeAndMagic) return first;
  const propertiesLength: u32 = shape.propertiesLength, layout = layoutBytes(propertiesLength);
  if (!layout || shape.generation != layoutGeneration()) return first;
  const sizeAndMagic = shape.sizeAndMagic, sysFlag = shape.sysFlag, bodyLength = shape.bodyLength;
  const topicLength = shape.topicLength, topicLengthMask = shape.topicLengthMask;
  const propertiesLengthWord = shape.propertiesLengthWord;
  const bodyAt = shape.bodyAt, topicLengthAt = shape.topicLengthAt, propertiesAt = shape.propertiesAt;
  const moved = i32x4.splat(<i32> (at - start)), step = i32x4.splat(<i32> length);
  const step0 = v128.and(step, v128.load(SHAPE, MASK)), step1 = v128.and(step, v128.load(SHAPE, MASK + 16));
  const step2 = v128.and(step, v128.load(SHAPE, MASK + 32)), step3 = v128.and(step, v128.load(SHAPE, MASK + 48));
  let row0 = v128.add<i32>(v128.load(SHAPE, ROW), v128.and(moved, v128.load(SHAPE, MASK)));
  let row1 = v128.add<i32>(v128.load(SHAPE, ROW + 16), v128.and(moved, v128.load(SHAPE, MASK + 16)));
  let row2 = v128.add<i32>(v128.load(SHAPE, ROW + 32), v128.and(moved, v128.load(SHAPE, MASK + 32)));
  let row3 = v128.add<i32>(v128.load(SHAPE, ROW + 48), v128.and(moved, v128.load(SHAPE, MASK + 48)));
  // Eight bytes of the wire as a number; bswap is a dozen instructions.
  const backwards = i8x16(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
  const lastVector = propertiesLength - 16, lastRecord = end - length;
  const rows = changetype<usize>(rowAt(0)), rowsEnd = rows + <u32> abi.ROW_ENTRIES * ROW_SIZE;
  let row = rows + first * ROW_SIZE;
  while (at <= lastRecord && row < rowsEnd) {
    const properties = at + propertiesAt;
    const wrong = (load<u64>(at) ^ sizeAndMagic) |
      <u64> ((load<u32>(at, 36) ^ sysFlag) | (load<u32>(at + bodyAt - 4) ^ bodyLength) |
        ((<u32> load<u16>(at + topicLengthAt) & topicLengthMask) ^ topicLength) |
        (<u32> load<u16>(properties - 2) ^ propertiesLengthWord));
    if (wrong) break;
    // As in `matchesLayout`; a call here would put all vectors on the stack, and take as long as what it does.
    let differing = difference(layout + lastVector, properties + lastVector), part: u32 = 0;
    for (; part + 16 < lastVector; part += 32) {
      differing = v128.or(
        differing,
        v128.or(
          difference(layout + part, properties + part),
          difference(layout + part + 16, properties + part + 16),
        ),
      );
    }
    if (part < lastVector) differing = v128.or(differing, difference(layout + part, properties + part));
    if (v128.any_true(differing)) break;
    v128.store(row, row0);
    v128.store(row, row1, 16);
    v128.store(row, row2, 32);
    v128.store(row, row3, 48);
    v128.store64_lane(row, i8x16.swizzle(v128.load(at, 20), backwards), 0, offsetof<Row>("queueOffset"));
    row0 = v128.add<i32>(row0, step0);
    row1 = v128.add<i32>(row1, step1);
    row2 = v128.add<i32>(row2, step2);
    row3 = v128.add<i32>(row3, step3);
    row += ROW_SIZE;
    at += length;
  }
  return <u32> (row - rows) / ROW_SIZE;
}

/** Bytes of each record that looks like the shape. */
export function alikeLength(): u32 {
  return changetype<Shape>(SHAPE).length;
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
  const record = <u32> (at - start);
  shape.bodyAt = row.body - record;
  shape.topicLengthAt = row.body + row.bodyLength - record;
  shape.topicLengthMask = row.topic - row.body - row.bodyLength == 1 ? 0xff : 0xffff;
  shape.propertiesAt = row.properties - record;
  shape.propertiesLength = row.propertiesLength;
  shape.propertiesLengthWord = load<u16>(at + shape.propertiesAt - 2);
  shape.length = row.recordLength;
  shape.sizeAndMagic = load<u64>(at);
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
}

function keep(field: u32, value: u32, mask: i32): void {
  store<u32>(SHAPE + field, value, ROW);
  store<i32>(SHAPE + field, mask, MASK);
}
