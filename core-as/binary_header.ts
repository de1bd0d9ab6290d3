// Headers of the ROCKETMQ kind, as they arrive:
//
//   code i16 │ language u8 │ version i16 │ opaque i32 │ flag i32 │ remark length i32, remark │ ext length i32, entries
//   entry  =  key length i16, key │ value length i32, value
//
// An empty value is the same as none there. What contradicts itself leaves `fields` at 0, as in json_header.ts.

import * as abi from "./abi";
import { enterField, fieldOf, forgetFields } from "./ext_fields";
import { be16, be32, Completion } from "./shared";

const CODE: usize = 0;
const OPAQUE: usize = 5;
const FLAG: usize = 9;
const REMARK_LENGTH: usize = 13;
const REMARK: u32 = 17;
/** A header without remark and entries. */
const SHORTEST: u32 = REMARK + 4;
/** The two lengths of an entry, and a key of one byte. */
const ENTRY_SHORTEST: u32 = 2 + 1 + 4;

/** Reads a header into a cleared completion. */
export function readBinaryHeader(to: Completion, at: usize, length: u32): void {
  if (length < SHORTEST) return;
  const remark = be32(at + REMARK_LENGTH);
  if (remark > length - SHORTEST) return;
  const ext = at + REMARK + remark;
  const entries = be32(ext);
  if (entries != length - SHORTEST - remark) return;

  to.code = <i32> <i16> be16(at + CODE);
  to.token = be32(at + OPAQUE);
  to.flag = be32(at + FLAG);
  if (remark) to.fields = abi.FIELD_REMARK;
  if (readEntries(to, ext + 4, entries)) to.fields |= abi.FIELD_READ;
  else forgetFields(to);
}

function readEntries(to: Completion, at: usize, length: u32): bool {
  const end = at + length;
  while (at < end) {
    let left = <u32> (end - at);
    if (left < ENTRY_SHORTEST) return false;
    const key = at + 2, keyLength = be16(at);
    left -= 6;
    if (!keyLength || keyLength > 0x7fff || keyLength > left) return false;
    const value = key + keyLength + 4, valueLength = be32(key + keyLength);
    if (valueLength > left - keyLength) return false;
    const field = valueLength ? fieldOf(key, keyLength) : <u32> abi.FIELD_OTHER;
    if (!enterField(to, field, value, valueLength)) return false;
    at = value + valueLength;
  }
  return true;
}
