// Runs of a case become medians, medians are held against the bars.
import { type Bar, type BenchCase, MEMORY_GOAL } from "./cases.ts";
import type { Measurement } from "./meter.ts";

/** One run, as it is kept. */
export interface Run {
  readonly name: string;
  /** "node 20.20.2", on which ours ran; null for the peers, which count beside ours on each runtime. */
  readonly runtime: string | null;
  readonly client: string;
  readonly measurement: Measurement;
}

/** What the runs of one client in one case come to. */
export interface Summary {
  readonly client: string;
  readonly runs: number;
  readonly cpuPerMillion: number;
  /** Of the CPU: (largest - smallest) / median. */
  readonly spread: number;
  readonly msgsPerSec: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly rssMiB: number;
  readonly errors: number;
}

/** "told" where there is no goal. */
export type Verdict = "met" | "missed" | "told";

/** A bar with the figures it was held against. */
export interface Judged extends Bar {
  readonly what: "CPU" | "memory";
  readonly ratio: number;
  readonly verdict: Verdict;
}

export interface Row {
  readonly name: string;
  readonly runtime: string;
  readonly summaries: readonly Summary[];
  readonly judged: readonly Judged[];
}

export function medianOf(values: readonly number[]): number {
  if (values.length === 0) throw new Error("No values have no median");
  const sorted = values.toSorted((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Rows in the order of `cases`, a row for each runtime. Bars whose baseline was not run are left out. */
export function rowsOf(cases: readonly BenchCase[], runs: readonly Run[]): readonly Row[] {
  const named = [...new Set(runs.flatMap(({ runtime }) => runtime ?? []))];
  const runtimes = named.length > 0 ? named : ["without ours"];
  return runtimes.flatMap((runtime) =>
    cases.flatMap((each): Row[] => {
      const own = runs.filter((run) => run.name === each.name && (run.runtime ?? runtime) === runtime);
      const summaries = each.clients.flatMap((client) => {
        const measurements = own.filter((run) => run.client === client).map(({ measurement }) => measurement);
        return measurements.length === 0 ? [] : [summaryOf(client, measurements)];
      });
      return summaries.length === 0 ? [] : [{ name: each.name, runtime, summaries, judged: judge(each, summaries) }];
    })
  );
}

function summaryOf(client: string, measurements: readonly Measurement[]): Summary {
  const median = (value: (each: Measurement) => number): number => medianOf(measurements.map(value));
  const optional = (value: (each: Measurement) => number | null): number | null => {
    const known = measurements.map(value).filter((each) => each !== null);
    return known.length === 0 ? null : medianOf(known);
  };
  const cpu = measurements.map(({ cpuPerMillion }) => cpuPerMillion), cpuPerMillion = medianOf(cpu);
  return {
    client,
    runs: measurements.length,
    cpuPerMillion,
    spread: (Math.max(...cpu) - Math.min(...cpu)) / cpuPerMillion,
    msgsPerSec: median(({ msgsPerSec }) => msgsPerSec),
    p50Ms: optional(({ p50Ms }) => p50Ms),
    p99Ms: optional(({ p99Ms }) => p99Ms),
    rssMiB: median(({ rssMiB }) => rssMiB),
    errors: measurements.reduce((sum, { errors }) => sum + errors, 0),
  };
}

function judge({ bars }: BenchCase, summaries: readonly Summary[]): readonly Judged[] {
  const of = (client: string): Summary | undefined => summaries.find((summary) => summary.client === client);
  const ours = of("ours"), raw = of("raw socket");
  if (!ours) return [];
  const judged = bars.flatMap((bar): Judged[] => {
    const baseline = of(bar.baseline);
    return baseline ? [judgedOf(bar, "CPU", ours.cpuPerMillion / baseline.cpuPerMillion)] : [];
  });
  const memory = { baseline: "raw socket", goal: MEMORY_GOAL } as const;
  return raw ? [...judged, judgedOf(memory, "memory", ours.rssMiB / raw.rssMiB)] : judged;
}

const judgedOf = (bar: Bar, what: Judged["what"], ratio: number): Judged => ({
  ...bar,
  what,
  ratio,
  verdict: bar.goal === undefined ? "told" : ratio <= bar.goal ? "met" : "missed",
});

/** What was not run: clients of cases, ours and others that run on a runtime on each of these. */
export function lackingOf(
  cases: readonly BenchCase[],
  runs: readonly Run[],
  runtimes: readonly string[],
): readonly string[] {
  return cases.flatMap(({ name, clients }) =>
    clients.flatMap((client) => {
      const own = runs.filter((run) => run.name === name && run.client === client);
      const isThere = (on: string) => own.some(({ runtime }) => runtime === null || runtime.startsWith(`${on} `));
      return runtimes.filter((runtime) => !isThere(runtime)).map((runtime) => `${name}, ${client}, ${runtime}`);
    })
  );
}

/** Bars decide on Node 20; Deno and Bun are printed. */
export const decides = ({ runtime }: Pick<Row, "runtime">): boolean => runtime.startsWith("node 20.");

export const missedOf = (rows: readonly Row[]): readonly { readonly row: Row; readonly bar: Judged }[] =>
  rows.filter(decides).flatMap((row) =>
    row.judged.filter(({ verdict }) => verdict === "missed").map((bar) => ({ row, bar }))
  );
