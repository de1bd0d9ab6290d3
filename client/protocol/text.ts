const encoder = new TextEncoder();
/** A byte order mark at the start of a text is part of the text. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export const EMPTY: Uint8Array = new Uint8Array(0);

export const encodeText = (text: string): Uint8Array => encoder.encode(text);

/** Bytes that are not UTF-8 become U+FFFD, as in Java. */
export const decodeText = (bytes: Uint8Array): string => decoder.decode(bytes);

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
