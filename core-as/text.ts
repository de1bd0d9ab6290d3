// Text: decimal digits and the inside of JSON strings, which go out, and whether what came is ASCII. All loops read, and those
// for what goes out write, up to 15 bytes too far.

/** "00" to "99": two digits at a time. */
const DIGITS: usize = memory.data(200, 16);
const BILLION: u64 = 1_000_000_000;

const QUOTE: u32 = 34;
const BACKSLASH: u32 = 92;
const SPACE: u32 = 32;
/** "\u00" in memory order. */
const ESCAPE: u32 = 0x3030755c;

/** Fills the table of digits. */
export function initText(): void {
  for (let i: u32 = 0; i < 100; i++) {
    store<u8>(DIGITS + i * 2, 48 + i / 10);
    store<u8>(DIGITS + i * 2, 48 + i % 10, 1);
  }
}

/** Writes a number in decimal digits; returns how many bytes. */
export function decimal(to: usize, value: i64): u32 {
  if (value >= 0) return unsigned(to, value);
  store<u8>(to, 45);
  return 1 + unsigned(to + 1, -value);
}

/** How many bytes `decimal` writes. */
export function decimalLength(value: i64): u32 {
  if (value < 0) return 1 + decimalLength(-value);
  return value < <i64> BILLION ? digitsOf(<u32> value) : 9 + digitsOf(<u32> (value / <i64> BILLION));
}

/** Below 10^18. */
function unsigned(to: usize, value: u64): u32 {
  if (value < BILLION) return decimal32(to, <u32> value);
  // "1" and nine digits behind leading zeroes; the high part then overwrites the 1 with its own last digit.
  const high = <u32> (value / BILLION);
  const length = digitsOf(high);
  decimal32(to + length - 1, <u32> (value % BILLION + BILLION));
  return decimal32(to, high) + 9;
}

/** `decimal` of 32 bits. */
export function decimal32(to: usize, value: u32): u32 {
  const length = digitsOf(value);
  let at = to + length;
  for (; value >= 100; value /= 100) {
    at -= 2;
    store<u16>(at, load<u16>(DIGITS + ((value % 100) << 1)));
  }
  if (value >= 10) store<u16>(to, load<u16>(DIGITS + (value << 1)));
  else store<u8>(to, 48 + value);
  return length;
}

function digitsOf(value: u32): u32 {
  if (value < 10000) return value < 100 ? (value < 10 ? 1 : 2) : value < 1000 ? 3 : 4;
  if (value < 100000000) return value < 1000000 ? (value < 100000 ? 5 : 6) : value < 10000000 ? 7 : 8;
  return value < 1000000000 ? 9 : 10;
}

/** Writes text as the inside of a JSON string; returns how many bytes, at most six for each. */
export function escapeJson(to: usize, from: usize, length: u32): u32 {
  const start = to, end = from + length;
  while (from < end) {
    const block = v128.load(from);
    v128.store(to, block);
    const special = i8x16.bitmask(v128.or(quotes(block), controls(block)));
    const clean: u32 = special ? ctz(special) : 16;
    const left = <u32> (end - from);
    if (clean >= left) return <u32> (to + left - start);
    from += clean;
    to += clean;
    if (clean == 16) continue;
    to += escapeByte(to, load<u8>(from));
    from++;
  }
  return <u32> (to - start);
}

/** How many bytes `escapeJson` adds to the text's own. */
export function escapesLength(from: usize, length: u32): u32 {
  let more: u32 = 0;
  for (let i: u32 = 0; i < length; i += 16) {
    const block = v128.load(from + i);
    const inside = <i32> (length - i >= 16 ? 0xffff : (1 << (length - i)) - 1);
    more += popcnt(i8x16.bitmask(quotes(block)) & inside) + 5 * popcnt(i8x16.bitmask(controls(block)) & inside);
  }
  return more;
}

/** Which bytes get a backslash in front. */
function quotes(block: v128): v128 {
  return v128.or(i8x16.eq(block, i8x16.splat(<i8> QUOTE)), i8x16.eq(block, i8x16.splat(<i8> BACKSLASH)));
}

/** Which bytes are written as \u00xx. */
function controls(block: v128): v128 {
  return i8x16.lt_u(block, i8x16.splat(<i8> SPACE));
}

function escapeByte(to: usize, byte: u32): u32 {
  if (byte >= SPACE) {
    store<u16>(to, BACKSLASH | byte << 8);
    return 2;
  }
  store<u32>(to, ESCAPE);
  store<u8>(to, 48 + (byte >> 4), 4);
  store<u8>(to, hexDigit(byte & 15), 5);
  return 6;
}

function hexDigit(nibble: u32): u32 {
  return nibble < 10 ? 48 + nibble : 87 + nibble;
}

/** Whether all bytes are below 128. Reads up to 15 behind them. */
export function isAscii(ptr: usize, length: u32): bool {
  let at: u32 = 0, all = i64x2.splat(0);
  for (; length - at >= 32; at += 32) {
    all = v128.or(all, v128.or(v128.load(ptr + at), v128.load(ptr + at, 16)));
  }
  let high = <u32> i8x16.bitmask(all);
  for (; at < length; at += 16) {
    let part = <u32> i8x16.bitmask(v128.load(ptr + at));
    // What lies behind the end is somebody else's.
    if (length - at < 16) part &= ((<u32> 1) << (length - at)) - 1;
    high |= part;
  }
  return !high;
}
