import { Buffer } from "node:buffer";

/** Buffers have it, though it is not documented; any bytes will do. */
const { utf8Slice } = Buffer.prototype as unknown as {
  utf8Slice(this: Uint8Array, from: number, to: number): string;
};

/** Text from where it lies: for short texts half of what a decoder takes. */
export const readText = (bytes: Uint8Array, from: number, to: number): string => utf8Slice.call(bytes, from, to);
