import { describe, expect, test } from "vitest";
import { OverloadError } from "../../client/errors.ts";
import * as abi from "../../core-as/abi.ts";
import { QueueModel } from "./queue_model.ts";
import { freshSeed, Random } from "./random.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import { recordBytes } from "./record_bytes.ts";

const LAST = Number.MAX_SAFE_INTEGER;
const range = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

/** Puts pairs where the queue commands find them. */
function writePairs(core: TinyDriver, pairs: readonly (readonly [offset: number, bytes: number])[]): void {
  let at = core.control + abi.ARGUMENT_TEXT;
  for (const [offset, bytes] of pairs) {
    core.view.setFloat64(at + abi.PAIR_OFFSET, offset, true);
    core.view.setUint32(at + abi.PAIR_BYTES, bytes, true);
    at += abi.PAIR_SIZE;
  }
}

describe("against a sorted array", () => {
  const seed = freshSeed();

  /** How new offsets come: in order, with gaps, late, all over the place. */
  const families: Readonly<Record<string, (random: Random, max: number) => number>> = {
    "in order": (_, max) => max + 1,
    "in order with gaps": (random, max) => max + 1 + (random.once(5) ? random.below(1000) : 0),
    "late and duplicate": (random, max) => Math.max(0, max + 1 - random.below(300)),
    "anywhere among a few thousand": (random) => random.below(5000),
    "anywhere at all": (random) => random.below(2 ** 32) * 2 ** 21 + random.below(2 ** 21),
    "at the very end": (random) => LAST - random.below(700),
    "downwards": (random, max) => max < 0 ? 2 ** 40 : 2 ** 40 - random.below(2 ** 20),
  };

  for (const [name, next] of Object.entries(families)) {
    test(`offsets that come ${name}`, () => {
      const core = openCore(), random = new Random(seed), model = new QueueModel(), before = core.bytesInUse;
      const queue = core.openQueue();
      for (let round = 0; round < 400; round++) {
        const what = random.below(20), context = `seed ${seed}, round ${round}`;
        if (what < 9) {
          const offsets: number[] = [];
          let max = model.max;
          for (let i = random.below(70); i >= 0; i--) {
            const offset = Math.min(LAST, next(random, max));
            offsets.push(offset);
            max = Math.max(max, offset);
          }
          const sizes = offsets.map(() => random.below(random.once(10) ? 2 ** 32 : 5000));
          expect(core.putOffsets(queue, offsets, sizes), context).toBe(model.put(offsets, sizes));
        } else if (what < 16) {
          const offsets = chosen(random, model);
          expect(core.removeOffsets(queue, offsets), context).toBe(offsets.length ? model.remove(offsets) : -1);
        } else if (what < 19) {
          const count = random.below(40);
          expect(core.takeOffsets(queue, count), context).toEqual(model.take(count));
        } else if (random.once(5)) {
          core.clearQueue(queue);
          model.clear();
        }
        expect(core.queueState(queue), context).toEqual(model.state);
      }
      core.closeQueue(queue);
      expect(core.bytesInUse).toBe(before);
    });
  }

  /** Offsets to remove: the lowest ones, random ones, all, and such as were never there. */
  function chosen(random: Random, model: QueueModel): number[] {
    const { offsets } = model, kind = random.below(10);
    if (kind === 0) return [...offsets];
    if (kind < 5) return offsets.slice(0, random.below(90));
    const some = offsets.filter(() => random.once(4));
    if (random.once(3)) some.push(random.below(10_000), LAST);
    return some;
  }
});

describe("what is left", () => {
  test("the offset to commit is the lowest left, highest + 1 of an empty queue, -1 of one that was empty before", () => {
    const core = openCore(), queue = core.openQueue();
    expect(core.removeOffsets(queue, [5])).toBe(-1);
    core.putOffsets(queue, [5, 6, 9], [1, 1, 1]);
    expect(core.removeOffsets(queue, [6])).toBe(5);
    expect(core.removeOffsets(queue, [5])).toBe(9);
    expect(core.removeOffsets(queue, [9])).toBe(10);
    expect(core.removeOffsets(queue, [9])).toBe(-1);
    expect(core.queueState(queue)).toEqual({ count: 0, taken: 0, bytes: 0, min: -1, max: 9, span: 0 });
  });

  test("the last offset of all is kept like any other", () => {
    const core = openCore(), queue = core.openQueue();
    expect(core.putOffsets(queue, [LAST, 0], [7, 8])).toBe(2);
    expect(core.queueState(queue)).toEqual({ count: 2, taken: 0, bytes: 15, min: 0, max: LAST, span: LAST });
    expect(core.takeOffsets(queue, 10)).toEqual([0, LAST]);
    expect(core.removeOffsets(queue, [LAST, 0])).toBe(LAST + 1);
  });

  test("a removed offset that comes again is new again", () => {
    const core = openCore(), queue = core.openQueue();
    core.putOffsets(queue, [1, 2], [10, 20]);
    core.removeOffsets(queue, [1]);
    expect(core.putOffsets(queue, [1, 2], [30, 99])).toBe(1);
    expect(core.queueState(queue)).toMatchObject({ count: 2, bytes: 50, min: 1 });
  });

  test("a slow message holds the offset while a million others pass, and the tree stays small", () => {
    const core = openCore(), queue = core.openQueue(), before = core.bytesInUse;
    core.putOffsets(queue, [0], [1]);
    for (let first = 1; first < 1_000_000; first += 4000) {
      const offsets = range(first, 4000);
      core.putOffsets(queue, offsets, offsets);
      expect(core.removeOffsets(queue, offsets)).toBe(0);
    }
    expect(core.bytesInUse - before).toBeLessThanOrEqual(65_536);
    expect(core.removeOffsets(queue, [0])).toBeGreaterThan(1_000_000);
  });
});

describe("bounds", () => {
  test("a queue keeps QUEUE_LEAVES leaves and refuses another, in order or not", () => {
    const core = openCore(), before = core.bytesInUse;
    for (const [first, step] of [[0, 64], [(abi.QUEUE_LEAVES - 1) * 64 + 2 ** 30, -64]] as const) {
      const queue = core.openQueue();
      const offsets = range(0, abi.QUEUE_LEAVES).map((index) => first + index * step);
      expect(core.putOffsets(queue, offsets, offsets.map(() => 1))).toBe(abi.QUEUE_LEAVES);
      expect(() => core.putOffsets(queue, [first + 1, 2 ** 40], [1, 1])).toThrow(OverloadError);
      expect(core.queueState(queue).count).toBe(abi.QUEUE_LEAVES + 1);
      // A leaf that becomes empty makes room, wherever it was.
      core.removeOffsets(queue, [first + 64 * step]);
      expect(core.putOffsets(queue, [2 ** 40], [1])).toBe(1);
      core.closeQueue(queue);
    }
    expect(core.bytesInUse).toBe(before);
  });

  test("a full queue says how many offsets went in before the one that failed", () => {
    const core = new TinyDriver(), queue = core.run({ opcode: abi.OP_QUEUE_OPEN }).handle;
    for (let leaf = 0; leaf < abi.QUEUE_LEAVES - 2; leaf += 4095) {
      const count = Math.min(4095, abi.QUEUE_LEAVES - 2 - leaf);
      writePairs(core, range(leaf, count).map((index) => [index * 64, 1]));
      expect(core.run({ opcode: abi.OP_QUEUE_PUT, handle: queue, len: count }).result).toBe(count);
    }
    writePairs(core, range(abi.QUEUE_LEAVES, 5).map((index) => [index * 64, 1]));
    expect(core.run({ opcode: abi.OP_QUEUE_PUT, handle: queue, len: 5 })).toMatchObject({
      result: abi.E_QUEUE_FULL,
      value: 2,
    });
  });

  test("a queue that finds no larger block keeps what it has", () => {
    const core = new TinyDriver({ pages: 16 }), queue = core.run({ opcode: abi.OP_QUEUE_OPEN }).handle;
    let result = 0, leaf = 0;
    while (result >= 0) {
      writePairs(core, [[leaf * 64, 1]]);
      result = core.run({ opcode: abi.OP_QUEUE_PUT, handle: queue, len: 1 }).result;
      if (result >= 0) leaf++;
    }
    expect(result).toBe(abi.E_NO_ROOM);
    const state = core.control + abi.QUEUE_STATE;
    expect(core.view.getUint32(state + abi.QUEUE_COUNT, true)).toBe(leaf);
    expect(core.run({ opcode: abi.OP_QUEUE_CLOSE, handle: queue }).result).toBe(0);
    expect(core.bytesInUse).toBe(0);
  });

  test("a core has QUEUES queues, and closed ones make room", () => {
    const core = openCore(32), before = core.bytesInUse;
    const queues = range(0, abi.QUEUES).map(() => core.openQueue());
    expect(new Set(queues).size).toBe(abi.QUEUES);
    expect(() => core.openQueue()).toThrow(OverloadError);
    core.putOffsets(queues[17]!, [4], [1]);
    core.closeQueue(queues[17]!);
    core.closeQueue(queues[99]!);
    const again = [core.openQueue(), core.openQueue()];
    expect(again.sort()).toEqual([queues[17], queues[99]].sort());
    expect(core.queueState(queues[17]!)).toMatchObject({ count: 0, max: -1 });
    for (const queue of queues) core.closeQueue(queue);
    expect(core.bytesInUse).toBe(before);
  });

  test("handles, counts and offsets that make no sense are refused, and nothing changes", () => {
    const core = new TinyDriver(), queue = core.run({ opcode: abi.OP_QUEUE_OPEN }).handle;
    const opcodes = range(abi.OP_QUEUE_CLOSE, abi.OP_QUEUE_CLEAR - abi.OP_QUEUE_CLOSE + 1);
    for (const opcode of opcodes) {
      for (const handle of [queue + 1, abi.QUEUES, 0xffffffff, 0x40000000]) {
        expect(core.run({ opcode, handle }).result).toBe(abi.E_BAD_HANDLE);
      }
    }
    for (const offset of [-1, 0.5, LAST + 1, NaN, Infinity, -Infinity, -(2 ** 60)]) {
      writePairs(core, [[1, 1], [offset, 1], [2, 1]]);
      const put = core.run({ opcode: abi.OP_QUEUE_PUT, handle: queue, len: 3 });
      expect(put).toMatchObject({ result: abi.E_BAD_ARGUMENT, value: 1 });
      expect(core.run({ opcode: abi.OP_QUEUE_REMOVE, handle: queue, len: 3 })).toMatchObject({
        result: abi.E_BAD_ARGUMENT,
        value: 2,
      });
    }
    for (const opcode of [abi.OP_QUEUE_PUT, abi.OP_QUEUE_REMOVE]) {
      expect(core.run({ opcode, handle: queue, len: abi.PAIRS_MAX + 1 }).result).toBe(abi.E_BAD_ARGUMENT);
    }
    for (const [ptr, len] of [[0, abi.ROW_ENTRIES + 1], [1, abi.ROW_ENTRIES], [0xffffffff, 1]] as const) {
      expect(core.run({ opcode: abi.OP_QUEUE_PUT_ROWS, handle: queue, ptr, len }).result).toBe(abi.E_BAD_ARGUMENT);
    }
    expect(core.run({ opcode: abi.OP_QUEUE_TAKE, handle: queue, len: 0xffffffff }).result).toBe(0);
    expect(core.run({ opcode: abi.OP_QUEUE_CLOSE, handle: queue }).result).toBe(0);
    expect(core.run({ opcode: abi.OP_QUEUE_CLOSE, handle: queue }).result).toBe(abi.E_BAD_HANDLE);
  });
});

describe("rows", () => {
  test("putRows enters the offsets of good rows with the sizes of their bodies", () => {
    const core = openCore(), queue = core.openQueue();
    const body = new Uint8Array(10);
    const records = [
      recordBytes({ queueOffset: 40n, body }),
      recordBytes({ queueOffset: 41n, body, bodyCRC: 1 }),
      recordBytes({ queueOffset: 42n, body: new Uint8Array(20) }),
    ];
    walk(records);
    expect(core.putRows(queue, 0, 3)).toBe(2);
    expect(core.queueState(queue)).toMatchObject({ count: 2, bytes: 30, min: 40, max: 42 });
    core.setRowStatus(2, abi.ROW_FILTERED);
    core.clearQueue(queue);
    expect(core.putRows(queue, 1, 2)).toBe(0);

    function walk(all: readonly Uint8Array[]): void {
      const length = all.reduce((sum, record) => sum + record.length, 0), block = core.allocateBlock(length);
      all.reduce((at, record) => (core.write(at, record), at + record.length), block);
      expect(core.walkAt(block, length, 0, true)).toBe(3);
      core.freeBlock(block);
    }
  });

  test("a row whose offset is none becomes a bad record, and the others go in", () => {
    const core = openCore(), queue = core.openQueue();
    const block = core.allocateBlock(4000);
    let end = block;
    for (const queueOffset of [7n, -1n, 2n ** 53n, 2n ** 53n - 1n]) {
      const record = recordBytes({ queueOffset });
      core.write(end, record);
      end += record.length;
    }
    expect(core.walkAt(block, end - block, 0, true)).toBe(4);
    expect(core.putRows(queue, 0, 4)).toBe(2);
    expect(range(0, 4).map((row) => core.rowStatus(row))).toEqual([
      abi.ROW_OK,
      abi.ROW_BAD_RECORD,
      abi.ROW_BAD_RECORD,
      abi.ROW_OK,
    ]);
    expect(core.takeOffsets(queue, 9)).toEqual([7, LAST]);
  });
});
