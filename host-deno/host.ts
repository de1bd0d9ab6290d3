import { createHmac } from "node:crypto";
import process from "node:process";
import { crc32 } from "node:zlib";
import { coreBytes } from "../build/core_bytes.js";
import type { Clock, Host } from "../client/host.ts";
import { deflate, inflate } from "./compression.ts";
import { files } from "./files.ts";
import { connectSocket } from "./socket.ts";
import { readAscii, readText } from "./text.ts";

/** Bodies up to here are copied into a segment. */
const SEPARATE_BODY_ABOVE = 32 * 1024;

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

/** Deno. It needs `--allow-net` for the addresses it talks to, and nothing else. */
export const host: Host = {
  core: new WebAssembly.Module(coreBytes),
  clock,
  separateBodyAbove: SEPARATE_BODY_ABOVE,
  connect: (endpoint, inbox, signal) => connectSocket(endpoint, inbox, signal),
  defer: (task) => process.nextTick(task),
  inflate,
  deflate,
  // It has a processor instruction that WebAssembly has not: three to six times the core's speed.
  crc32: (bytes) => crc32(bytes),
  readText,
  readAscii,
  hmacSha1: (key, bytes) => new Uint8Array(createHmac("sha1", key).update(bytes).digest()),
  files,
};
