import { createHmac } from "node:crypto";
import { crc32, deflateSync, inflateSync } from "node:zlib";
import { coreBytes } from "../../../build/core_bytes.js";
import { UnsupportedError } from "../../../client/errors.ts";
import type { Clock, CompressionType, FileStore, Host } from "../../../client/host.ts";
import type { Events } from "./events.ts";
import type { Network } from "./network.ts";

let core: WebAssembly.Module | undefined;

/** One simulated machine. Large bodies are inflated later, as on real ones. */
export function simulatedHost(_name: string, ip: string, events: Events, clock: Clock, network: Network): Host {
  const later = (bytes: Uint8Array): Promise<Uint8Array> =>
    new Promise((resolve) => events.after(network.delay(), () => resolve(bytes)));
  return {
    core: core ??= new WebAssembly.Module(coreBytes),
    clock,
    separateBodyAbove: 32 * 1024,
    connect: ({ host, port }, inbox, signal) => network.connect(ip, host, port, inbox, signal),
    defer: (task) => events.defer(task),
    // As Deno and Bun: long bodies are compared by it.
    crc32: (bytes) => crc32(bytes),
    // As Node and Bun, but never zero by chance.
    allocate: (length) => new Uint8Array(length).fill(0xaa),
    inflate(type, bytes, maxLength, mayWait) {
      check(type);
      const result = plain(inflateSync(bytes, { maxOutputLength: maxLength }));
      return mayWait && bytes.length > 65_536 ? later(result) : result;
    },
    deflate(type, bytes, level) {
      check(type);
      const result = plain(deflateSync(bytes, { level }));
      return bytes.length > 65_536 ? later(result) : result;
    },
    hmacSha1: (key, bytes) => plain(createHmac("sha1", key).update(bytes).digest()),
    files: memoryFiles(),
  };
}

function check(type: CompressionType): void {
  if (type !== "ZLIB") throw new UnsupportedError(`Cannot use ${type}: the simulated host does not offer it`);
}

function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

function memoryFiles(): FileStore {
  const files = new Map<string, Uint8Array>();
  return {
    read: (path) => Promise.resolve(files.get(path)?.slice()),
    replaceAtomically: (path, bytes) => Promise.resolve(void files.set(path, bytes.slice())),
    append(path, bytes) {
      const old = files.get(path) ?? new Uint8Array(0);
      const next = new Uint8Array(old.length + bytes.length);
      next.set(old);
      next.set(bytes, old.length);
      files.set(path, next);
      return Promise.resolve();
    },
    list(folder) {
      const prefix = `${folder}/`;
      const names = [...files.keys()].filter((path) => path.startsWith(prefix)).map((path) =>
        path.slice(prefix.length)
      );
      return Promise.resolve(names.filter((name) => !name.includes("/")).sort());
    },
    remove: (path) => Promise.resolve(void files.delete(path)),
  };
}
