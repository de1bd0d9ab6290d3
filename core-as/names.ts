// Names in headers: those of hot answers that completions have a place for, and those that every server writes beside them.
//
// A name in JSON is compared together with the quote that ends it. Then its length is a constant behind a branch, and the
// position behind it does not wait for a search through its bytes.

import * as abi from "./abi";

// Parts of names as one load sees them, here without a quote; a last part may overlap the one before it.
const QUEUE_OFF: u64 = 0x66664f6575657571;
const FSET: u32 = 0x74657366;
const NEXT_BEG: u64 = 0x696765427478656e; // "nextBegi"
const IN_OFFSET: u64 = 0x74657366664f6e69;
const OFFS: u32 = 0x7366666f;
const ET: u32 = 0x7465;
const QUEU: u32 = 0x75657571;
const UE_ID: u32 = 0x64496575;
const MIN_OFFSE: u64 = 0x657366664f6e696d;
const MAX_OFFSE: u64 = 0x657366664f78616d;
const T: u32 = 0x74;
const MSG_I: u32 = 0x4967736d;
const D: u32 = 0x64;
const SUGGEST_W: u64 = 0x5774736567677573;
const HICH_BROK: u64 = 0x6b6f724268636968;
const ER_ID: u32 = 0x64497265;

// With the quote behind, as in JSON.
const QUEUE_ID_QUOTE: u64 = 0x2264496575657571;
const D_QUOTE: u32 = 0x2264;
const SET_QUOTE: u32 = 0x22746573;
const T_QUOTE: u32 = 0x2274;
const N_OFFSET_QUOTE: u64 = 0x2274657366664f6e;
const QUOTE: u32 = 0x22;
const TRACE_ON: u64 = 0x4e4f5f4543415254;
const MSG_REGI: u64 = 0x494745525f47534d;
const ON: u32 = 0x4e4f;
const TRANSACT: u64 = 0x746361736e617274;
const CTIONID_QUOTE: u64 = 0x2264496e6f697463;
const CODE: u32 = 0x65646f63;
const FLAG: u32 = 0x67616c66;
const OPAQ: u32 = 0x7161706f;
const QUE_QUOTE: u32 = 0x22657571;
const REMA: u32 = 0x616d6572;
const ARK_QUOTE: u32 = 0x226b7261;
const EXT_FIELD: u64 = 0x646c656946747865;
const S_QUOTE: u32 = 0x2273;
const LANGUAGE: u64 = 0x65676175676e616c;
const VERSION_QUOTE: u64 = 0x226e6f6973726576;
const SERIALIZ: u64 = 0x7a696c6169726573;
const E_TYPE_CUR: u64 = 0x7275436570795465;
const RENT_RPC_QUOTE: u64 = 0x22435052746e6572;

/** A name and what it looks at begin so far before `end`; closer to it, names are read byte by byte. */
const NAME_ROOM: usize = 24;

export const SEEN_CODE: u32 = 1;
export const SEEN_FLAG: u32 = 2;
export const SEEN_OPAQUE: u32 = 4;
export const SEEN_REMARK: u32 = 8;
export const SEEN_EXT_FIELDS: u32 = 16;
export const SEEN_INTEGERS: u32 = SEEN_CODE | SEEN_FLAG | SEEN_OPAQUE;

/** Which FIELD_* an ext field fills; FIELD_OTHER for those that TypeScript reads. */
export function fieldOf(name: usize, length: u32): u32 {
  switch (<i32> length) {
    case 5:
      if (load<u32>(name) == MSG_I && load<u8>(name, 4) == D) return abi.FIELD_TEXT;
      break;
    case 6:
      if (load<u32>(name) == OFFS && load<u16>(name, 4) == ET) return abi.FIELD_A;
      break;
    case 7:
      if (load<u32>(name) == QUEU && load<u32>(name, 3) == UE_ID) return abi.FIELD_B;
      break;
    case 9:
      if (load<u8>(name, 8) != T) break;
      if (load<u64>(name) == MIN_OFFSE) return abi.FIELD_B;
      if (load<u64>(name) == MAX_OFFSE) return abi.FIELD_C;
      break;
    case 11:
      if (load<u64>(name) == QUEUE_OFF && load<u32>(name, 7) == FSET) return abi.FIELD_A;
      break;
    case 15:
      if (load<u64>(name) == NEXT_BEG && load<u64>(name, 7) == IN_OFFSET) return abi.FIELD_A;
      break;
    case 20:
      if (load<u64>(name) == SUGGEST_W && load<u64>(name, 8) == HICH_BROK && load<u32>(name, 16) == ER_ID) {
        return abi.FIELD_BROKER_ID;
      }
  }
  return abi.FIELD_OTHER;
}

/**
 * Which field a name in JSON is that has a place, its closing quote included: the field, and the name's length in the high
 * half. 0 for all others, and for those that have to be read byte by byte.
 */
export function knownField(name: usize, end: usize): u32 {
  if (end - name < NAME_ROOM) return 0;
  const word = load<u64>(name);
  if (word == QUEUE_ID_QUOTE) return 7 << 16 | abi.FIELD_B;
  if (word == QUEUE_OFF) {
    return load<u32>(name, 7) == FSET && load<u8>(name, 11) == QUOTE ? 11 << 16 | abi.FIELD_A : 0;
  }
  if (<u32> word == MSG_I) return load<u16>(name, 4) == D_QUOTE ? 5 << 16 | abi.FIELD_TEXT : 0;
  if (word == NEXT_BEG) return load<u64>(name, 8) == N_OFFSET_QUOTE ? 15 << 16 | abi.FIELD_A : 0;
  if (word == MIN_OFFSE) return load<u16>(name, 8) == T_QUOTE ? 9 << 16 | abi.FIELD_B : 0;
  if (word == MAX_OFFSE) return load<u16>(name, 8) == T_QUOTE ? 9 << 16 | abi.FIELD_C : 0;
  if (<u32> word == OFFS) return load<u32>(name, 3) == SET_QUOTE ? 6 << 16 | abi.FIELD_A : 0;
  if (word == TRACE_ON) return load<u8>(name, 8) == QUOTE ? 8 << 16 | abi.FIELD_OTHER : 0;
  if (word == MSG_REGI) return load<u16>(name, 8) == ON && load<u8>(name, 10) == QUOTE ? 10 << 16 | abi.FIELD_OTHER : 0;
  if (word == TRANSACT) return load<u64>(name, 6) == CTIONID_QUOTE ? 13 << 16 | abi.FIELD_OTHER : 0;
  if (word != SUGGEST_W || load<u64>(name, 8) != HICH_BROK) return 0;
  return load<u32>(name, 16) == ER_ID && load<u8>(name, 20) == QUOTE ? 20 << 16 | abi.FIELD_BROKER_ID : 0;
}

/**
 * Which member a name is, its closing quote included: SEEN_*, or nothing for those that nobody needs, and the name's length in
 * the high half. 0 for names that have to be read byte by byte.
 */
export function knownMember(name: usize, end: usize): u32 {
  const word = load<u64>(name), start = <u32> word;
  if (start == CODE) return load<u8>(name, 4) == QUOTE ? 4 << 16 | SEEN_CODE : 0;
  if (start == FLAG) return load<u8>(name, 4) == QUOTE ? 4 << 16 | SEEN_FLAG : 0;
  if (start == OPAQ) return load<u32>(name, 3) == QUE_QUOTE ? 6 << 16 | SEEN_OPAQUE : 0;
  if (start == REMA) return load<u32>(name, 3) == ARK_QUOTE ? 6 << 16 | SEEN_REMARK : 0;
  if (word == EXT_FIELD) return load<u16>(name, 8) == S_QUOTE ? 9 << 16 | SEEN_EXT_FIELDS : 0;
  if (word == LANGUAGE) return load<u8>(name, 8) == QUOTE ? 8 << 16 : 0;
  if (word == VERSION_QUOTE) return 7 << 16;
  if (word != SERIALIZ || end - name < NAME_ROOM || load<u64>(name, 8) != E_TYPE_CUR) return 0;
  return load<u64>(name, 16) == RENT_RPC_QUOTE ? 23 << 16 : 0;
}
