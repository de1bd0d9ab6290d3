import { encodeText } from "../client/protocol/text.ts";

/**
 * Copies the properties of a plain message from a header into its record, and notes what the broker has to know of them. All
 * that needs a closer look (a delay, a property the broker sets itself, something malformed) is left to the ordinary way.
 */
export class PropertiesCopy {
  /** Bytes written, the last separator included. */
  length = 0;
  tagHash = 0;
  /** Where the value of UNIQ_KEY was written; its length is 0 without one. */
  uniqKeyAt = 0;
  uniqKeyLength = 0;

  /** Needs room for one byte more than `length`. False: not plain; what was written means nothing. */
  copy(from: Uint8Array, at: number, length: number, isEscaped: boolean, to: Uint8Array, toAt: number): boolean {
    this.tagHash = this.uniqKeyLength = this.length = 0;
    let end = toAt;
    if (isEscaped) end = unescape(from, at, length, to, toAt);
    else for (let i = at; i < at + length; i++) to[end++] = from[i]!;
    if (end < toAt || !this.#walk(to, toAt, end)) return false;
    // 4.9 leaves the last separator out.
    if (end > toAt && to[end - 1] !== PROPERTY) to[end++] = PROPERTY;
    this.length = end - toAt;
    return true;
  }

  #walk(bytes: Uint8Array, from: number, end: number): boolean {
    for (let at = from; at < end;) {
      let split = at;
      while (split < end && bytes[split]! > PROPERTY) split++;
      if (split === at || split === end || bytes[split] !== NAME_VALUE) return false;
      let stop = split + 1;
      while (stop < end && bytes[stop] !== PROPERTY) stop++;
      if (stop === split + 1 || !this.#note(bytes, at, split - at, stop - split - 1)) return false;
      at = stop + 1;
    }
    return true;
  }

  /** False for a name that is not plain. */
  #note(bytes: Uint8Array, at: number, nameLength: number, valueLength: number): boolean {
    const valueAt = at + nameLength + 1;
    if (is(TAGS, bytes, at, nameLength)) return this.#tag(bytes, valueAt, valueLength);
    if (is(UNIQ_KEY, bytes, at, nameLength)) {
      this.uniqKeyAt = valueAt;
      this.uniqKeyLength = valueLength;
      return isAscii(bytes, valueAt, valueLength);
    }
    for (const name of NOT_PLAIN) if (is(name, bytes, at, nameLength)) return false;
    return !(nameLength > TIMER.length && is(TIMER, bytes, at, TIMER.length));
  }

  /** Java's hash, over the characters: of ASCII the bytes are the characters. */
  #tag(bytes: Uint8Array, at: number, length: number): boolean {
    let hash = 0;
    for (let i = at; i < at + length; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0;
    this.tagHash = hash;
    return isAscii(bytes, at, length);
  }
}

const NAME_VALUE = 1, PROPERTY = 2;
const TAGS = encodeText("TAGS"), UNIQ_KEY = encodeText("UNIQ_KEY");
/** What delays, what belongs to transactions, and what the broker sets or removes itself. */
const NOT_PLAIN = ["DELAY", "TRAN_MSG", "POP_CK", "MSG_REGION", "TRACE_ON", "CLUSTER"].map(encodeText);
const TIMER = encodeText("TIMER_");

function is(name: Uint8Array, bytes: Uint8Array, at: number, length: number): boolean {
  if (length !== name.length) return false;
  for (let i = 0; i < length; i++) if (bytes[at + i] !== name[i]) return false;
  return true;
}

function isAscii(bytes: Uint8Array, at: number, length: number): boolean {
  for (let i = at; i < at + length; i++) if (bytes[i]! > 127) return false;
  return true;
}

const BACKSLASH = 0x5c, UNICODE = 0x75;
/** What stands behind a backslash, and the byte that is meant. */
const SHORT: ReadonlyMap<number, number> = new Map(
  ([['"', '"'], ["\\", "\\"], ["/", "/"], ["b", "\b"], ["f", "\f"], ["n", "\n"], ["r", "\r"], ["t", "\t"]] as const)
    .map(([name, character]) => [name.charCodeAt(0), character.charCodeAt(0)]),
);

/** The inside of a JSON string; returns the end of what was written, -1 when an escape is not ASCII or is broken. */
function unescape(from: Uint8Array, at: number, length: number, to: Uint8Array, toAt: number): number {
  const end = at + length;
  let out = toAt;
  for (let i = at; i < end; i++) {
    const byte = from[i]!;
    if (byte !== BACKSLASH) {
      to[out++] = byte;
      continue;
    }
    const kind = from[++i]!;
    let character: number | undefined;
    if (kind !== UNICODE) character = SHORT.get(kind);
    else if (i + 4 < end) {
      // Nearly always \u0001 or \u0002.
      character = hex(from[i + 1]!) << 12 | hex(from[i + 2]!) << 8 | hex(from[i + 3]!) << 4 | hex(from[i + 4]!);
      i += 4;
    }
    if (character === undefined || character < 0 || character > 127) return -1;
    to[out++] = character;
  }
  return out;
}

/** -1 for what is no digit. */
function hex(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
