import * as zlib from "node:zlib";
import { UnsupportedError } from "../client/errors.ts";
import type { CompressionType } from "../client/host.ts";

/** Bodies up to here are inflated in place; larger ones, where the caller may wait, off the event loop. */
const IN_PLACE_MAX = 64 * 1024;

/** Inflates; an error when the result would be longer than `maxLength`. */
export function inflate(
  type: CompressionType,
  bytes: Uint8Array,
  maxLength: number,
  mayWait: boolean,
): Uint8Array | Promise<Uint8Array> {
  // zlib refuses a limit of 0 only; an empty body never comes here compressed.
  const options = { maxOutputLength: Math.max(1, maxLength) };
  const apart = mayWait && bytes.length > IN_PLACE_MAX;
  if (type === "ZLIB") {
    return apart ? later((done) => zlib.inflate(bytes, options, done)) : plain(zlib.inflateSync(bytes, options));
  }
  const { zstdDecompress, zstdDecompressSync } = zstd();
  return apart ? later((done) => zstdDecompress(bytes, options, done)) : plain(zstdDecompressSync(bytes, options));
}

/**
 * Deflates small bodies in place and large ones off the event loop: those as a copy, because a body that is changed or
 * detached meanwhile can end the process.
 */
export function deflate(type: CompressionType, bytes: Uint8Array, level: number): Uint8Array | Promise<Uint8Array> {
  const apart = bytes.length > IN_PLACE_MAX;
  if (type === "ZLIB") {
    const options = { level };
    return apart
      ? later((done) => zlib.deflate(bytes.slice(), options, done))
      : plain(zlib.deflateSync(bytes, options));
  }
  const { zstdCompress, zstdCompressSync, constants } = zstd();
  const options = { params: { [constants.ZSTD_c_compressionLevel]: level } };
  return apart ? later((done) => zstdCompress(bytes.slice(), options, done)) : plain(zstdCompressSync(bytes, options));
}

type Done = (error: Error | null, result: Uint8Array) => void;

/** What `node:zlib` has from Node 22.15 on. */
interface Zstd {
  readonly constants: { readonly ZSTD_c_compressionLevel: number };
  zstdCompress(bytes: Uint8Array, options: object, done: Done): void;
  zstdCompressSync(bytes: Uint8Array, options: object): Uint8Array;
  zstdDecompress(bytes: Uint8Array, options: object, done: Done): void;
  zstdDecompressSync(bytes: Uint8Array, options: object): Uint8Array;
}

function zstd(): Zstd {
  if ("zstdCompressSync" in zlib) return zlib as unknown as Zstd;
  throw new UnsupportedError("Cannot use ZSTD: this runtime does not offer it");
}

function later(start: (done: Done) => void): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    start((error, result) => error ? reject(error) : resolve(plain(result)));
  });
}

/** A Uint8Array and not a Buffer: what the host hands out may reach the user. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
