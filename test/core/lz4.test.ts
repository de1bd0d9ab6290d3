import { describe, expect, test } from "vitest";
import { FrameError } from "../../client/errors.ts";
import * as abi from "../../core-as/abi.ts";
import { everyRow } from "../protocol/oracle.ts";
import { fromBase64, readLines } from "../protocol/vectors.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import { concat, sameBytes } from "../support/frames.ts";
import { crc32 } from "./crc32_model.ts";
import { modelReadLz4 } from "./lz4_model.ts";
import { freshSeed, Random } from "./random.ts";
import { randomFrames, randomOptions, repetitiveBytes } from "./random_lz4.ts";
import { mutated } from "./random_records.ts";

const MIB = 1024 * 1024;
const LIMIT = 16 * MIB;

interface VectorRow {
  readonly name: string;
  /** Who made the frame; "bent": from one of liblz4's, "made": by hand. */
  readonly by: "lz4-java" | "liblz4" | "bent" | "made";
  readonly frame: string;
  readonly java: Read;
  /** Of frames with linked blocks, which Java refuses: what liblz4 makes of them. */
  readonly liblz4?: Read | null;
}
type Read = { readonly length: number; readonly crc32: number } | { readonly error: string };

/** As the vectors say it. */
function read(inflate: (bytes: Uint8Array) => Uint8Array, bytes: Uint8Array): Read {
  try {
    const content = inflate(bytes);
    return { length: content.length, crc32: crc32(content) };
  } catch (error) {
    if (error instanceof FrameError) return { error: error.message };
    throw error;
  }
}

describe("LZ4 frames", () => {
  const core = openCore();
  const inflate = (bytes: Uint8Array) => core.inflateLz4(bytes, LIMIT);

  test("are read as Java reads them, good and bad ones, and linked blocks as liblz4 does", () => {
    const counts = { content: 0, refused: 0, linked: 0 };
    everyRow<VectorRow>("oracle-lz4", ({ name, frame, java, liblz4 }) => {
      const ours = read(inflate, fromBase64(frame));
      // Java's decoder takes a distance of 0 and makes up what is there.
      if (name === "block: distance 0") expect(ours).toHaveProperty("error");
      else if (liblz4) expect(ours, name).toEqual(liblz4);
      else if ("error" in java) expect(ours, name).toHaveProperty("error");
      else expect(ours, name).toEqual(java);
      counts["error" in ours ? "refused" : liblz4 ? "linked" : "content"]++;
    });
    expect(counts.content).toBeGreaterThan(80);
    expect(counts.linked).toBeGreaterThan(20);
    expect(counts.refused).toBeGreaterThan(400);
  });

  test("of Java's compressor are read, and those of the core hold the same", () => {
    const rows = readLines("oracle-compression.jsonl").filter(({ type }) => type === "LZ4");
    for (const { length, crc32: expected, result } of rows) {
      const content = inflate(fromBase64(result.compressed));
      // Java gives 31 bits of it.
      expect({ length: content.length, crc32: crc32(content) & 0x7fffffff }).toEqual({ length, crc32: expected });
      expect(sameBytes(modelReadLz4(core.deflateLz4(content), LIMIT)!, content)).toBe(true);
    }
    expect(rows.length).toBe(5);
  });

  test("of random bytes are read back, by the core and by a reader of single bytes, for all options", () => {
    const seed = freshSeed(), random = new Random(seed);
    for (let round = 0; round < 300; round++) {
      const bytes = repetitiveBytes(random, random.below(random.pick([20, 300, 5000, 70_000, 300_000])));
      const frame = core.deflateLz4(bytes, randomOptions(random)), place = `seed ${seed}, round ${round}`;
      if (!sameBytes(core.inflateLz4(frame, bytes.length), bytes)) throw new Error(place);
      if (bytes.length < 20_000 && !sameBytes(modelReadLz4(frame, LIMIT)!, bytes)) throw new Error(place);
      if (bytes.length > 0) expect(() => core.inflateLz4(frame, bytes.length - 1), place).toThrow(FrameError);
    }
  });

  test("of every length to 300 are read back", () => {
    const random = new Random(3);
    for (let length = 0; length <= 300; length++) {
      for (const bytes of [new Uint8Array(length), random.bytes(length), repetitiveBytes(random, length)]) {
        const frame = core.deflateLz4(bytes);
        expect(frame.length).toBeLessThanOrEqual(length + 15);
        if (!sameBytes(inflate(frame), bytes) || !sameBytes(modelReadLz4(frame, LIMIT)!, bytes)) {
          throw new Error(`length ${length}`);
        }
      }
    }
  });

  test("grow by a few bytes a block at most", () => {
    const bytes = new Random(4).bytes(200_000);
    expect(core.deflateLz4(bytes).length).toBe(bytes.length + 7 + 4 * 4 + 4);
  });

  test("that are mutated, and whatever looks like frames, are read as by a reader of single bytes", () => {
    const seed = freshSeed(), random = new Random(seed);
    let refused = 0;
    for (let round = 0; round < 3000; round++) {
      const frames = randomFrames(random, core, random.pick([30, 400, 3000]));
      const bytes = random.once(4) ? frames : mutated(random, frames);
      const limit = random.once(4) ? random.below(2000) : LIMIT;
      const expected = modelReadLz4(bytes, limit), place = `seed ${seed}, round ${round}`;
      const ours = read((input) => core.inflateLz4(input, limit), bytes);
      if (expected) expect(ours, place).toEqual({ length: expected.length, crc32: crc32(expected) });
      else expect(ours, place).toHaveProperty("error");
      if (!expected) refused++;
    }
    expect(refused).toBeGreaterThan(300);
    expect(refused).toBeLessThan(2700);
  });

  test("need no block of the arena: they are read and written when it is full", () => {
    const small = openCore(1), blocks: number[] = [];
    for (let block = small.allocateBlock(1); block !== 0; block = small.allocateBlock(1)) blocks.push(block);
    const bytes = repetitiveBytes(new Random(5), 3 * MIB), before = small.bytesInUse;
    expect(sameBytes(small.inflateLz4(small.deflateLz4(bytes), bytes.length), bytes)).toBe(true);
    expect(small.bytesInUse).toBe(before);
    for (const block of blocks) small.freeBlock(block);
    expect(small.bytesInUse).toBe(0);
  });

  test("that hold far more than they say end at the limit, before it is in memory", () => {
    const bomb = core.deflateLz4(new Uint8Array(64 * MIB));
    expect(bomb.length).toBeLessThan(300_000);
    expect(() => core.inflateLz4(bomb, MIB)).toThrow(/more than 1048576 bytes/);
    expect(core.inflateLz4(bomb, 64 * MIB).length).toBe(64 * MIB);
  });
});

// ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Drives the reading with pieces of the given sizes. Behind each piece lies `garbage`. */
function readInPieces(core: TinyDriver, bytes: Uint8Array, limit: number, piece: () => number, garbage: number) {
  let answer = core.run({ opcode: abi.OP_LZ4_READ_BEGIN, value: limit }) as ReturnType<TinyDriver["run"]>;
  const text = core.control + abi.ARGUMENT_TEXT, view = core.view, parts: Uint8Array[] = [];
  let room = { at: answer.handle, length: 65_536 };
  for (let from = 0;;) {
    const part = bytes.subarray(from, from + Math.min(piece(), room.length));
    core.bytes.fill(garbage, room.at, text + abi.ARGUMENT_BYTES + abi.SLACK);
    core.bytes.set(part, room.at);
    from += part.length;
    const at = core.submit({
      opcode: abi.OP_LZ4_READ,
      len: part.length,
      flags: from === bytes.length ? abi.LZ4_LAST : 0,
    });
    core.drive();
    answer = core.answer(at);
    if (answer.result < 0) return answer.result;
    parts.push(core.bytes.slice(answer.ptr, answer.ptr + answer.len));
    if (answer.result === abi.LZ4_DONE) return concat(parts);
    room = { at: answer.handle, length: view.getUint32(at + abi.SUBMISSION_TOKEN, true) };
  }
}

describe("LZ4 commands", () => {
  test("give the same wherever the input is cut, and whatever lies behind it", () => {
    const core = openCore(), random = new Random(6), driver = new TinyDriver();
    const frames = concat([
      core.deflateLz4(repetitiveBytes(random, 900), abi.LZ4_BLOCK_CHECKSUM | abi.LZ4_CONTENT_CHECKSUM),
      randomFrames(random, core, 300),
      core.deflateLz4(new Uint8Array(30_000), abi.LZ4_CONTENT_SIZE),
    ]);
    const expected = modelReadLz4(frames, LIMIT)!;
    expect(expected.length).toBeGreaterThan(30_000);
    for (let cut = 0; cut <= frames.length; cut++) {
      let isFirst = true;
      const piece = () => {
        const length = isFirst ? cut : frames.length;
        isFirst = false;
        return length;
      };
      const content = readInPieces(driver, frames, LIMIT, piece, cut);
      if (typeof content === "number" || !sameBytes(content, expected)) throw new Error(`cut at ${cut}`);
    }
    expect(sameBytes(readInPieces(driver, frames, LIMIT, () => 1, 0xff) as Uint8Array, expected)).toBe(true);
  });

  test("give the same for pieces of any size, good and bad frames", () => {
    const seed = freshSeed(), random = new Random(seed), core = openCore(), driver = new TinyDriver();
    for (let round = 0; round < 300; round++) {
      const frames = randomFrames(random, core, random.pick([400, 3000, 200_000]));
      const bytes = random.once(3) ? mutated(random, frames) : frames, most = random.pick([3, 40, 1000, 100_000]);
      const limit = random.once(4) ? random.below(100_000) : LIMIT;
      const whole = readInPieces(driver, bytes, limit, () => bytes.length, round);
      const pieces = readInPieces(driver, bytes, limit, () => 1 + random.below(most), ~round);
      const isSame = typeof whole === "number" || typeof pieces === "number"
        ? whole === pieces
        : sameBytes(whole, pieces);
      if (!isSame) throw new Error(`seed ${seed}, round ${round}`);
    }
  });

  test("out of order, or with numbers that make no sense, are refused", () => {
    const core = new TinyDriver();
    const run = (opcode: number, more: object = {}) => core.run({ opcode, ...more }).result;
    expect(run(abi.OP_LZ4_READ)).toBe(abi.E_BAD_ARGUMENT);
    expect(run(abi.OP_LZ4_WRITE)).toBe(abi.E_BAD_ARGUMENT);
    expect(run(abi.OP_LZ4_WRITE_END)).toBe(abi.E_BAD_ARGUMENT);
    for (const value of [-1, NaN, Infinity, 2 ** 31]) {
      expect(run(abi.OP_LZ4_READ_BEGIN, { value })).toBe(abi.E_BAD_ARGUMENT);
    }
    expect(run(abi.OP_LZ4_WRITE_BEGIN, { value: -1, flags: abi.LZ4_CONTENT_SIZE })).toBe(abi.E_BAD_ARGUMENT);
    for (const flags of [1, 2, 32, 64, 0xffff]) expect(run(abi.OP_LZ4_WRITE_BEGIN, { flags })).toBe(abi.E_BAD_ARGUMENT);

    expect(run(abi.OP_LZ4_READ_BEGIN, { value: 10 })).toBe(0);
    expect(run(abi.OP_LZ4_WRITE, { len: 1 })).toBe(abi.E_BAD_ARGUMENT);
    for (const len of [65_537, 2 ** 32 - 1]) expect(run(abi.OP_LZ4_READ, { len })).toBe(abi.E_BAD_ARGUMENT);
    expect(run(abi.OP_LZ4_WRITE_BEGIN)).toBe(0);
    expect(run(abi.OP_LZ4_READ, { len: 1 })).toBe(abi.E_BAD_ARGUMENT);
    for (const len of [65_537, 2 ** 32 - 1]) expect(run(abi.OP_LZ4_WRITE, { len })).toBe(abi.E_BAD_ARGUMENT);
    expect(run(abi.OP_LZ4_WRITE_END)).toBe(0);
    expect(run(abi.OP_LZ4_WRITE_END)).toBe(abi.E_BAD_ARGUMENT);

    expect(run(abi.OP_LZ4_WRITE_BEGIN, { value: 5, flags: abi.LZ4_CONTENT_SIZE })).toBe(0);
    expect(run(abi.OP_LZ4_WRITE, { len: 6 })).toBe(abi.E_BAD_ARGUMENT);
    expect(run(abi.OP_LZ4_WRITE, { len: 4 })).toBe(0);
    expect(run(abi.OP_LZ4_WRITE_END)).toBe(abi.E_BAD_ARGUMENT);
    expect(run(abi.OP_LZ4_WRITE, { len: 1 })).toBe(0);
    expect(run(abi.OP_LZ4_WRITE_END)).toBe(0);
  });

  test("after damage the reading is over", () => {
    const core = new TinyDriver();
    const begun = core.run({ opcode: abi.OP_LZ4_READ_BEGIN, value: 10 });
    core.bytes.set([1, 2, 3, 4], begun.handle);
    expect(core.run({ opcode: abi.OP_LZ4_READ, len: 4 })).toMatchObject({ result: abi.E_BAD_LZ4, len: 0 });
    expect(core.run({ opcode: abi.OP_LZ4_READ, len: 0 }).result).toBe(abi.E_BAD_ARGUMENT);
  });
});
