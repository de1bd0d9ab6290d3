// What `npm run bench -- e2e` and `npm run bench -- canned` have in common: options, runs in turns, tables, bench/RESULTS.md.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { nodeOf } from "./node_lines.mjs";
import { at, quietly } from "./steps.mjs";

const RESULTS = at("bench/RESULTS.md");

/**
 * The exit code. `casesOf` takes the benchmark's modules, `section` is that of bench/RESULTS.md, `measure` gives runs, setting
 * and failures.
 */
export async function runCases(args, casesOf, section, measure) {
  const bench = await import(pathToFileURL(await bundle("bench/e2e/mod.ts")).href);
  let options, cases;
  try {
    options = bench.parseEndToEndArguments(args);
    cases = bench.chosenCases(options.only, casesOf(bench));
    if (options.results) requireRuntimes(bench, section, options);
  } catch (error) {
    console.error(`${error.message}\n\n${bench.USAGE}`);
    return 2;
  }
  if (options.help) {
    console.log(bench.USAGE);
    return 0;
  }
  const { runs, setting, failures } = options.from.length > 0
    ? readKept(bench, options.from)
    : await measure(bench, options, cases);
  const rows = bench.rowsOf(cases, runs);
  if (options.json) { for (const line of bench.barLines(rows)) console.log(line); }
  else console.log(bench.endToEndTable(rows));
  (options.json ? console.error : console.log)(bench.endToEndSummary(rows));
  for (const failure of failures) console.error(failure);
  const lacking = options.results ? keepResults(bench, section, { cases, runs, rows, setting }) : [];
  if (lacking.length > 0) console.error(`bench/RESULTS.md stays as it is, for want of\n${lacking.join("\n")}`);
  return failures.length + lacking.length > 0 || bench.missedOf(rows).length > 0 ? 1 : 0;
}

function readKept(bench, files) {
  const kept = files.map((file) => bench.readLines(readFileSync(file, "utf8")));
  const setting = kept.findLast((each) => each.setting)?.setting;
  if (!setting) throw new Error(`${files.join(", ")} does not say where it was measured`);
  return { runs: kept.flatMap(({ runs }) => runs), setting, failures: [] };
}

/** Before an hour is spent: runs on fewer runtimes would not make the section whole. */
function requireRuntimes(bench, section, { from, runtimes }) {
  if (from.length > 0) return;
  const left = runtimesKept(bench, section).filter((runtime) => !runtimes.includes(runtime));
  if (left.length === 0) return;
  throw new Error(
    `bench/RESULTS.md has ${left.join(" and ")} too: --runtime each of them, or bring runs together with --from`,
  );
}

const runtimesKept = (bench, section) => bench.runtimesIn(bench.sectionOf(readFileSync(RESULTS, "utf8"), section));

/** Writes the section; or returns what is not measured of it, and leaves it as it is. */
function keepResults(bench, section, { cases, runs, rows, setting }) {
  const markdown = bench.endToEndMarkdown(rows, setting);
  const runtimes = new Set([...runtimesKept(bench, section), ...bench.runtimesIn(markdown)]);
  const lacking = bench.lackingOf(cases, runs, [...runtimes]);
  if (lacking.length === 0) {
    writeFileSync(RESULTS, bench.replaceSection(readFileSync(RESULTS, "utf8"), section, markdown));
  }
  return lacking;
}

/** Collects runs and failures, and tells of them as they come. */
export class Collected {
  runs = [];
  failures = [];
  #bench;
  #isJson;

  constructor(bench, { json }) {
    this.#bench = bench;
    this.#isJson = json;
  }

  /** One run: what `task` prints, of the case with this name. `more` is said behind the figure. */
  async run({ name, runtime, client }, task, more = () => "") {
    try {
      const output = await task();
      const line = output.split("\n").findLast((each) => each.startsWith("{"));
      if (line === undefined) throw new Error("it printed no measurement");
      const run = { name, runtime, client, measurement: JSON.parse(line) };
      this.runs.push(run);
      if (this.#isJson) console.log(this.#bench.runLine(run));
      const on = runtime === null ? "" : ` on ${runtime}`;
      console.error(`  ${client}${on}: ${run.measurement.cpuPerMillion} CPU s per million${more()}`);
    } catch (error) {
      this.failed(`${name}, ${client}: ${error.message}`);
    }
  }

  failed(text) {
    this.failures.push(text);
    console.error(`  ${text}`);
  }
}

/** Node 20, which runs what was bundled. Without source maps: they take MiB that would count as the client's. */
export const nodeTool = async (entry) => [nodeOf(20), await bundle(entry)];

/**
 * How a program that measures ours is started on each runtime: all of them run what was bundled, as the package is. `profile` is
 * the folder where a profile goes, of the name that `argv` is given.
 */
export async function clientCommands(entry, { runtimes, profile }) {
  const [node, script] = await nodeTool(entry);
  const commands = {
    node: () => ({
      runtime: `node ${quietly(node, ["--version"]).trim().slice(1)}`,
      argv: (name) => [node, ...(profile === undefined ? [] : profiling(profile, name)), script],
    }),
    deno: () => ({
      runtime: `deno ${versionOf("deno")}`,
      argv: () => [at("node_modules/.bin/deno"), "run", "-A", "--no-prompt", script],
    }),
    bun: () => ({
      runtime: `bun ${versionOf("bun")}`,
      argv: () => [at("node_modules/.bin/bun"), "run", script],
    }),
  };
  return runtimes.map((runtime) => commands[runtime]());
}

const versionOf = (name) => JSON.parse(readFileSync(at(`node_modules/${name}/package.json`), "utf8")).version;

function profiling(folder, name) {
  mkdirSync(folder, { recursive: true });
  return ["--cpu-prof", "--cpu-prof-interval=500", `--cpu-prof-dir=${resolve(folder)}`, `--cpu-prof-name=${name}`];
}

/** Prints where the time went in a run that was profiled. */
export function tellProfile(bench, { profile }, name) {
  if (profile === undefined) return;
  console.error(bench.profileText(bench.topOfProfile(readFileSync(resolve(profile, name), "utf8"), 25)));
}

/** This machine, today. */
export const settingHere = (versions) => ({
  processor: `${os.cpus().length} × ${os.cpus()[0]?.model.trim() ?? "unknown processor"}`,
  system: `${os.type()} ${os.release()} ${os.arch()}`,
  date: new Date().toISOString().slice(0, 10),
  versions,
});
