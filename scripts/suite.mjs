// Runs the one vitest suite on one runtime and counts, for `npm test` and `npm run test:nodes`.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { at, root } from "./steps.mjs";

/** How each runtime starts vitest. Its pool `forks` starts the same runtime again, so the tests run inside it too. */
export const runtimes = {
  node: [process.execPath],
  deno: [at("node_modules/.bin/deno"), "run", "-A", "--no-prompt"],
  bun: [at("node_modules/.bin/bun"), "--bun"],
};

/**
 * Runs the suite. `runtime` is what the tests must find themselves on (`test/runtime.test.ts` asks), `command` starts it,
 * `name` is for people and for the result's file.
 */
export async function runSuite({ name, runtime, command = runtimes[runtime], args = [] }) {
  const report = at(`build/test/${name}.json`);
  mkdirSync(at("build/test"), { recursive: true });
  rmSync(report, { force: true });
  const started = performance.now();
  const code = await run(command, [
    ...["node_modules/vitest/vitest.mjs", "run", "--pool=forks"],
    ...["--reporter=default", "--reporter=json", `--outputFile.json=${report}`],
    ...args,
  ], { ...process.env, ROCKETMQ_TEST_RUNTIME: runtime });
  return { name, seconds: (performance.now() - started) / 1000, ...count(report, code) };
}

function run([program, ...first], rest, env) {
  const child = spawn(program, [...first, ...rest], { cwd: root, env, stdio: ["ignore", "inherit", "inherit"] });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** A file that did not load, or a run that ended badly for another reason, counts as one failure. */
function count(report, code) {
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0, tests: [] };
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  const all = testResults.flatMap((file) =>
    file.assertionResults.map((each) => ({
      name: `${file.name.slice(root.length + 1)}: ${each.fullName}`,
      status: each.status,
    }))
  );
  const passed = all.filter((each) => each.status === "passed").length;
  const broken = testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
  const failed = all.filter((each) => each.status === "failed").length + broken;
  const tests = all.filter((each) => each.status === "passed" || each.status === "failed").map((each) => each.name);
  return { passed, failed: failed === 0 && code !== 0 ? 1 : failed, skipped: all.length - tests.length, tests };
}

/** Prints a line per run and the tests that not all of them ran; returns the sums, a difference counted as a failure. */
export function summarize(results) {
  console.log();
  for (const { name, passed, failed, skipped, seconds } of results) {
    const more = skipped > 0 ? `, ${skipped} skipped` : "";
    console.log(`${name.padEnd(8)} ${passed} passed, ${failed} failed${more}   ${seconds.toFixed(1)} s`);
  }
  const differing = differences(results);
  for (const line of differing) console.log(line);
  if (differing.length > 0) console.log("The runs differ in what they ran; that counts as one failure");
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  return { passed: sum("passed"), failed: sum("failed") + (differing.length > 0 ? 1 : 0) };
}

function differences(results) {
  const ran = new Map();
  for (const { name, tests } of results) {
    for (const test of new Set(tests)) ran.set(test, [...(ran.get(test) ?? []), name]);
  }
  const lines = [...ran].filter(([, names]) => names.length !== results.length)
    .map(([test, names]) => `only on ${names.join(", ")}: ${test}`);
  const counts = new Set(results.map(({ tests }) => tests.length));
  return counts.size > 1 && lines.length === 0 ? [`counts differ: ${[...counts].join(", ")}`] : lines;
}

/** The last line, which programs read. */
export function finish({ passed, failed }) {
  console.log(`${passed} passed, ${failed} failed`);
  if (failed > 0 || passed === 0) process.exitCode = 1;
}
