#!/usr/bin/env node
// npm run bench: every operation of the core against its baselines; `npm run bench -- --help` says how. Each case runs in a
// process of its own, one after the other. Talk and progress go to stderr.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { nodeOf } from "./node_lines.mjs";
import { setup } from "./setup.mjs";
import { at, npm, root } from "./steps.mjs";

const BUILD = at("build/bench");

await setup({ upTo: "baselines" });
const report = await import(pathToFileURL(await bundle("bench/report/mod.ts")).href);
process.exitCode = await main(process.argv.slice(2));

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
  if (options.peers) installAliOns();
  const results = [];
  const parts = names.flatMap((name) => report.partsOf(name).map((part) => ({ name, part })));
  for (const runtime of options.runtimes) {
    const command = await commandOf(runtime);
    for (const [index, { name, part }] of parts.entries()) {
      progress(`${runtime} ${index + 1} of ${parts.length}: ${name}`);
      results.push(...await runPart(command, name, part, options));
    }
  }
  progress("");
  if (options.json) { for (const result of results) console.log(report.lineOf(result)); }
  else console.log(`${report.tableOf(results)}\n${report.summaryOf(results)}`);
  if (options.json) console.error(report.summaryOf(results));
  return report.missedBars(results).length > 0 ? 1 : 0;
}

/** How a runtime starts one part of an operation: Node runs what was bundled, the others read the sources. */
async function commandOf(runtime) {
  const source = at("bench/run_operation.ts");
  if (runtime === "deno") return [at("node_modules/.bin/deno"), "run", "-A", "--no-prompt", source];
  if (runtime === "bun") return [at("node_modules/.bin/bun"), "run", source];
  const node = runtime === "node" ? process.execPath : nodeOf(Number(runtime.slice("node".length)));
  return [node, "--enable-source-maps", await bundle("bench/run_operation.ts")];
}

function runPart([program, ...first], name, part, { rounds, batchMs }) {
  const args = [...first, name, part, String(rounds), String(batchMs), BUILD];
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
      else reject(new Error(`Part ${part} of operation ${name} ended with ${signal ?? `code ${code}`}`));
    });
  });
}

/** ali-ons is measured, not used: it lies under build/bench/. */
function installAliOns() {
  const folder = `${BUILD}/ali-ons`;
  if (existsSync(`${folder}/node_modules/ali-ons/package.json`)) return;
  console.error(`installing ali-ons@${report.ALI_ONS_VERSION} for the benchmark`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, `{ "private": true }\n`);
  const packages = [`ali-ons@${report.ALI_ONS_VERSION}`, "urllib@2"];
  try {
    npm(["install", "--no-audit", "--no-fund", "--no-save", "--no-package-lock", ...packages], { cwd: folder });
  } catch (error) {
    console.error(`ali-ons cannot be installed, and is not measured: ${error.message}`);
  }
}

/** One line that is written over, on a terminal. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}
