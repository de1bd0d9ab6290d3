const encoder = new TextEncoder();
/** A byte order mark at the start of a text is part of the text. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export const EMPTY: Uint8Array = new Uint8Array(0);

export const encodeText = (text: string): Uint8Array => encoder.encode(text);

/** Bytes that are not UTF-8 become U+FFFD, as in Java. */
export const decodeText = (bytes: Uint8Array): string => decoder.decode(bytes);

/** All parts, one behind the other. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Length in UTF-8 bytes, without encoding. A lone surrogate counts as the three bytes of U+FFFD. */
export function textLength(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) length += 1;
    else if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text.charCodeAt(i + 1))) {
      length += 2;
      i++;
    } else length += 2;
  }
  return length;
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** A text that is all ASCII, mostly an offset message id of 32 digits, for which a decoder is slow to start. */
export function decodeAscii(b: Uint8Array, at: number, length: number): string {
  if (length !== 32) return decoder.decode(b.subarray(at, at + length));
  // deno-fmt-ignore
  return String.fromCharCode(
    b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!, b[at + 4]!, b[at + 5]!, b[at + 6]!, b[at + 7]!,
    b[at + 8]!, b[at + 9]!, b[at + 10]!, b[at + 11]!, b[at + 12]!, b[at + 13]!, b[at + 14]!, b[at + 15]!,
    b[at + 16]!, b[at + 17]!, b[at + 18]!, b[at + 19]!, b[at + 20]!, b[at + 21]!, b[at + 22]!, b[at + 23]!,
    b[at + 24]!, b[at + 25]!, b[at + 26]!, b[at + 27]!, b[at + 28]!, b[at + 29]!, b[at + 30]!, b[at + 31]!,
  );
}

/** Longer texts go through the decoder, which is slow to start. */
const SHORT_TEXT = 16;

/** The text of some bytes, as `decodeText` reads it; short ASCII is put together here. */
export function readText(b: Uint8Array, from: number, length: number): string {
  const end = from + length;
  if (length <= SHORT_TEXT) {
    let text = "", all = 0, at = from;
    for (; at + 4 <= end; at += 4) {
      const one = b[at]!, two = b[at + 1]!, three = b[at + 2]!, four = b[at + 3]!;
      all |= one | two | three | four;
      text += String.fromCharCode(one, two, three, four);
    }
    for (; at < end; at++) {
      all |= b[at]!;
      text += String.fromCharCode(b[at]!);
    }
    if (all < 0x80) return text;
  }
  return decoder.decode(b.subarray(from, end));
}
