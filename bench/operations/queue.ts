// The offsets of a process queue: a batch goes in at the end, as many messages are done with, and the lowest offset is known.
import { offsetMap, offsetMapWalked, type OffsetQueue } from "../baselines/offset_map.ts";
import { offsetRing } from "../baselines/offset_ring.ts";
import type { Case, Operation, Variant } from "../operation.ts";
import { OffsetTree } from "../ours/offset_queue.ts";

/** Messages of a batch. */
const BATCH = 32;
const SIZE = 1_024;
const FIRST = 0;

/** Whole batches: a window of so many offsets is finished while the next one arrives. */
const IN_FLIGHT = [1_024, 102_400];

export const queue: Operation = {
  name: "queue",
  cases: IN_FLIGHT.flatMap((inFlight) => [false, true].map((isRandom) => () => queueing(inFlight, isRandom))),
};

function queueing(inFlight: number, isRandom: boolean): Case {
  const goal = inFlight < 100_000 ? 0.4 : 0.2;
  return {
    name: `queue put + remove, ${inFlight.toLocaleString("en")} ${isRandom ? "at random" : "in order"}`,
    bodyBytes: 0,
    unit: "message",
    perRun: BATCH,
    period: inFlight / BATCH,
    variants: [
      variant("ours", new OffsetTree(), inFlight, isRandom),
      variant("Map", offsetMap(), inFlight, isRandom),
      variant("Map, lowest walked", offsetMapWalked(FIRST), inFlight, isRandom),
      variant("best JS", offsetRing(FIRST, inFlight * 4), inFlight, isRandom),
    ],
    bars: [
      { ours: "ours", baseline: "Map", goal },
      { ours: "ours", baseline: "Map, lowest walked", goal },
      { ours: "ours", baseline: "best JS", isBestJs: true },
    ],
  };
}

/** Always `inFlight` messages in the queue; each run puts one batch in and takes one out. */
function variant(name: string, queue: OffsetQueue, inFlight: number, isRandom: boolean): Variant {
  const order = isRandom ? shuffled(inFlight) : rising(inFlight);
  const arriving = new Array<number>(BATCH), done = new Array<number>(BATCH);
  let next = FIRST;
  const put = (): void => {
    for (let i = 0; i < BATCH; i++) arriving[i] = next++;
    queue.put(arriving, SIZE);
  };
  while (next < inFlight) put();
  /** Where the window begins whose offsets are being finished, and how far that is. */
  let window = FIRST, at = 0, lowest = FIRST;
  const run = (): void => {
    put();
    for (let i = 0; i < BATCH; i++) done[i] = window + order[at++]!;
    lowest = queue.remove(done);
    if (at === inFlight) {
      at = 0;
      window += inFlight;
    }
  };
  return {
    name,
    run,
    outcome() {
      // From the beginning of a window on, so that it does not matter what has run before.
      while (at !== 0) run();
      const from = window, seen: number[] = [];
      // More than a window: also what is left when all of one is done.
      for (let step = 0; step <= inFlight / BATCH + 2; step++) {
        run();
        seen.push(lowest - from);
      }
      return { lowest: checksum(seen), count: queue.count, bytes: queue.bytes };
    },
  };
}

const rising = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

/** The same order for all variants. */
function shuffled(count: number): readonly number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  let state = 12_345;
  for (let i = count - 1; i > 0; i--) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const other = (state >>> 0) % (i + 1);
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}

const checksum = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => (sum * 31 + number) % 2_147_483_647, 7);
