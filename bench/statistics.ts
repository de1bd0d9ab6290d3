/** Of one variant's batches, in nanoseconds a unit. The best one counts: nobody interrupted it. */
export interface Timing {
  readonly best: number;
  readonly median: number;
  /** (median - best) / best: how noisy the machine was. */
  readonly spread: number;
}

export function timingOf(samples: readonly number[]): Timing {
  if (samples.length === 0) throw new Error("Cannot summarize no samples");
  const sorted = samples.toSorted((a, b) => a - b);
  const best = sorted[0]!, median = medianOf(sorted);
  return { best, median, spread: best === 0 ? 0 : (median - best) / best };
}

/** Of samples in ascending order. */
function medianOf(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
