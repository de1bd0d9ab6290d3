#!/usr/bin/env node
// npm run bench: every operation of the core against its baselines; `npm run bench -- --help` says how. Each case runs in a
// process of its own, one after the other. Talk and progress go to stderr.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { canned } from "./bench_canned.mjs";
import { endToEnd } from "./bench_end_to_end.mjs";
import { installAliOns, measureJava } from "./bench_peers.mjs";
import { bundle } from "./bundle.mjs";
import { nodeOf } from "./node_lines.mjs";
import { setup } from "./setup.mjs";
import { at, root } from "./steps.mjs";

const BUILD = at("build/bench");
const ALI_ONS = `${BUILD}/ali-ons`;
const RESULTS = at("bench/RESULTS.md");

await setup({ upTo: "baselines" });
const report = await import(pathToFileURL(await bundle("bench/report/mod.ts")).href);
const [part, ...rest] = process.argv.slice(2);
process.exitCode = part === "e2e"
  ? await endToEnd(rest)
  : part === "canned"
  ? await canned(rest)
  : await main(process.argv.slice(2));

async function main(args) {
  let options, names;
  try {
    options = report.parseArguments(args);
    names = report.chosen(options.only, report.operationNames);
  } catch (error) {
    console.error(`${error.message}\n\n${report.USAGE}`);
    return 2;
  }
  if (options.help) {
    console.log(report.USAGE);
    return 0;
  }
  if (options.peers) installAliOns(ALI_ONS, report.ALI_ONS_VERSION);
  const { results, runtimes, failures } = await measureAll(options, names);
  if (options.peers) results.push(...report.peerPairs(results, "Java", measureJava(`${BUILD}/java`, options)));
  if (options.json) { for (const result of results) console.log(report.lineOf(result)); }
  else console.log(report.tableOf(results));
  (options.json ? console.error : console.log)(report.summaryOf(results));
  if (options.svg !== undefined) await plot(results, runtimes, options.svg);
  for (const failure of failures) console.error(failure);
  if (options.results && failures.length > 0) console.error("bench/RESULTS.md stays as it is");
  else if (options.results) await keep(results, runtimes);
  return failures.length > 0 || report.missedBars(results).length > 0 ? 1 : 0;
}

/** All cases on all runtimes. `runtimes` says which name `--runtime` takes for what a result calls its runtime. */
async function measureAll(options, names) {
  const parts = names.flatMap((name) => report.partsOf(name).map((part) => ({ name, part })));
  const results = [], failures = [], runtimes = new Map();
  for (const runtime of options.runtimes) {
    const command = await commandOf(runtime);
    for (const [index, { name, part }] of parts.entries()) {
      progress(`${runtime} ${index + 1} of ${parts.length}: ${name}`);
      try {
        const found = await runPart(command, name, part, options);
        for (const result of found) runtimes.set(result.runtime, runtime);
        results.push(...found);
      } catch (error) {
        failures.push(`${runtime}: ${error.message}`);
      }
    }
  }
  progress("");
  return { results: report.lowestFacts(results), runtimes, failures };
}

/**
 * How a runtime starts one part of an operation: all of them run what was bundled, as the package is. Out of the sources V8
 * looks each number of `abi.ts` up again wherever it is used; in a bundle they are literals.
 */
async function commandOf(runtime) {
  const script = await bundle("bench/run_operation.ts");
  if (runtime === "deno") return [at("node_modules/.bin/deno"), "run", "-A", "--no-prompt", script];
  if (runtime === "bun") return [at("node_modules/.bin/bun"), "run", script];
  const node = runtime === "node" ? nodeOf(20) : nodeOf(Number(runtime.slice("node".length)));
  return [node, "--enable-source-maps", script];
}

function runPart([program, ...first], name, part, { rounds, batchMs, warmUpMs, peers }) {
  const args = [
    ...first,
    name,
    part,
    String(rounds),
    String(batchMs),
    String(warmUpMs),
    BUILD,
    ...(peers ? [ALI_ONS] : []),
  ];
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const stop = () => child.kill();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => output += chunk);
    child.once("error", reject);
    child.once("close", (code, signal) => {
      process.off("SIGINT", stop).off("SIGTERM", stop);
      if (code === 0) resolve(output.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line)));
      else if (signal === "SIGTERM") process.exit(130);
      else reject(new Error(`part ${part} of operation ${name} ended with ${signal ?? `code ${code}`}`));
    });
  });
}

async function plot(results, runtimes, folder) {
  mkdirSync(folder, { recursive: true });
  for (const [runtime, name] of runtimes) {
    writeFileSync(join(folder, `operations-${name}.svg`), `${await report.plotOf(results, runtime)}\n`);
  }
}

/** Writes the runtimes' sections of bench/RESULTS.md, and their plots. */
async function keep(results, runtimes) {
  await plot(results, runtimes, at("bench/plots"));
  const setting = {
    processor: `${os.cpus().length} × ${os.cpus()[0]?.model.trim() ?? "unknown processor"}`,
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    date: new Date().toISOString().slice(0, 10),
  };
  let text = readFileSync(RESULTS, "utf8");
  for (const [runtime, name] of runtimes) {
    const section = report.resultsSection(results, runtime, setting, `plots/operations-${name}.svg`);
    text = report.replaceSection(text, name, section);
  }
  writeFileSync(RESULTS, text);
}

/** One line that is written over, on a terminal. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}
