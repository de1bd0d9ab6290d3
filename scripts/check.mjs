#!/usr/bin/env node
// npm run check: everything that can be said without running the library. One line a step with its time; a step's output
// is shown when it fails. The last line counts the steps.
import { existsSync, readFileSync } from "node:fs";
import { at, npm, quietly } from "./steps.mjs";
import { setup } from "./setup.mjs";

const bin = (name) => at(`node_modules/.bin/${name}`);
const script = (path, ...args) => () => quietly(process.execPath, [at(path), ...args]);
const types = (folder) => ["types", folder, () => quietly(bin("tsc"), ["-p", at(folder)])];

const checks = [
  ["core", "two builds, one import, no data", script("scripts/build_core.mjs", "--verify")],
  ["abi", "docs/abi.md is drawn from abi.ts", script("scripts/draw_abi.mjs", "--check")],
  ["format", "deno fmt", () => quietly(bin("deno"), ["fmt", "--check"])],
  ["lint", "deno lint", () => quietly(bin("deno"), ["lint"])],
  ...["client", "broker", "host-node", "host-edge", "cli", "examples", "bench", "test", "."].map(types),
  ["types", "by deno check", () => quietly(bin("deno"), ["check", "host-deno/", "host-edge/", "examples/"])],
  ["structure", "who imports whom, decorators, manifests", structure],
  ["package", "publint", () => quietly(bin("publint"), ["--strict", at(".")])],
  ["package", "attw", () => quietly(bin("attw"), ["--pack", at("."), "--profile", "esm-only"])],
  ["package", "what npm pack takes", packed],
  ["package", "dist/ depends on nothing", independent],
  [
    "package",
    "the edge door needs no runtime's modules",
    () => void follow(at("dist/host-edge/codec.js"), new Set(), /^$/),
  ],
  ["package", "a client's code is one byte a character", narrow],
];

await setup();
let passed = 0;
let failed = 0;
for (const [kind, what, run] of checks) {
  const started = performance.now();
  const problem = problemOf(run);
  if (problem === undefined) passed++;
  else failed++;
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
  console.log(`${problem === undefined ? "ok  " : "FAIL"} ${kind.padEnd(10)} ${what.padEnd(40)} ${seconds} s`);
  if (problem !== undefined) console.log(problem.replace(/^/gm, "     "));
}
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

function problemOf(run) {
  try {
    run();
  } catch (error) {
    return error.message;
  }
}

function structure() {
  quietly(process.execPath, [at("node_modules/vitest/vitest.mjs"), "run", "test/structure.test.ts"], {
    env: { ...process.env, NO_COLOR: "1", ROCKETMQ_TEST_RUNTIME: "node" },
  });
}

/** The package holds what its manifest names, and nothing of the workshop. */
function packed() {
  const [{ files }] = JSON.parse(npm(["pack", "--dry-run", "--json", "--ignore-scripts"]));
  const names = files.map((file) => file.path);
  const wanted = [
    ...targets(manifest().exports),
    ...Object.values(manifest().bin),
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    ...linksOf("README.md"),
  ];
  const missing = wanted.map((path) => path.replace(/^\.\//, "")).filter((path) => !names.includes(path));
  const alien = names.filter((name) =>
    !/^(dist\/|docs\/api\.md$|bench\/(RESULTS\.md|plots\/.*\.svg)$|package\.json$|README\.md$|LICENSE$|CHANGELOG\.md$)/
      .test(name)
  );
  if (missing.length > 0) throw new Error(`missing in the package: ${missing.join(", ")}`);
  if (alien.length > 0) throw new Error(`not meant for the package: ${alien.join(", ")}`);
}

/** Files that a text of the package links to: whoever has the package must have them. */
function linksOf(path) {
  const links = readFileSync(at(path), "utf8").matchAll(/\]\(([^)#]+)[^)]*\)/g);
  return [...links].map(([, target]) => target).filter((target) => !/^\w+:/.test(target));
}

function manifest() {
  return JSON.parse(readFileSync(at("package.json"), "utf8"));
}

function targets(exports) {
  return typeof exports === "string" ? [exports] : Object.values(exports).flatMap(targets);
}

/** What the doors load, and what that loads: only built-in modules besides our own files. */
function independent() {
  for (const kind of ["dependencies", "peerDependencies", "optionalDependencies", "bundleDependencies"]) {
    if (manifest()[kind] !== undefined) throw new Error(`package.json has ${kind}`);
  }
  const seen = new Set();
  const entries = [...targets(manifest().exports), ...Object.values(manifest().bin)];
  for (const entry of entries.filter((path) => /\.js$|\.d\.ts$/.test(path))) follow(at(entry), seen);
}

/** One character above U+00FF, also in a comment, and V8 keeps the whole file with two bytes for each. */
function narrow() {
  const seen = new Set();
  for (const host of ["node", "deno"]) follow(at(`dist/host-${host}/mod.js`), seen);
  for (const file of seen) {
    const [wide] = /.*[^\x00-\xff].*/.exec(readFileSync(file, "utf8")) ?? [];
    if (wide !== undefined) throw new Error(`${file}: ${wide.trim()}`);
  }
}

function follow(file, seen, builtIn = /^node:/) {
  if (seen.has(file)) return;
  seen.add(file);
  const specifiers = readFileSync(file, "utf8").matchAll(/^\s*(?:import|export)\b[^"';]*?(?:\bfrom\s*)?"([^"]+)"/gm);
  for (const [, specifier] of specifiers) {
    if (builtIn.test(specifier)) continue;
    if (!specifier.startsWith(".")) throw new Error(`${file} needs ${specifier}`);
    const next = new URL(specifier, `file://${file}`).pathname;
    follow(
      file.endsWith(".d.ts") && existsSync(next.replace(/\.js$/, ".d.ts")) ? next.replace(/\.js$/, ".d.ts") : next,
      seen,
      builtIn,
    );
  }
}
