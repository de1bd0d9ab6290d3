// Headers of the ROCKETMQ kind, as they arrive:
//
//   code i16 │ language u8 │ version i16 │ opaque i32 │ flag i32 │ remark length i32, remark │ ext length i32, entries
//   entry  =  key length i16, key │ value length i32, value
//
// An empty value is the same as none there. What contradicts itself leaves `fields` at 0, as in json_header.ts, and like there
// a header is first held against the learned shapes.

import * as abi from "./abi";
import { clearFields, enterField, placeOf } from "./ext_fields";
import { fieldOf } from "./names";
import { HOLE_BROKER_ID32, HOLE_ENTRIES32, HOLE_NUMBER32, HOLE_OPAQUE32, HOLE_OTHER32, HOLE_TEXT32 } from "./steps";
import { be16, be32, Completion } from "./shared";
import { forgetNotes, learnShape, matchesShape, note } from "./shapes";

const CODE: usize = 0;
const OPAQUE: usize = 5;
const FLAG: usize = 9;
const REMARK_LENGTH: usize = 13;
const REMARK: u32 = 17;
/** A header without remark and entries. */
const SHORTEST: u32 = REMARK + 4;
/** The two lengths of an entry, and a key of one byte. */
const ENTRY_SHORTEST: u32 = 2 + 1 + 4;
const MINUS: u32 = 45;

/** Reads a header into a completion. */
export function readBinaryHeader(to: Completion, at: usize, length: u32): void {
  const end = at + length;
  if (matchesShape(to, at, end)) return;
  clearFields(to);
  forgetNotes();
  if (scan(to, at, length)) learnShape(to, at, end);
  else clearFields(to);
}

function scan(to: Completion, at: usize, length: u32): bool {
  if (length < SHORTEST) return false;
  const remark = be32(at + REMARK_LENGTH);
  if (remark > length - SHORTEST) return false;
  const ext = at + REMARK + remark;
  const entries = be32(ext);
  if (entries != length - SHORTEST - remark) return false;
  note(HOLE_OPAQUE32, 0, at + OPAQUE, 4);
  if (remark) note(HOLE_OTHER32, 0, at + REMARK_LENGTH, 4 + remark);
  note(HOLE_ENTRIES32, 0, ext, 4);
  const fields = readEntries(to, ext + 4, entries);
  if (!fields) return false;
  to.code = <i32> <i16> be16(at + CODE);
  to.token = be32(at + OPAQUE);
  to.flag = be32(at + FLAG);
  to.fields = remark ? fields | abi.FIELD_REMARK : fields;
  return true;
}

/** Returns FIELD_READ and the bits of what was there; 0 when it gives up. */
function readEntries(to: Completion, at: usize, length: u32): u32 {
  const end = at + length;
  let fields: u32 = abi.FIELD_READ;
  while (at < end) {
    let left = <u32> (end - at);
    if (left < ENTRY_SHORTEST) return 0;
    const key = at + 2, keyLength = be16(at);
    left -= 6;
    if (!keyLength || keyLength > 0x7fff || keyLength > left) return 0;
    const value = key + keyLength + 4, valueLength = be32(key + keyLength);
    if (valueLength > left - keyLength) return 0;
    const field = valueLength ? fieldOf(key, keyLength) : <u32> abi.FIELD_OTHER;
    if (field != abi.FIELD_OTHER && (fields & field || !enterField(to, field, value, valueLength))) return 0;
    fields |= field;
    at = value + valueLength;
    if (valueLength) noteEntry(field, value, valueLength);
  }
  return fields;
}

function noteEntry(field: u32, value: usize, length: u32): void {
  const at = value - 4, size = length + 4;
  if (field == abi.FIELD_OTHER) note(HOLE_OTHER32, 0, at, size);
  else if (field == abi.FIELD_TEXT) note(HOLE_TEXT32, 0, at, size);
  // A minus is part of a literal, and so is what stands behind it.
  else if (load<u8>(value) != MINUS) {
    note(field == abi.FIELD_BROKER_ID ? HOLE_BROKER_ID32 : HOLE_NUMBER32, placeOf(field), at, size);
  }
}
