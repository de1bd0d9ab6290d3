import type { ResponseReader } from "./response_sum.ts";

const QUOTE = 34, COMMA = 44, MINUS = 45, ZERO = 48, OPEN_BRACKET = 91, BACKSLASH = 92, CLOSE_BRACKET = 93;
const OPEN_BRACE = 123, CLOSE_BRACE = 125;

/** The same for every frame of some bytes. */
export function handScanner(b: Uint8Array): ResponseReader {
  const { header, read } = headerScanner(b);
  return {
    readAll() {
      let sum = 0;
      for (let at = 0; at + 8 <= b.length;) {
        const total = b[at]! << 24 | b[at + 1]! << 16 | b[at + 2]! << 8 | b[at + 3]!;
        const headerLength = b[at + 5]! << 16 | b[at + 6]! << 8 | b[at + 7]!;
        read(at + 8, at + 8 + headerLength);
        sum += header.opaque + header.code + header.a + header.b + header.c + header.d + header.textLength;
        at += 4 + total;
      }
      return sum;
    },
  };
}

/** What the last header said: opaque, code, numbers by the completion's names, and where `msgId` stands. */
export interface ScannedHeader {
  readonly opaque: number;
  readonly code: number;
  readonly flag: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly d: number;
  readonly textAt: number;
  readonly textLength: number;
}

/**
 * `hand scanner`: one pass over the bytes of a header. A name is told by its length and a letter or two, digits are read by a
 * loop, everything else is skipped; no string and no object is made.
 */
export function headerScanner(
  b: Uint8Array,
): { readonly header: ScannedHeader; readonly read: (from: number, end: number) => void } {
  // What the last call found: a string's place, or where a number ended.
  let stringAt = 0, stringLength = 0, numberEnd = 0;
  const header = { opaque: 0, code: 0, flag: 0, a: 0, b: 0, c: 0, d: 0, textAt: 0, textLength: 0 };

  const string = (from: number): number => {
    let at = from;
    stringAt = at;
    while (b[at] !== QUOTE) {
      if (b[at] === BACKSLASH) at++;
      at++;
    }
    stringLength = at - stringAt;
    return at + 1;
  };

  const integer = (from: number): number => {
    let at = from, value = 0, digit: number;
    const isNegative = b[at] === MINUS;
    if (isNegative) at++;
    while ((digit = b[at]! - ZERO) >= 0 && digit <= 9) {
      value = value * 10 + digit;
      at++;
    }
    numberEnd = at;
    return isNegative ? -value : value;
  };

  const skip = (from: number): number => {
    let at = from, depth = 0;
    if (b[at] === QUOTE) return string(at + 1);
    for (;;) {
      const byte = b[at];
      if (byte === QUOTE) {
        at = string(at + 1);
        if (depth === 0) return at;
        continue;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (depth === 0) return at;
        if (--depth === 0) return at + 1;
      } else if (byte === COMMA && depth === 0) return at;
      at++;
    }
  };

  const extFields = (from: number): number => {
    let at = from;
    while (b[at] === QUOTE) {
      at = string(at + 1);
      const name = stringAt, length = stringLength;
      at = string(at + 2);
      if (length === 11 && b[name] === 113) header.a = integer(stringAt); // queueOffset
      else if (length === 7 && b[name] === 113) header.b = integer(stringAt); // queueId
      else if (length === 5 && b[name] === 109) { // msgId
        header.textAt = stringAt;
        header.textLength = stringLength;
      } else if (length === 15) header.a = integer(stringAt); // nextBeginOffset
      else if (length === 9 && b[name + 1] === 105) header.b = integer(stringAt); // minOffset
      else if (length === 9 && b[name + 1] === 97) header.c = integer(stringAt); // maxOffset
      else if (length === 20 && b[name] === 115) header.d = integer(stringAt); // suggestWhichBrokerId
      if (b[at] === COMMA) at++;
    }
    return at + 1;
  };

  const readHeader = (from: number, end: number): void => {
    let at = from + 1;
    while (at < end && b[at] === QUOTE) {
      at = string(at + 1);
      const name = stringAt, length = stringLength;
      at++;
      if (length === 4 && b[name] === 99) { // code
        header.code = integer(at);
        at = numberEnd;
      } else if (length === 4 && b[name] === 102) { // flag
        header.flag = integer(at);
        at = numberEnd;
      } else if (length === 6 && b[name] === 111 && b[name + 1] === 112) { // opaque
        header.opaque = integer(at);
        at = numberEnd;
      } else if (length === 9 && b[name] === 101 && b[at] === OPEN_BRACE) at = extFields(at + 1);
      else at = skip(at);
      if (b[at] === COMMA) at++;
    }
  };

  return { header, read: readHeader };
}
