// Days of a client's life in a simulated time: connections come and go, topics get programs, queues grow and are given away,
// large frames pass through, leased batches wait for slow handlers.

import { expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { TinyDriver } from "../support/core.ts";
import { freshSeed, Random } from "./random.ts";

const MIB = 1024 * 1024;
const ARENA = 16 * MIB;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DAYS = 5;

/** What lives for a while: what opens it, which returns how it is closed, or nothing when there was no room. */
interface Kind {
  /** Seconds between two of them, on average. */
  readonly every: number;
  /** Seconds that one lives: a random number between, on a logarithmic scale. */
  readonly life: readonly [number, number];
  open(core: TinyDriver, random: Random): (() => void) | undefined;
}

const block = (least: number, most: number) => (core: TinyDriver, random: Random): (() => void) | undefined => {
  const { result } = core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: Math.floor(between(random, least, most)) });
  return result < 0 ? undefined : () => closed(core, { opcode: abi.OP_FREE_BLOCK, ptr: result });
};

const KINDS: readonly Kind[] = [
  { every: 15 * MINUTE, life: [MINUTE, 6 * HOUR], open: openConnection },
  { every: MINUTE, life: [MINUTE, 12 * HOUR], open: openProgram },
  { every: 4 * MINUTE, life: [MINUTE, 6 * HOUR], open: openQueue },
  // A frame larger than an inbox, and a leased batch.
  { every: 10, life: [0.1, 5], open: block(130_000, MIB) },
  { every: 1, life: [0.01, MINUTE], open: block(1_000, 262_000) },
];

function openConnection(core: TinyDriver): (() => void) | undefined {
  const { result, handle } = core.run({ opcode: abi.OP_CONNECTION_OPEN });
  if (result < 0) return undefined;
  const segments = [0, 1].map(() => core.run({ opcode: abi.OP_SEGMENT_OPEN }).result).filter((segment) => segment > 0);
  return () => {
    closed(core, { opcode: abi.OP_CONNECTION_CLOSE, handle });
    for (const segment of segments) closed(core, { opcode: abi.OP_SEGMENT_FREE, handle: segment });
  };
}

function openProgram(core: TinyDriver, random: Random): (() => void) | undefined {
  const literal = 100 + random.below(6_000), at = core.control + abi.ARGUMENT_TEXT;
  core.view.setUint16(at, abi.HOLE_END, true);
  core.view.setUint16(at + 2, literal, true);
  const { result } = core.run({ opcode: abi.OP_PROGRAM_COMPILE, len: abi.STEP_HEADER + literal });
  return result < 0 ? undefined : () => closed(core, { opcode: abi.OP_PROGRAM_FREE, handle: result });
}

/** Its tree grows to what its offsets need. */
function openQueue(core: TinyDriver, random: Random): (() => void) | undefined {
  const { result, handle } = core.run({ opcode: abi.OP_QUEUE_OPEN });
  if (result < 0) return undefined;
  const count = 1 + random.below(random.pick([100, 1_000])), step = random.pick([1, 64]);
  for (let i = 0; i < count; i++) {
    core.view.setFloat64(core.control + abi.ARGUMENT_TEXT + i * abi.PAIR_SIZE, i * step, true);
  }
  core.run({ opcode: abi.OP_QUEUE_PUT, handle, len: count });
  return () => closed(core, { opcode: abi.OP_QUEUE_CLOSE, handle });
}

function closed(core: TinyDriver, command: Parameters<TinyDriver["run"]>[0]): void {
  const { result } = core.run(command);
  if (result !== 0) throw new Error(`${JSON.stringify(command)} gives ${result}`);
}

const between = (random: Random, least: number, most: number): number =>
  least * (most / least) ** (random.bits() / 2 ** 32);

/** What ends next comes first. */
class Endings {
  readonly #heap: { readonly at: number; readonly end: () => void }[] = [];

  get next(): number {
    return this.#heap[0]?.at ?? Infinity;
  }

  add(at: number, end: () => void): void {
    const heap = this.#heap;
    let place = heap.push({ at, end }) - 1;
    for (; place > 0; place = place - 1 >> 1) {
      const above = place - 1 >> 1;
      if (heap[above]!.at <= heap[place]!.at) return;
      [heap[above], heap[place]] = [heap[place]!, heap[above]!];
    }
  }

  take(): () => void {
    const heap = this.#heap, first = heap[0]!, last = heap.pop()!;
    if (heap.length > 0) {
      heap[0] = last;
      for (let place = 0;;) {
        const left = 2 * place + 1, right = left + 1;
        let least = place;
        if (left < heap.length && heap[left]!.at < heap[least]!.at) least = left;
        if (right < heap.length && heap[right]!.at < heap[least]!.at) least = right;
        if (least === place) break;
        [heap[least], heap[place]] = [heap[place]!, heap[least]!];
        place = least;
      }
    }
    return first.end;
  }
}

/** Bytes of the largest block that there is. */
function largestFree(core: TinyDriver): number {
  for (let size = ARENA; size >= abi.BLOCK_MIN; size /= 2) {
    const { result } = core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: size - abi.SLACK });
    if (result < 0) continue;
    closed(core, { opcode: abi.OP_FREE_BLOCK, ptr: result });
    return size;
  }
  return 0;
}

test(`an arena that is up to half in use stays whole for ${DAYS} days: lifetimes from milliseconds to hours leave no holes`, () => {
  const seed = freshSeed(), random = new Random(seed), core = new TinyDriver({ pages: ARENA / 65536 });
  console.log(`arena soak seed ${seed}`);
  const endings = new Endings(), arrivals = KINDS.map(({ every }) => between(random, every / 10, every));
  const days = Array.from({ length: DAYS }, () => ({ samples: 0, used: 0, most: 0, whole: 0, least: Infinity }));
  const arena = ARENA - core.run({ opcode: abi.OP_ALLOCATE_BLOCK }).result;
  core.run({ opcode: abi.OP_FREE_BLOCK, ptr: ARENA - arena });
  let opened = 0, refused = 0, sample = HOUR;
  for (let now = 0; now < DAYS * DAY;) {
    const which = arrivals.indexOf(Math.min(...arrivals)), arrival = arrivals[which]!;
    if (endings.next <= arrival) {
      now = endings.next;
      endings.take()();
      continue;
    }
    now = arrival;
    const { every, life, open } = KINDS[which]!;
    arrivals[which] = now - Math.log(1 - random.bits() / 2 ** 32) * every;
    const end = open(core, random);
    if (end) endings.add(now + between(random, ...life), end);
    opened++;
    if (!end) refused++;
    if (now < sample) continue;
    sample += MINUTE * 10;
    const day = days[Math.min(DAYS - 1, Math.floor(now / DAY))]!, largest = largestFree(core);
    day.samples++;
    day.used += core.bytesInUse;
    day.most = Math.max(day.most, core.bytesInUse);
    // Of the largest block that so many free bytes can be.
    day.whole += largest / 2 ** Math.floor(Math.log2(arena - core.bytesInUse));
    day.least = Math.min(day.least, largest);
  }
  const state = days.map(({ samples, used, most, whole, least }) => ({
    usedMiB: +(used / samples / MIB).toFixed(1),
    mostMiB: +(most / MIB).toFixed(1),
    /** The largest free block, as a share of the largest that the free bytes could be. */
    whole: +(whole / samples).toFixed(2),
    leastLargestMiB: least / MIB,
  }));
  console.log(`${opened} blocks and more, ${refused} refused`, state);
  expect(opened, `seed ${seed}`).toBeGreaterThan(250_000);
  expect(refused, `seed ${seed}`).toBe(0);
  for (const { whole, leastLargestMiB } of state) {
    expect(whole, `seed ${seed}`).toBeGreaterThan(0.45);
    // A frame of twice the largest size that passes here has its block at any time.
    expect(leastLargestMiB, `seed ${seed}`).toBeGreaterThanOrEqual(2);
  }
  while (endings.next < Infinity) endings.take()();
  expect(core.bytesInUse, `seed ${seed}`).toBe(0);
  expect(largestFree(core), `seed ${seed}`).toBe(ARENA / 2);
});
