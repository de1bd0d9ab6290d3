import { Buffer } from "node:buffer";

type Slice = (this: Uint8Array, from: number, to: number) => string;

/** Buffers have them, though they are not documented; any bytes will do. */
const { utf8Slice, latin1Slice } = Buffer.prototype as unknown as { utf8Slice: Slice; latin1Slice: Slice };

/** Text from where it lies: for short texts half of what a decoder takes. */
export const readText = (bytes: Uint8Array, from: number, to: number): string => utf8Slice.call(bytes, from, to);

/** Nothing to look for, and a byte becomes a character: for 1 KiB half of what a decoder takes, or less. */
export const readAscii = (bytes: Uint8Array, from: number, to: number): string => latin1Slice.call(bytes, from, to);
