import { EMPTY } from "../client/protocol/text.ts";

/**
 * The fields of a SEND_MESSAGE_V2 header where they lie, without a string made of them: one object, filled again and again.
 * Letters count from "a". Reads what clients write; anything else is not an error here but a reason to read the ordinary way.
 */
export class SendHeader {
  /** Position of each letter's value, and its length; -1 when the field is missing. */
  readonly at = new Int32Array(26);
  readonly length = new Int32Array(26);
  /** A bit for each letter whose value has a backslash in it. */
  escaped = 0;
  #bytes: Uint8Array = EMPTY;

  /** False when the header is not of the plain kind. */
  read(bytes: Uint8Array, at: number, length: number, isBinary: boolean): boolean {
    this.#bytes = bytes;
    this.length.fill(-1);
    this.escaped = 0;
    return isBinary ? this.#binary(at, at + length) : this.#json(at, at + length);
  }

  /** A whole number of at most 15 digits, perhaps behind a minus; NaN for anything else. */
  number(letter: number): number {
    const length = this.length[letter]!, at = this.at[letter]!, bytes = this.#bytes;
    const first = length > 0 && bytes[at] === MINUS ? 1 : 0;
    if (length <= first || length > DIGITS_MAX + first) return NaN;
    let value = 0;
    for (let i = at + first; i < at + length; i++) {
      const digit = bytes[i]! - ZERO;
      if (digit < 0 || digit > 9) return NaN;
      value = value * 10 + digit;
    }
    return first === 0 ? value : 0 - value;
  }

  /** `"extFields":{"a":"…","b":"…", … }`; keys longer than one letter are skipped. */
  #json(from: number, end: number): boolean {
    const bytes = this.#bytes;
    let at = behindExtFields(bytes, from, end);
    if (at < 0) return false;
    for (;;) {
      if (bytes[at] !== QUOTE) return false;
      const letter = bytes[at + 2] === QUOTE ? bytes[at + 1]! - LETTER_A : -1;
      at = endOfString(bytes, at + 1, end) + 1;
      if (at <= 0 || bytes[at] !== COLON || bytes[at + 1] !== QUOTE) return false;
      const start = at + 2;
      at = start;
      let hasEscape = false;
      for (; at < end; at++) {
        const byte = bytes[at]!;
        if (byte === QUOTE) break;
        if (byte !== BACKSLASH) continue;
        hasEscape = true;
        at++;
      }
      if (at >= end) return false;
      if (letter >= 0 && letter < 26) {
        this.at[letter] = start;
        this.length[letter] = at - start;
        if (hasEscape) this.escaped |= 1 << letter;
      }
      const next = bytes[at + 1];
      at += 2;
      if (next !== COMMA) return next === CLOSE;
    }
  }

  /** code 2, language 1, version 2, opaque 4, flag 4, remark 4 + n, fields 4 + *( key 2 + n, value 4 + n ) */
  #binary(from: number, end: number): boolean {
    const bytes = this.#bytes;
    if (end - from < BINARY_MIN) return false;
    const remark = int32(bytes, from + REMARK_AT);
    if (remark < 0 || remark > end - from - BINARY_MIN) return false;
    const fields = from + BINARY_MIN + remark;
    if (int32(bytes, fields - 4) !== end - fields) return false;
    for (let at = fields; at < end;) {
      if (end - at < 6) return false;
      const keyLength = bytes[at]! << 8 | bytes[at + 1]!;
      if (keyLength > end - at - 6) return false;
      const letter = keyLength === 1 ? bytes[at + 2]! - LETTER_A : -1;
      const start = at + keyLength + 6, length = int32(bytes, start - 4);
      if (length < 0 || length > end - start) return false;
      if (letter >= 0 && letter < 26) {
        this.at[letter] = start;
        this.length[letter] = length;
      }
      at = start + length;
    }
    return true;
  }
}

const DIGITS_MAX = 15;
const QUOTE = 0x22,
  COMMA = 0x2c,
  MINUS = 0x2d,
  ZERO = 0x30,
  COLON = 0x3a,
  BACKSLASH = 0x5c,
  LETTER_A = 0x61,
  CLOSE = 0x7d;
const REMARK_AT = 13;
const BINARY_MIN = 21;
/** Inside a string its quotes would have backslashes in front, so what looks like this is this. */
const EXT_FIELDS = new TextEncoder().encode('"extFields":{');

/** Position of the first byte behind `"extFields":{`; -1 without one. */
function behindExtFields(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; at <= end - EXT_FIELDS.length; at++) {
    if (bytes[at] !== QUOTE) continue;
    let i = 1;
    while (i < EXT_FIELDS.length && bytes[at + i] === EXT_FIELDS[i]) i++;
    if (i === EXT_FIELDS.length) return at + i;
  }
  return -1;
}

/** Position of the quote that ends the string; -1 when it does not end. */
function endOfString(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at++;
  }
  return -1;
}

const int32 = (bytes: Uint8Array, at: number): number =>
  bytes[at]! << 24 | bytes[at + 1]! << 16 | bytes[at + 2]! << 8 | bytes[at + 3]!;
