// Rows for a terminal, as JSON, and for bench/RESULTS.md.
import { decides, type Judged, missedOf, type Row, type Run, type Summary } from "./verdict.ts";

/** Where and when runs were made. */
export interface Setting {
  readonly processor: string;
  readonly system: string;
  /** ISO, a day. */
  readonly date: string;
  /** "broker 5.5.0, Java client 5.5.0, …" */
  readonly versions: string;
}

const HEAD = ["case", "client", "runs", "CPU s/million", "spread", "messages/s", "p50 ms", "p99 ms", "MiB", "bars"];

export function endToEndTable(rows: readonly Row[]): string {
  const lines = rows.flatMap((row) => row.summaries.map((summary) => cellsOf(row, summary)));
  const widths = HEAD.map((_, column) => Math.max(...[HEAD, ...lines].map((line) => line[column]!.length)));
  return [...groups(rows)].map(([runtime, own]) =>
    [
      runtime,
      ...[HEAD, ...own.flatMap((row) => row.summaries.map((summary) => cellsOf(row, summary)))].map((line) =>
        line.map((cell, column) =>
          column < 2 || column === 9 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)
        )
          .join("  ").trimEnd()
      ),
      "",
    ].join("\n")
  ).join("\n");
}

/** How many bars hold where they decide, and which do not. */
export function endToEndSummary(rows: readonly Row[]): string {
  const missed = missedOf(rows), all = barsOf(rows.filter(decides));
  if (all === 0) return "No bar decides here";
  return [
    ...missed.map(({ row, bar }) => `missed: ${row.name}, ${barText(bar)}`),
    `${all - missed.length} of ${all} bars hold on Node 20`,
  ].join("\n");
}

export function endToEndMarkdown(rows: readonly Row[], { processor, system, date, versions }: Setting): string {
  return [...groups(rows)].map(([runtime, own]) =>
    [
      `Ours on ${runtime}; ${processor}, ${system}, ${date}; ${versions}.`,
      "",
      `| ${HEAD.join(" | ")} |`,
      `|${"---|".repeat(HEAD.length)}`,
      ...own.flatMap((row) => row.summaries.map((summary) => `| ${cellsOf(row, summary).join(" | ")} |`)),
    ].join("\n")
  ).join("\n\n");
}

/** The runtimes, by the names that `--runtime` takes, of which `endToEndMarkdown` has written figures. */
export const runtimesIn = (markdown: string): readonly string[] =>
  [...markdown.matchAll(/^Ours on (\w+) /gm)].map(([, name]) => name!);

/** A run as `--json` prints it and `--from` reads it. */
export const runLine = (run: Run): string => JSON.stringify({ run });
export const settingLine = (setting: Setting): string => JSON.stringify({ setting });

/** A line for each bar. */
export const barLines = (rows: readonly Row[]): readonly string[] =>
  rows.flatMap(({ name, runtime, judged }) =>
    judged.map(({ what, baseline, ratio, goal, verdict }) =>
      JSON.stringify({ name, runtime, what, baseline, ratio: Number(ratio.toPrecision(3)), goal, verdict })
    )
  );

/** What `--json` printed. Lines of bars are made anew from the runs. */
export function readLines(text: string): { readonly runs: readonly Run[]; readonly setting: Setting | undefined } {
  const lines = text.split("\n").filter((line) => line.startsWith("{")).map((line) =>
    JSON.parse(line) as { readonly run?: Run; readonly setting?: Setting }
  );
  return {
    runs: lines.flatMap(({ run }) => run ? [run] : []),
    setting: lines.findLast(({ setting }) => setting)?.setting,
  };
}

/** How many have a goal. */
const barsOf = (rows: readonly Row[]): number =>
  rows.flatMap(({ judged }) => judged).filter(({ goal }) => goal !== undefined).length;

const groups = (rows: readonly Row[]): ReadonlyMap<string, Row[]> => {
  const byRuntime = new Map<string, Row[]>();
  for (const row of rows) byRuntime.set(row.runtime, [...byRuntime.get(row.runtime) ?? [], row]);
  return byRuntime;
};

const cellsOf = ({ name, judged }: Row, summary: Summary): readonly string[] => [
  name,
  summary.client,
  String(summary.runs),
  figure(summary.cpuPerMillion),
  `${Math.round(summary.spread * 100)} %`,
  Math.round(summary.msgsPerSec).toLocaleString("en"),
  figure(summary.p50Ms),
  figure(summary.p99Ms),
  summary.rssMiB.toFixed(0),
  [
    ...(summary.client === "ours" ? judged.map(barText) : []),
    ...(summary.errors > 0 ? [`${summary.errors} errors`] : []),
  ].join("; "),
];

const barText = ({ what, baseline, ratio, goal, verdict }: Judged): string =>
  `${what} ${ratio.toFixed(2)} × ${baseline}${goal === undefined ? "" : `, at most ${goal}`}` +
  (verdict === "missed" ? " MISSED" : "");

/** Three digits. */
function figure(value: number | null): string {
  if (value === null) return "";
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
