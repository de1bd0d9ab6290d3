import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { crc32 } from "./crc32_model.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import { freshSeed, Random } from "./random.ts";

const vectors = new URL("../vectors/oracle-crc32.jsonl", import.meta.url);

/** CRC-32 of bytes at any place of a block. */
function crcAt(core: TinyDriver, block: number, at: number, bytes: Uint8Array, seed = 0): number {
  core.bytes.set(bytes, block + at);
  const answer = core.run({ opcode: abi.OP_CRC32, ptr: block + at, len: bytes.length, token: seed });
  expect(answer.result).toBe(0);
  return answer.value;
}

test("crc32 equals a loop over the bytes, for every length to 2000 at every alignment", () => {
  const core = new TinyDriver(), random = new Random(7);
  const block = core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: 8192 }).result;
  const bytes = random.bytes(2000);
  for (let length = 0; length <= bytes.length; length++) {
    const part = bytes.subarray(0, length), expected = crc32(part), at = length % 16;
    if (crcAt(core, block, at, part) !== expected) throw new Error(`length ${length} at ${at}`);
    if (length < 400 || length % 13 === 0) {
      for (let other = 0; other < 16; other++) {
        if (crcAt(core, block, other, part) !== expected) throw new Error(`length ${length} at ${other}`);
      }
    }
  }
});

test("crc32 equals a loop over the bytes, for long inputs", () => {
  const core = new TinyDriver(), random = new Random(8);
  const bytes = random.bytes(1 << 20);
  const block = core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: bytes.length + 16 }).result;
  for (const length of [8190, 8191, 8192, 8193, 8224, 8515, 8516, 16_384, 16_400, 20_000, 65_537, 300_001, 1 << 20]) {
    for (const at of [0, 1, 7]) {
      expect(crcAt(core, block, at, bytes.subarray(0, length))).toBe(crc32(bytes.subarray(0, length)));
    }
  }
});

test("crc32 does not depend on what lies around the bytes", () => {
  const core = new TinyDriver(), random = new Random(9);
  const block = core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: 4000 }).result;
  for (let length = 0; length < 1500; length += 7) {
    const bytes = random.bytes(length), expected = crc32(bytes);
    core.bytes.fill(random.below(256), block, block + 4000);
    expect(crcAt(core, block, 64, bytes)).toBe(expected);
  }
});

test("crc32 of a rest with the seed of its beginning is that of the whole", () => {
  const seed = freshSeed(), random = new Random(seed), core = openCore();
  for (let round = 0; round < 300; round++) {
    const bytes = random.bytes(random.below(3000)), cut = random.below(bytes.length + 1);
    const beginning = core.crc32(bytes.subarray(0, cut));
    expect(core.crc32(bytes.subarray(cut), beginning), `seed ${seed}`).toBe(crc32(bytes));
  }
});

test("crc32 of more than the argument area goes in parts", () => {
  const bytes = new Random(10).bytes(200_000);
  expect(openCore().crc32(bytes)).toBe(crc32(bytes));
});

test("crc32 is an unsigned number", () => {
  const core = openCore();
  expect(core.crc32(Uint8Array.of(0x9d, 0x0a, 0xd9, 0x6d))).toBe(0);
  expect(core.crc32(new Uint8Array(0))).toBe(0);
  expect(core.crc32(Uint8Array.of(0))).toBe(0xd202ef8d);
});

test("crc32 refuses bytes that do not lie in the arena", () => {
  const core = new TinyDriver({ pages: 16 }), end = core.bytes.length;
  for (const [ptr, len] of [[end, 0], [end - 64, 1], [0xffffffff, 2], [4096, 0xffffffff], [0, 16]] as const) {
    expect(core.run({ opcode: abi.OP_CRC32, ptr, len }).result).toBe(abi.E_BAD_POINTER);
  }
  expect(core.run({ opcode: abi.OP_CRC32, ptr: end - 1064, len: 1000 }).result).toBe(0);
});

test("crc32 equals what Java says, for its buffers and texts", () => {
  const core = openCore(), rows = readFileSync(vectors, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  for (const row of rows) {
    const bytes = bytesOf(row);
    expect(core.crc32(bytes) & 0x7fffffff, JSON.stringify(row).slice(0, 100)).toBe(row.crc32);
  }
  expect(rows.length).toBe(336);
});

interface OracleRow {
  readonly size?: number;
  readonly mul?: number;
  readonly add?: number;
  readonly text?: string;
  readonly hex?: string;
}

function bytesOf({ size, mul, add, text, hex }: OracleRow): Uint8Array {
  if (text !== undefined) return new TextEncoder().encode(text);
  if (mul === undefined || add === undefined) {
    return Uint8Array.from(hex!.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  }
  return Uint8Array.from({ length: size! }, (_, i) => i * mul + add + (i >> 3));
}
