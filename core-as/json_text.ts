// Text and spaces in JSON that arrives, 16 bytes at a time.

import { MASKS } from "./steps";

const QUOTE: u32 = 34;
const BACKSLASH: u32 = 92;
const SPACE: u32 = 32;
const ZERO: u32 = 48;

export function skipSpace(at: usize, end: usize): usize {
  for (; at < end; at++) {
    const byte: u32 = load<u8>(at);
    if (byte > SPACE || !isSpace(byte)) break;
  }
  return at;
}

function isSpace(byte: u32): bool {
  return byte == 32 || byte == 10 || byte == 13 || byte == 9;
}

/** How many of the next bytes are plain text, at most 16. */
export function plainBytes(at: usize): u32 {
  return ctz(i8x16.bitmask(stopsIn(at)) | 0x10000);
}

/** Where the text that starts at `at` has its closing quote; 0 when anything else ends it before that, or `end` does. */
export function plainQuote(at: usize, end: usize): usize {
  for (; at < end; at += 16) {
    const stops = i8x16.bitmask(stopsIn(at));
    if (!stops) continue;
    at += ctz(stops);
    return at < end && load<u8>(at) == QUOTE ? at : 0;
  }
  return 0;
}

/** The same for text that may have escapes, if they are well formed. */
export function closingQuote(at: usize, end: usize): usize {
  while (at < end) {
    const stops = i8x16.bitmask(stopsIn(at));
    if (!stops) {
      at += 16;
      continue;
    }
    at += ctz(stops);
    if (at >= end) return 0;
    const stop: u32 = load<u8>(at);
    if (stop == QUOTE) return at;
    if (stop != BACKSLASH) return 0;
    const length = escapeLength(at);
    if (!length) return 0;
    at += length;
  }
  return 0;
}

/** Whether plain text of this length, and a quote behind it, is at `at`. */
export function isText(at: usize, length: u32, end: usize): bool {
  const close = at + length;
  if (close >= end || load<u8>(close) != QUOTE) return false;
  let stops = i64x2.splat(0);
  for (; at + 16 <= close; at += 16) stops = v128.or(stops, stopsIn(at));
  if (at < close) stops = v128.or(stops, v128.and(stopsIn(at), v128.load(MASKS + 16 - (close - at))));
  return !v128.any_true(stops);
}

/** How many bytes come before the first that ends plain text: a quote, which the next literal starts with, or any other. */
export function textLength(at: usize, end: usize): u32 {
  const start = at;
  for (; at < end; at += 16) {
    const stops = i8x16.bitmask(stopsIn(at));
    if (stops) return <u32> (at - start) + ctz(stops);
  }
  return <u32> (at - start);
}

/** Ones where one of 16 bytes is none of plain text: a quote, a backslash, a control character. */
function stopsIn(at: usize): v128 {
  const block = v128.load(at);
  // A quote is 34: with its second bit turned it is 32, behind the control characters.
  return v128.or(
    i8x16.le_u(v128.xor(block, i8x16.splat(2)), i8x16.splat(<i8> (QUOTE ^ 2))),
    i8x16.eq(block, i8x16.splat(<i8> BACKSLASH)),
  );
}

/** How long the escape at a backslash is; 0 when JSON has none like it. */
function escapeLength(at: usize): usize {
  switch (load<u8>(at, 1)) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return 2;
    case 0x75: // u
      for (let i: usize = 2; i < 6; i++) if (!isHexDigit(load<u8>(at + i))) return 0;
      return 6;
    default:
      return 0;
  }
}

function isHexDigit(byte: u32): bool {
  return byte - ZERO <= 9 || (byte | 32) - 97 <= 5;
}
