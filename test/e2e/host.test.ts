import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import * as zlib from "node:zlib";
import { expect, test } from "vitest";
import { UnsupportedError } from "../../client/errors.ts";
import { crc32 } from "../core/crc32_model.ts";
import { host } from "../support/runtime.ts";

const text = (length: number) => new Uint8Array(length).map((_, at) => 97 + at % 26);
/** Quicker than `toEqual` for megabytes. */
const same = (one: Uint8Array, other: Uint8Array) =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);

test("host: small bodies are inflated in place, large ones in place too unless the caller may wait", async () => {
  for (const length of [0, 1, 5_000, 4_000_000]) {
    const plain = text(length), packed = await host.deflate("ZLIB", plain, 5);
    expect(same(await host.inflate("ZLIB", packed, 5_000_000, false), plain)).toBe(true);
    expect(same(await host.inflate("ZLIB", packed, 5_000_000, true), plain)).toBe(true);
  }
  const noise = crypto.getRandomValues(new Uint8Array(60_000)),
    twice = new Uint8Array([...noise, ...noise.map((byte) => ~byte)]);
  const packed = deflateSync(twice);
  expect(packed.length).toBeGreaterThan(65_536);
  expect(host.inflate("ZLIB", packed, 120_000, true)).toBeInstanceOf(Promise);
  expect(same(await host.inflate("ZLIB", packed, 120_000, true), twice)).toBe(true);
  expect(same(await host.inflate("ZLIB", packed, 120_000, false), twice)).toBe(true);
});

test("host: what is inflated belongs to no Buffer", () => {
  const inflated = host.inflate("ZLIB", deflateSync(text(100)), 100, false);
  expect(Object.getPrototypeOf(inflated)).toBe(Uint8Array.prototype);
});

test("host: a bomb ends at the limit, and broken bytes are an error", async () => {
  const bomb = deflateSync(new Uint8Array(50_000_000));
  expect(() => host.inflate("ZLIB", bomb, 1_000_000, false)).toThrow();
  await expect((async () => await host.inflate("ZLIB", bomb, 1_000_000, true))()).rejects.toThrow();
  expect(() => host.inflate("ZLIB", bomb.subarray(0, 100), 100_000_000, false)).toThrow();
  expect(() => host.inflate("ZLIB", text(100), 1_000, false)).toThrow();
});

test("host: ZSTD works where the runtime has it, and is refused by type where it has not", async () => {
  const plain = text(10_000);
  if ("zstdCompressSync" in zlib) {
    const packed = await host.deflate("ZSTD", plain, 3);
    expect(await host.inflate("ZSTD", packed, 10_000, false)).toEqual(plain);
    expect(() => host.inflate("ZSTD", packed, 9_999, false)).toThrow();
  } else {
    expect(() => host.deflate("ZSTD", plain, 3)).toThrow(UnsupportedError);
    expect(() => host.inflate("ZSTD", plain, 10_000, false)).toThrow(UnsupportedError);
  }
});

test("host: Deno and Bun have a CRC-32 of their own, which is that of a loop over the bytes; on Node the core's is faster", () => {
  const isNode = !("Deno" in globalThis) && !("Bun" in globalThis);
  expect(host.crc32 === undefined).toBe(isNode);
  const bytes = crypto.getRandomValues(new Uint8Array(3_000));
  for (const length of [0, 1, 3, 15, 16, 17, 63, 64, 65, 255, 256, 1_000, 2_900]) {
    const part = bytes.subarray(7, 7 + length);
    expect((host.crc32 ?? crc32)(part)).toBe(crc32(part));
  }
});

test("host: HMAC-SHA1 as the ACL vector says", async () => {
  const bytes = (value: string) => new TextEncoder().encode(value);
  const mac = await host.hmacSha1(bytes("12345678"), bytes("rocketmq2TopicA"));
  expect(btoa(String.fromCharCode(...mac))).toBe("yvZvKMqXR7E4uBCgkiiGE2OZ9Zg=");
});

test("host: deferred tasks run after all microtasks and before the next event", async () => {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    setTimeout(() => {
      setTimeout(() => (order.push("timer"), resolve()), 0);
      host.defer(() => order.push("deferred"));
      Promise.resolve().then(() => order.push("microtask")).then(() => order.push("second microtask"));
    }, 0);
  });
  // A runtime may begin with the deferred tasks when an event ends; callers that await are gathered all the same.
  expect(order.at(-1)).toBe("timer");
  expect(order).toHaveLength(4);
});

test("host: a cancelled timer does not fire, and the clock goes forward", async () => {
  let fired = false;
  const before = host.clock.monotonic();
  host.clock.setTimer(1, () => fired = true).cancel();
  await new Promise<void>((resolve) => host.clock.setTimer(20, resolve));
  expect(fired).toBe(false);
  expect(host.clock.monotonic() - before).toBeGreaterThanOrEqual(15);
  expect(Math.abs(host.clock.now() - Date.now())).toBeLessThan(1_000);
});

test("host: files are written whole, replaced, appended to, listed and removed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rocketmq-wasm-")), files = host.files!;
  try {
    const path = join(folder, "a", "offsets.json");
    expect(await files.read(path)).toBeUndefined();
    expect(await files.list(join(folder, "a"))).toEqual([]);
    await files.replaceAtomically(path, text(10));
    await files.replaceAtomically(path, text(5));
    expect(await files.read(path)).toEqual(text(5));
    await files.append(path, text(2), false);
    await files.append(path, text(1), true);
    expect(await files.read(path)).toEqual(new Uint8Array([...text(5), ...text(2), ...text(1)]));
    expect(await files.list(join(folder, "a"))).toEqual(["offsets.json"]);
    await files.remove(path);
    await files.remove(path);
    expect(await files.list(join(folder, "a"))).toEqual([]);
    await expect(files.read(folder)).rejects.toThrow();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
