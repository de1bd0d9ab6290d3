// Where the values of TAGS, KEYS and UNIQ_KEY are in the properties of a record: the last of each name that is not empty.
//
//   properties = *( name %x01 value %x02 )          the last %x02 may be missing
//
// The messages of a queue mostly have the same properties, and values of the same lengths. So the layout of one record's
// properties is kept: its bytes, and a mask that says which of them are names and separators. The next record of that
// length is compared with it 16 bytes at a time: all names and separators must be the same, and no value may hold a
// separator. Then every pair lies where it lay, which is proof and no guess. Anything else is read pair by pair.

import { Row } from "./rows";

const NAME_VALUE: u8 = 1;
const PROPERTY: u8 = 2;
/** "TAGS", "KEYS" and "UNIQ_KEY", as a load reads them. */
const TAGS: u32 = 0x53474154;
const KEYS: u32 = 0x5359454b;
const UNIQ_KEY: u64 = 0x59454b5f51494e55;

/** What is known of properties of one length. Behind it: their bytes and their mask, PART bytes each. */
@unmanaged
class Layout {
  /** 0: nothing is known. */
  length: u32;
  reserved: u32;
  /** Positions and lengths as in a row from `tags` on, positions counted from the first property. */
  tags: u32;
  tagsLength: u16;
  keysLength: u16;
  keys: u32;
  uniqKey: u32;
  uniqKeyLength: u32;
}

/** Longer properties are read pair by pair, and so are those shorter than one vector. */
const PART: u32 = 256;
const LENGTH_MIN: u32 = 16;
const HEAD: u32 = 32;
const LAYOUT: u32 = HEAD + 2 * PART;
/** One for each value of the length's low bits. */
const LAYOUTS: u32 = 8;
const layouts: usize = memory.data(8 * (32 + 2 * 256), 16);

if (offsetof<Layout>() > HEAD) ERROR("Layout does not fit before its bytes");
if (LAYOUTS * LAYOUT != 8 * (32 + 2 * 256)) ERROR("the layouts have another size");

/** After so many misses in a row nothing is learned for a while: that bounds what a peer without habits can cost. */
const MISSES_MAX: u32 = 32;
const PAUSE: u32 = 512;
let misses: u32 = 0;
let generation: u32 = 0;

/** Notes properties in a fresh row, and what they have of the three. Positions count from `start`. */
export function noteProperties(row: Row, start: usize, properties: usize, length: u32): void {
  row.properties = <u32> (properties - start);
  row.propertiesLength = <u16> length;
  if (length - LENGTH_MIN > PART - LENGTH_MIN) {
    if (length) readPairs(row, start, properties, length);
    return;
  }
  const layout = layoutOf(length);
  if (matchesLayout(properties, length)) {
    const base = <u32> (properties - start);
    if (layout.tags) row.tags = base + layout.tags;
    if (layout.keys) row.keys = base + layout.keys;
    if (layout.uniqKey) row.uniqKey = base + layout.uniqKey;
    store<u32>(
      changetype<usize>(row),
      load<u32>(changetype<usize>(layout), offsetof<Layout>("tagsLength")),
      offsetof<Row>("tagsLength"),
    );
    row.uniqKeyLength = <u16> layout.uniqKeyLength;
    misses = 0;
    return;
  }
  readPairs(row, start, properties, length);
  if (++misses < MISSES_MAX) learn(layout, row, start, properties, length);
  else if (misses > PAUSE) misses = 0;
}

/** Changes with every layout that is learned. */
export function layoutGeneration(): u32 {
  return generation;
}

/** Where the bytes of the layout lie that is known for a length, for `difference`; 0 when there is none. */
export function layoutBytes(length: u32): usize {
  const layout = layoutOf(length);
  return layout.length == length && length ? changetype<usize>(layout) + HEAD : 0;
}

/** Whether properties have the layout that is known for their length. */
export function matchesLayout(properties: usize, length: u32): bool {
  const bytes = layoutBytes(length);
  return bytes && matches(bytes, properties, length);
}

function layoutOf(length: u32): Layout {
  return changetype<Layout>(layouts + (length & (LAYOUTS - 1)) * LAYOUT);
}

/** Whether names and separators are those of the layout, and none is in a value. */
function matches(bytes: usize, properties: usize, length: u32): bool {
  const last = length - 16;
  // The last vector ends with the properties.
  let wrong = difference(bytes + last, properties + last);
  let at: u32 = 0;
  for (; at + 16 < last; at += 32) {
    wrong = v128.or(
      wrong,
      v128.or(difference(bytes + at, properties + at), difference(bytes + at + 16, properties + at + 16)),
    );
  }
  if (at < last) wrong = v128.or(wrong, difference(bytes + at, properties + at));
  return !v128.any_true(wrong);
}

/**
 * Zeroes when 16 bytes fit. The kept bytes are 2 where a value is: they must differ there, and be equal elsewhere, which is
 * what the mask says.
 */
export function difference(kept: usize, properties: usize): v128 {
  return v128.xor(v128.eq<i8>(v128.load(kept), v128.load(properties)), v128.load(kept, PART));
}

/** Keeps the layout of properties that were read into `row`. */
function learn(layout: Layout, row: Row, start: usize, properties: usize, length: u32): void {
  layout.length = 0;
  generation++;
  const bytes = changetype<usize>(layout) + HEAD;
  let inValue = false;
  for (let i: u32 = 0; i < length; i++) {
    const byte = load<u8>(properties + i);
    if (byte == PROPERTY) inValue = false;
    store<u8>(bytes + i, inValue ? PROPERTY : byte);
    store<u8>(bytes + i, inValue ? 0 : 255, PART);
    if (byte == NAME_VALUE) inValue = true;
  }
  const base = <u32> (properties - start);
  layout.tags = row.tags ? row.tags - base : 0;
  layout.tagsLength = row.tagsLength;
  layout.keysLength = row.keysLength;
  layout.keys = row.keys ? row.keys - base : 0;
  layout.uniqKey = row.uniqKey ? row.uniqKey - base : 0;
  layout.uniqKeyLength = row.uniqKeyLength;
  layout.length = length;
}

function readPairs(row: Row, start: usize, properties: usize, length: u32): void {
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
