import type { Case, Variant } from "./operation.ts";
import { type Timing, timingOf } from "./statistics.ts";

export interface Pace {
  /** Batches of each variant, at least ROUNDS_MIN outside of tests. */
  readonly rounds: number;
  /** Length of one batch, 0.6 to 3 ms. */
  readonly batchMs: number;
  /** How long each variant runs before: engines optimize in the background, late on a busy machine. */
  readonly warmUpMs: number;
}

/** Fewer batches say too little. */
export const ROUNDS_MIN = 41;

/** Clock of a measurement, in ms. */
export type Now = () => number;

interface Timed {
  readonly variant: Variant;
  runs: number;
  readonly samples: number[];
}

/**
 * Times variants in short batches that take turns, so that whatever disturbs the machine disturbs all of them. Figures are
 * nanoseconds a unit, `perRun` units a run; a batch is a multiple of `period` runs.
 */
export async function measure(
  { variants, perRun, period = 1 }: Pick<Case, "variants" | "perRun" | "period">,
  pace: Pace,
  now: Now = () => performance.now(),
): Promise<Map<string, Timing>> {
  const timed: Timed[] = [];
  for (const variant of variants) {
    const runs = Math.ceil(await runsFor(variant, pace, now) / period) * period;
    timed.push({ variant, runs, samples: [] });
  }
  // Whole periods make batches long: fewer are enough then.
  const rounds = period > 1 ? Math.min(pace.rounds, ROUNDS_MIN) : pace.rounds;
  for (let round = 0; round < rounds; round++) {
    for (const each of timed) {
      const ms = await batch(each.variant, each.runs, now);
      each.samples.push(ms * 1e6 / each.runs / perRun);
    }
  }
  return new Map(timed.map(({ variant, samples }) => [variant.name, timingOf(samples)]));
}

/** Warms a variant up and finds how many runs fill one batch. */
async function runsFor(variant: Variant, { batchMs, warmUpMs }: Pace, now: Now): Promise<number> {
  const warm = now() + warmUpMs;
  for (let runs = 1;;) {
    const ms = await batch(variant, runs, now);
    if (ms < batchMs / 2) runs *= 2;
    else if (now() >= warm) return Math.max(1, Math.round(runs * batchMs / ms));
    else runs = Math.max(1, Math.round(runs * batchMs / ms));
  }
}

/** Milliseconds of `runs` runs. A variant that returns promises is awaited run by run. */
async function batch(variant: Variant, runs: number, now: Now): Promise<number> {
  const started = now();
  const first = variant.run();
  if (first instanceof Promise) {
    await first;
    for (let run = 1; run < runs; run++) await variant.run();
  } else {
    for (let run = 1; run < runs; run++) void variant.run();
  }
  return now() - started;
}
