import { describe, expect, test } from "vitest";
import type { Step } from "../../client/core.ts";
import { CoreError } from "../../client/errors.ts";
import * as abi from "../../core-as/abi.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import { freshSeed, Random } from "./random.ts";

const MONTH = 31 * 86_400_000;
const START = 1_700_000_000_000;
const STEPS: readonly Step[] = [["", abi.HOLE_UNIQUE_ID], ["-", abi.HOLE_UNIQUE_ID], ["", abi.HOLE_END]];

/** A core with a segment and a program that writes ids; `frame` encodes one frame and returns its header. */
function bench() {
  const core = openCore(), segment = core.openSegment(), program = core.program(STEPS, "JSON");
  const frame = (id?: number): string => {
    core.resetSegment(segment);
    expect(core.encode(program, segment, 1, 0, [], undefined, false, id)).toBe(true);
    return new TextDecoder().decode(core.segmentBytes(segment).subarray(8));
  };
  return { core, frame };
}

function seeded(): Random {
  const seed = freshSeed();
  console.log(`unique ids seed ${seed}`);
  return new Random(seed);
}

const digits = (id: number): string => id.toString(16).toUpperCase().padStart(12, "0");

describe("unique ids", () => {
  test("are time since the month began and a counter, and the answer is what was written", () => {
    const { core, frame } = bench();
    core.clock(START, 0x12345678);
    for (const counter of [0, 1, 2]) {
      const text = digits(0x12345678 * 65_536 + counter);
      expect(frame()).toBe(`${text}-${text}`);
      expect(core.uniqueId).toBe(0x12345678 * 65_536 + counter);
    }
    expect(core.nextUniqueId()).toBe(0x12345678 * 65_536 + 3);
  });

  test("every digit is right, for random numbers", () => {
    const { frame } = bench();
    const random = seeded();
    for (let i = 0; i < 2_000; i++) {
      const id = Math.floor(random.bits() * 65_536 + random.below(65_536));
      const text = digits(id);
      expect(frame(id)).toBe(`${text}-${text}`);
    }
    for (const id of [0, 1, 2 ** 48 - 1]) expect(frame(id)).toBe(`${digits(id)}-${digits(id)}`);
  });

  test("one that is given back is written again, and takes none of the new ones", () => {
    const { core, frame } = bench();
    core.clock(START, 1);
    const first = frame(), id = core.uniqueId;
    frame();
    expect(frame(id)).toBe(first);
    expect(core.uniqueId).toBe(id);
    expect(frame()).toBe(`${digits(65_536 + 2)}-${digits(65_536 + 2)}`);
  });

  test("a million of one millisecond all differ, and so do those of the milliseconds after it", () => {
    const { core } = bench();
    core.clock(START, 5);
    const made = new Set<number>();
    for (let i = 0; i < 1_000_000; i++) made.add(core.nextUniqueId());
    for (let ms = 1; ms < 40; ms++) {
      core.clock(START + ms, 5 + ms);
      for (let i = 0; i < 1_000; i++) made.add(core.nextUniqueId());
    }
    expect(made.size).toBe(1_039_000);
  });

  test("a frame that finds no room takes none", () => {
    const core = openCore(), segment = core.openSegment(), program = core.program(STEPS, "JSON");
    core.clock(START, 0);
    while (core.append(segment, new Uint8Array(8)));
    expect(core.encode(program, segment, 1, 0, [], undefined)).toBe(false);
    expect(core.nextUniqueId()).toBe(0);
  });

  test("a clock that goes back, or stands still, makes none twice", () => {
    const { core } = bench();
    const random = seeded();
    const made = new Set<number>();
    let now = START;
    for (let i = 0; i < 200_000; i++) {
      now += random.pick([-5, -1, 0, 0, 1, 2]);
      core.clock(now, now - START + 1_000_000);
      made.add(core.nextUniqueId());
    }
    expect(made.size).toBe(200_000);
  });

  test("a new month begins at 0 again, also when ids ran ahead of the clock", () => {
    const { core } = bench();
    core.clock(START + MONTH - 1, MONTH - 1);
    for (let i = 0; i < 200_000; i++) core.nextUniqueId();
    expect(Math.floor(core.nextUniqueId() / 65_536)).toBe(MONTH + 2);
    core.clock(START + MONTH + 1, 1);
    expect(Math.floor(core.nextUniqueId() / 65_536)).toBe(MONTH + 2);
    core.clock(START + MONTH + 7, 7);
    expect(Math.floor(core.nextUniqueId() / 65_536)).toBe(7);
  });

  test("a number that is none is refused", () => {
    const { core, frame } = bench();
    for (const id of [-2, 0.5, NaN, Infinity, 2 ** 48]) expect(() => frame(id)).toThrow(CoreError);
    expect(core.nextUniqueId()).toBe(0);
  });

  test("commands with any number in UNIQUE_ID and OP_CLOCK do not trap", () => {
    const core = new TinyDriver();
    const random = seeded();
    for (let i = 0; i < 5_000; i++) {
      core.view.setFloat64(core.control + abi.UNIQUE_ID, random.pick([NaN, -1, 1e300, -1e300, random.bits()]), true);
      const value = random.pick([0, 1, 2 ** 53, random.bits()]);
      core.run({ opcode: abi.OP_CLOCK, value, token: random.pick([0, 1, 2 ** 32 - 1, random.bits()]) });
      expect(core.run({ opcode: abi.OP_UNIQUE_ID }).result).toBe(0);
      const id = core.view.getFloat64(core.control + abi.UNIQUE_ID, true);
      expect(Number.isInteger(id) && id >= 0 && id < 2 ** 48).toBe(true);
    }
  });
});
