import type { Case, Fact, Family } from "./operation.ts";
import type { Timing } from "./statistics.ts";

/** One variant measured against another. */
export interface Pair {
  readonly name: string;
  /** "node 20.20.2" */
  readonly runtime: string;
  readonly bodyBytes: number;
  readonly ours: string;
  readonly baseline: string;
  /** Nanoseconds a unit, of the best batch. */
  readonly ns: number;
  readonly baselineNs: number;
  readonly ratio: number;
  readonly goal?: number;
  /** The larger of both: (median - best) / best. */
  readonly spread: number;
  readonly unit: string;
  readonly isBestJs: boolean;
}

/** A figure without a baseline. */
export interface MeasuredFact extends Fact {
  readonly runtime: string;
}

export type Result = Pair | MeasuredFact;

export const isPair = (result: Result): result is Pair => "baseline" in result;

/** What a case's timings come to. */
export function pairsOf(measured: Case, timings: ReadonlyMap<string, Timing>, runtime: string): Pair[] {
  const { name, bodyBytes, unit, bars, without = [] } = measured;
  const timing = (variant: string): Timing => {
    const found = timings.get(variant);
    if (!found) throw new Error(`${name}: there is no variant "${variant}"`);
    return found;
  };
  const best = (variant: string): number => {
    const part = without.find(([of]) => of === variant)?.[1];
    return timing(variant).best - (part === undefined ? 0 : timing(part).best);
  };
  return bars.map(({ ours, baseline, goal, isBestJs = false }): Pair => {
    const ns = best(ours), baselineNs = best(baseline);
    return {
      name,
      runtime,
      bodyBytes,
      ours,
      baseline,
      ns,
      baselineNs,
      ratio: ns / baselineNs,
      ...(goal === undefined ? {} : { goal }),
      spread: Math.max(timing(ours).spread, timing(baseline).spread),
      unit,
      isBestJs,
    };
  });
}

/** "met" and "missed" where there is a goal. */
export type Verdict = "met" | "missed" | "";

export function verdictOf(result: Result): Verdict {
  const [value, most] = isPair(result) ? [result.ratio, result.goal] : [result.value, result.limit];
  if (most === undefined) return "";
  return value <= most ? "met" : "missed";
}

/** The runtimes whose goals decide the exit code: Node 20 and Deno. Elsewhere they are printed. */
export const isGate = (runtime: string): boolean => /^node 20\.|^deno /.test(runtime);

export const familyOf = (runtime: string): Family => {
  const family = runtime.split(" ")[0];
  if (family === "node" || family === "deno" || family === "bun") return family;
  throw new Error(`No runtime is called "${runtime}"`);
};

/** As `--json` prints it: one line for each measured pair. */
export function lineOf(result: Result): string {
  if (!isPair(result)) {
    const { name, runtime, value, unit, limit } = result;
    return JSON.stringify({ name, runtime, value: rounded(value), unit, limit });
  }
  const { name, runtime, bodyBytes, ours, baseline, ns, baselineNs, ratio, goal, spread } = result;
  return JSON.stringify({
    name: ours === "ours" ? name : `${name}, ${ours.replace(/^ours, /, "")}`,
    runtime,
    bodyBytes,
    baseline,
    ns: rounded(ns),
    baselineNs: rounded(baselineNs),
    ratio: rounded(ratio),
    goal,
    spread: rounded(spread),
  });
}

/** Four significant digits. */
const rounded = (value: number): number => Number(value.toPrecision(4));

/** One case of a peer that was measured in a process of its own. */
export interface PeerLine {
  readonly name: string;
  readonly bodyBytes: number;
  /** Nanoseconds a unit. */
  readonly best: number;
  readonly median: number;
}

/** Ours against such a peer: what it measured of the cases that we measured, on every runtime. Not interleaved. */
export function peerPairs(results: readonly Result[], peer: string, lines: readonly PeerLine[]): Pair[] {
  const pairs = results.filter(isPair);
  return lines.flatMap(({ name, bodyBytes, best, median }) => {
    const sameCase = pairs.filter((pair) => pair.name === name && pair.bodyBytes === bodyBytes);
    const runtimes = [...new Set(sameCase.map(({ runtime }) => runtime))];
    return runtimes.map((runtime): Pair => {
      const { ours, ns, spread, unit } = sameCase.find((pair) => pair.runtime === runtime)!;
      return {
        name,
        runtime,
        bodyBytes,
        ours,
        baseline: peer,
        ns,
        baselineNs: best,
        ratio: ns / best,
        spread: Math.max(spread, (median - best) / best),
        unit,
        isBestJs: false,
      };
    });
  });
}

/** Of facts that were measured more than once, the lowest. */
export function lowestFacts(results: readonly Result[]): Result[] {
  const isLowest = (fact: MeasuredFact, index: number): boolean =>
    !results.some((other, at) =>
      !isPair(other) && other.name === fact.name && other.unit === fact.unit && other.runtime === fact.runtime &&
      (other.value < fact.value || (other.value === fact.value && at < index))
    );
  return results.filter((result, index) => isPair(result) || isLowest(result, index));
}
