import { describe, expect, test } from "vitest";
import type { Offset } from "../../client/core.ts";
import { OverloadError } from "../../client/errors.ts";
import * as abi from "../../core-as/abi.ts";
import { LAST, offsetOf, QueueModel } from "./queue_model.ts";
import { freshSeed, Random } from "./random.ts";
import { openCore, TinyDriver } from "../support/core.ts";

const range = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** Puts pairs where the queue commands find them. */
function writePairs(core: TinyDriver, pairs: readonly (readonly [offset: Offset, bytes: number])[]): void {
  let at = core.control + abi.ARGUMENT_TEXT;
  for (const [offset, bytes] of pairs) {
    core.view.setBigInt64(at + abi.PAIR_OFFSET, BigInt(offset), true);
    core.view.setUint32(at + abi.PAIR_BYTES, bytes, true);
    at += abi.PAIR_SIZE;
  }
}

describe("against a sorted array", () => {
  const seed = freshSeed();
  const below = (random: Random, limit: number) => BigInt(random.below(limit));
  const larger = (one: bigint, other: bigint) => one > other ? one : other;

  /** How new offsets come: in order, with gaps, late, all over the place. */
  const families: Readonly<Record<string, (random: Random, max: bigint) => bigint>> = {
    "in order": (_, max) => max + 1n,
    "in order with gaps": (random, max) => max + 1n + (random.once(5) ? below(random, 1000) : 0n),
    "late and duplicate": (random, max) => larger(0n, max + 1n - below(random, 300)),
    "anywhere among a few thousand": (random) => below(random, 5000),
    "anywhere at all": (random) => (below(random, 2 ** 32) << 31n) + below(random, 2 ** 31),
    "around 2^53": (random) => SAFE - 300n + below(random, 700),
    "at the very end": (random) => LAST - below(random, 700),
    "downwards": (random, max) => max < 0 ? 2n ** 40n : 2n ** 40n - below(random, 2 ** 20),
  };

  for (const [name, next] of Object.entries(families)) {
    test(`offsets that come ${name}`, () => {
      const core = openCore(), random = new Random(seed), model = new QueueModel(), before = core.bytesInUse;
      const queue = core.openQueue();
      for (let round = 0; round < 400; round++) {
        const what = random.below(28), context = `seed ${seed}, round ${round}`;
        if (what < 9) {
          const offsets: Offset[] = [];
          let { max } = model;
          for (let i = random.below(70); i >= 0; i--) {
            const offset = next(random, max) < LAST ? next(random, max) : LAST;
            offsets.push(offsetOf(offset));
            max = larger(max, offset);
          }
          const sizes = offsets.map(() => random.below(random.once(10) ? 2 ** 32 : 5000));
          expect(core.putOffsets(queue, offsets, sizes), context).toBe(model.put(offsets, sizes));
        } else if (what < 13) {
          const firsts = chosen(random, model), counts = firsts.map(() => random.below(random.once(5) ? 2 ** 32 : 200));
          expect(core.removeRuns(queue, firsts, counts), context)
            .toBe(firsts.length ? model.removeRuns(firsts, counts) : -1);
        } else if (what < 16) {
          const offsets = chosen(random, model);
          expect(core.removeOffsets(queue, offsets), context).toBe(offsets.length ? model.remove(offsets) : -1);
        } else if (what < 18) {
          for (const offset of chosen(random, model).slice(0, 9)) {
            expect(core.removeOffset(queue, offset), context).toBe(model.remove([offset]));
          }
        } else if (what < 22) {
          const count = random.below(40);
          expect(core.takeOffsets(queue, count), context).toEqual(model.take(count));
        } else if (what < 24) {
          const offsets = random.once(3) ? chosen(random, model) : model.taken.filter(() => random.once(2));
          expect(core.untakeOffsets(queue, offsets), context).toBe(model.untake(offsets));
        } else if (what < 26) {
          expect(core.commitTaken(queue), context).toBe(model.commit());
        } else if (what < 27) {
          core.rollbackTaken(queue);
          model.rollback();
        } else if (random.once(3)) {
          core.clearQueue(queue);
          model.clear();
        }
        expect(core.queueState(queue), context).toEqual(model.state);
      }
      core.closeQueue(queue);
      expect(core.bytesInUse).toBe(before);
    });
  }

  /** Offsets to remove: the lowest ones, random ones, all, such as were never there, some twice, in any order. */
  function chosen(random: Random, model: QueueModel): Offset[] {
    const { offsets } = model, kind = random.below(10);
    if (kind === 0) return [...offsets];
    if (kind < 5) return offsets.slice(0, random.below(90));
    const some = offsets.filter(() => random.once(4));
    if (random.once(3)) some.push(random.below(10_000), LAST);
    if (random.once(3)) some.push(...some.slice(0, random.below(9)));
    return kind < 8 ? some : random.shuffled(some);
  }
});

describe("orderly consumption", () => {
  test("what is taken does not count in the span, but in count, bytes and lowest offset", () => {
    const core = openCore(), queue = core.openQueue();
    core.putOffsets(queue, [10, 11, 500, 900], [1, 2, 3, 4]);
    expect(core.takeOffsets(queue, 2)).toEqual([10, 11]);
    expect(core.queueState(queue)).toEqual({ count: 4, taken: 2, bytes: 10, min: 10, max: 900, span: 400 });
    expect(core.takeOffsets(queue, 9)).toEqual([500, 900]);
    expect(core.queueState(queue).span).toBe(0);
  });

  test("a commit is behind the highest taken, whatever is left; without one taken there is none", () => {
    const core = openCore(), queue = core.openQueue();
    core.putOffsets(queue, [5, 6, 7, 8], [1, 1, 1, 1]);
    expect(core.commitTaken(queue)).toBe(-1);
    core.takeOffsets(queue, 2);
    expect(core.commitTaken(queue)).toBe(7);
    expect(core.queueState(queue)).toEqual({ count: 2, taken: 0, bytes: 2, min: 7, max: 8, span: 1 });
  });

  test("after a rollback the same come again; messages put back one by one do too", () => {
    const core = openCore(), queue = core.openQueue();
    core.putOffsets(queue, range(0, 200), range(0, 200));
    const taken = core.takeOffsets(queue, 150);
    expect(core.untakeOffsets(queue, [3, 149, 150, 900])).toBe(2);
    expect(core.takeOffsets(queue, 3)).toEqual([3, 149, 150]);
    core.rollbackTaken(queue);
    expect(core.takeOffsets(queue, 150)).toEqual(taken);
  });
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

  test("a run takes what is in it and its neighbours stay, wherever in a leaf it begins and ends", () => {
    const core = openCore(), queue = core.openQueue();
    const offsets = Array.from({ length: 192 }, (_, offset) => offset), sizes = offsets.map(() => 1);
    for (let first = 60; first < 132; first++) {
      for (let end = first; end < 196; end++) {
        core.putOffsets(queue, offsets, sizes);
        core.removeRuns(queue, [first], [end - first]);
        const { count, bytes } = core.queueState(queue), left = first + Math.max(0, 192 - end);
        // Those that come again are the ones that were gone.
        const again = core.putOffsets(queue, offsets.slice(first, end), sizes);
        if (count !== left || bytes !== left || again !== 192 - left) {
          throw new Error(`from ${first} to ${end}: ${count}`);
        }
      }
    }
  });

  test("the last offset of all is kept like any other", () => {
    const core = openCore(), queue = core.openQueue();
    expect(core.putOffsets(queue, [LAST, 0], [7, 8])).toBe(2);
    expect(core.queueState(queue)).toEqual({ count: 2, taken: 0, bytes: 15, min: 0, max: LAST, span: LAST });
    expect(core.takeOffsets(queue, 10)).toEqual([0, LAST]);
    // There is no offset behind it.
    expect(core.removeOffsets(queue, [LAST, 0])).toBe(LAST);
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
    const opcodes = Object.entries(abi).filter(([name]) => /^OP_QUEUE_(?!OPEN)/.test(name)).map(([, opcode]) => opcode);
    expect(opcodes.length).toBeGreaterThan(9);
    for (const opcode of opcodes) {
      for (const handle of [queue + 1, abi.QUEUES, 0xffffffff, 0x40000000]) {
        expect(core.run({ opcode, handle }).result).toBe(abi.E_BAD_HANDLE);
      }
    }
    for (const offset of [-1, -(2n ** 63n)]) {
      writePairs(core, [[1, 1], [offset, 1], [2, 1]]);
      const put = core.run({ opcode: abi.OP_QUEUE_PUT, handle: queue, len: 3 });
      expect(put).toMatchObject({ result: abi.E_BAD_ARGUMENT, value: 1 });
      expect(core.run({ opcode: abi.OP_QUEUE_AGAIN, handle: queue, len: 3 }).result).toBe(abi.E_BAD_ARGUMENT);
      expect(core.run({ opcode: abi.OP_QUEUE_REMOVE, handle: queue, len: 3 }).result).toBe(abi.E_BAD_ARGUMENT);
      expect(core.run({ opcode: abi.OP_QUEUE_REMOVE_RUNS, handle: queue, len: 3 }).result).toBe(abi.E_BAD_ARGUMENT);
      const count = core.view.getUint32(core.control + abi.QUEUE_STATE + abi.QUEUE_COUNT, true);
      expect(count).toBe(0);
    }
    for (const value of [-1, 0.5, 2 ** 53, NaN, Infinity, -Infinity, -(2 ** 60)]) {
      expect(core.run({ opcode: abi.OP_QUEUE_REMOVE_ONE, handle: queue, value }).result).toBe(abi.E_BAD_ARGUMENT);
    }
    for (const opcode of [abi.OP_QUEUE_PUT, abi.OP_QUEUE_REMOVE, abi.OP_QUEUE_REMOVE_RUNS, abi.OP_QUEUE_AGAIN]) {
      expect(core.run({ opcode, handle: queue, len: abi.PAIRS_MAX + 1 }).result).toBe(abi.E_BAD_ARGUMENT);
    }
    expect(core.run({ opcode: abi.OP_QUEUE_TAKE, handle: queue, len: 0xffffffff }).result).toBe(0);
    expect(core.run({ opcode: abi.OP_QUEUE_CLOSE, handle: queue }).result).toBe(0);
    expect(core.run({ opcode: abi.OP_QUEUE_CLOSE, handle: queue }).result).toBe(abi.E_BAD_HANDLE);
  });
});
