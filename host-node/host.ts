import { createHmac } from "node:crypto";
import process from "node:process";
import { crc32 } from "node:zlib";
import { coreBytes } from "../build/core_bytes.js";
import type { Clock, Host } from "../client/host.ts";
import { deflate, inflate } from "./compression.ts";
import { files } from "./files.ts";
import { allocate } from "./memory.ts";
import { connectSocket } from "./socket.ts";
import { readAscii, readText } from "./text.ts";

const isBun = process.versions["bun"] !== undefined;

/** Bodies up to here are copied into a segment. Bun joins parts itself, slowly, so there everything that fits is copied. */
const SEPARATE_BODY_ABOVE = isBun ? Infinity : 32 * 1024;

/** What a timer takes, ms; a longer delay would be none at all. */
const DELAY_MAX = 2 ** 31 - 1;

const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delay, task) {
    const timer = setTimeout(task, Math.min(delay, DELAY_MAX));
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Node and Bun. */
export const host: Host = {
  core: new WebAssembly.Module(coreBytes),
  clock,
  separateBodyAbove: SEPARATE_BODY_ABOVE,
  connect: (endpoint, inbox, signal) => connectSocket(endpoint, inbox, signal),
  defer: (task) => process.nextTick(task),
  inflate,
  deflate,
  // Bun's has a processor instruction that WebAssembly has not; Node's takes twice the core's time.
  ...(isBun ? { crc32: (bytes: Uint8Array) => crc32(bytes) } : {}),
  readText,
  readAscii,
  allocate,
  hmacSha1: (key, bytes) => new Uint8Array(createHmac("sha1", key).update(bytes).digest()),
  files,
};
