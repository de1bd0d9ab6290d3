// bench/RESULTS.md: figures between markers, which a run writes anew; the words around them stay.
import { isPair, type MeasuredFact, type Pair, type Result, verdictOf } from "../result.ts";
import { bytesText, nsText, ratioText, title } from "./table.ts";

/** Where and when a run was. */
export interface Setting {
  /** "2 × Intel(R) Xeon(R) CPU @ 2.20GHz" */
  readonly processor: string;
  readonly system: string;
  /** ISO, a day. */
  readonly date: string;
}

/** Puts `content` between the markers of a section. Throws when there are none. */
export function replaceSection(text: string, name: string, content: string): string {
  const { from, to } = placeOf(text, name);
  return `${text.slice(0, from)}\n${content.trim()}\n${text.slice(to)}`;
}

/** What lies between the markers of a section. Throws when there are none. */
export function sectionOf(text: string, name: string): string {
  const { from, to } = placeOf(text, name);
  return text.slice(from, to);
}

function placeOf(text: string, name: string): { readonly from: number; readonly to: number } {
  const begin = `<!-- begin ${name} -->`, end = `<!-- end ${name} -->`;
  const from = text.indexOf(begin), to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`There is no section "${name}" between ${begin} and ${end}`);
  return { from: from + begin.length, to };
}

/** One runtime's figures. `plot` is the path of its picture. */
export function resultsSection(
  results: readonly Result[],
  runtime: string,
  { processor, system, date }: Setting,
  plot: string,
): string {
  const own = results.filter((result) => result.runtime === runtime);
  return [
    `${capital(runtime)}, ${processor}, ${system}, ${date}.`,
    "",
    `![Nanoseconds of each operation](${plot})`,
    "",
    "| operation | body | ours, ns | baseline | its ns | ratio | goal | spread | × best JavaScript |",
    "|---|---|---|---|---|---|---|---|---|",
    ...own.filter(isPair).map((pair) => pairRow(pair, own)),
    "",
    ...own.filter((result) => !isPair(result)).map((fact) => factLine(fact as MeasuredFact)),
  ].join("\n");
}

function pairRow(pair: Pair, all: readonly Result[]): string {
  const best = all.filter(isPair).find((other) =>
    other.isBestJs && other.name === pair.name && other.bodyBytes === pair.bodyBytes && other.ours === pair.ours
  );
  const goal = pair.goal === undefined ? "" : `≤ ${pair.goal}`;
  const ratio = verdictOf(pair) === "missed" ? `**${ratioText(pair.ratio)}**, missed` : ratioText(pair.ratio);
  return `| ${
    [
      title(pair),
      bytesText(pair.bodyBytes),
      nsText(pair.ns),
      pair.baseline,
      nsText(pair.baselineNs),
      ratio,
      goal,
      `${Math.round(pair.spread * 100)} %`,
      best ? ratioText(best.ratio) : "",
    ].join(" | ")
  } |`;
}

function factLine({ name, value, unit, limit }: MeasuredFact): string {
  const figure = Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(2);
  return `- ${name}: ${figure} ${unit}${limit === undefined ? "" : `, at most ${limit.toLocaleString("en")}`}`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
