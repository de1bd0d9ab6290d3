import { isGate, isPair, type MeasuredFact, type Pair, type Result, type Verdict, verdictOf } from "../result.ts";

/** The results of a run for a terminal, runtime by runtime. */
export function tableOf(results: readonly Result[]): string {
  const runtimes = [...new Set(results.map(({ runtime }) => runtime))];
  return runtimes.map((runtime) => {
    const own = results.filter((result) => result.runtime === runtime);
    const lines = aligned([HEAD, ...own.map((result) => isPair(result) ? pairRow(result) : factRow(result))]);
    return [runtime, ...lines, ""].join("\n");
  }).join("\n");
}

/** Which bars were missed where they decide, and how many there were on each runtime. */
export function summaryOf(results: readonly Result[]): string {
  const runtimes = [...new Set(results.map(({ runtime }) => runtime))];
  return [
    ...missedBars(results).map((result) => `missed: ${describe(result)}`),
    ...runtimes.map((runtime) => {
      const verdicts = results.filter((result) => result.runtime === runtime).map(verdictOf);
      const met = verdicts.filter((verdict) => verdict === "met").length;
      const bars = met + verdicts.filter((verdict) => verdict === "missed").length;
      return `${runtime}: ${met} of ${bars} bars hold${isGate(runtime) ? "" : ", which decide nothing here"}`;
    }),
  ].join("\n");
}

/** Bars that are missed on a runtime that decides. */
export const missedBars = (results: readonly Result[]): readonly Result[] =>
  results.filter((result) => isGate(result.runtime) && verdictOf(result) === "missed");

const describe = (result: Result): string =>
  isPair(result)
    ? `${title(result)} on ${result.runtime}: ${result.ratio.toFixed(2)} x ${result.baseline}, at most ${result.goal}`
    : `${result.name} on ${result.runtime}: ${shown(result)}, at most ${result.limit}`;

const HEAD = ["operation", "body", "ns", "baseline", "ns", "ratio", "goal", "spread", ""];

/** "consume, leased" */
export const title = ({ name, ours }: Pair): string =>
  ours === "ours" ? name : `${name}, ${ours.replace(/^ours, /, "")}`;

export const bytesText = (bytes: number): string =>
  bytes === 0 ? "" : bytes >= 1024 ? `${bytes / 1024} KiB` : `${bytes} B`;

export const nsText = (ns: number): string =>
  ns >= 1000 ? Math.round(ns).toLocaleString("en") : ns.toFixed(ns >= 100 ? 0 : 1);

/** Two decimals from 0.1 on, three below. */
export const ratioText = (ratio: number): string => ratio.toFixed(Math.abs(ratio) < 0.1 ? 3 : 2);

const WORDS: Readonly<Record<Verdict, string>> = { met: "ok", missed: "MISSED", "": "" };

const pairRow = (pair: Pair): string[] => [
  title(pair),
  bytesText(pair.bodyBytes),
  nsText(pair.ns),
  pair.baseline + (pair.isBestJs ? " *" : ""),
  nsText(pair.baselineNs),
  ratioText(pair.ratio),
  pair.goal === undefined ? "" : String(pair.goal),
  `${Math.round(pair.spread * 100)} %`,
  WORDS[verdictOf(pair)],
];

const factRow = (fact: MeasuredFact): string[] => [
  fact.name,
  "",
  shown(fact),
  "",
  "",
  "",
  fact.limit === undefined ? "" : String(fact.limit),
  "",
  WORDS[verdictOf(fact)],
];

const shown = ({ value, unit }: MeasuredFact): string =>
  `${Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(2)} ${unit}`;

const RIGHT = new Set([1, 2, 4, 5, 6, 7]);

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, column) => RIGHT.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!))
      .join("  ").trimEnd()
  );
}
