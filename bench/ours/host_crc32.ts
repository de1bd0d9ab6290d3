import { crc32 } from "node:zlib";

/** `Host.crc32`: what the hosts of Deno and Bun have, and Node's has not. */
export const hostCrc32: ((bytes: Uint8Array) => number) | undefined = "Deno" in globalThis || "Bun" in globalThis
  ? (bytes) => crc32(bytes)
  : undefined;
