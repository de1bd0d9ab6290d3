#!/usr/bin/env node
// All the set-up of a fresh clone, with only Node and npm present: dependencies, the core, dist/. Runs before the demo,
// the tests and the checks; silent when there is nothing to do. Imports nothing that has to be installed.
import { existsSync } from "node:fs";
import { buildBaselines, OUTPUT, SOURCE } from "./baselines.mjs";
import { buildCore, OUTPUTS } from "./core_module.mjs";
import { alone, at, isFresh, isMain, npm, quietly, say, step } from "./steps.mjs";

const NODE_MIN = [20, 19];

const dependencies = {
  title: "installed the development dependencies",
  inputs: ["package-lock.json", ".npmrc"],
  outputs: ["node_modules"],
  stamp: "node_modules/.installed",
  run: install,
};

const core = {
  title: "built the core",
  inputs: ["core-as", "asconfig.json", "package-lock.json", "scripts/core_module.mjs"],
  outputs: OUTPUTS.map((name) => `build/${name}`),
  stamp: "build/stamps/core",
  run: buildCore,
};

const dist = {
  title: "built dist/",
  inputs: [
    ...["client", "host-node", "host-deno", "host-edge", "broker", "cli", "core-as/abi.ts"],
    ...["build/core.wasm", "build/core_bytes.js", "build/core_bytes.d.ts"],
    ...["tsdown.config.ts", "tsconfig.base.json", "tsconfig.dist.json", "package.json", "package-lock.json"],
  ],
  outputs: ["dist"],
  stamp: "build/stamps/dist",
  run: () => quietly(process.execPath, [at("node_modules/tsdown/dist/run.mjs"), "--log-level", "warn"]),
};

/** Only for the benchmark and the tests: the demo does not need it. */
const baselines = {
  title: "built the baselines of the benchmark",
  inputs: [SOURCE, "scripts/baselines.mjs", "package-lock.json"],
  outputs: [OUTPUT],
  stamp: "build/stamps/baselines",
  run: buildBaselines,
};

const steps = { dependencies, core, dist, baselines };

/** Set while we run npm: it would start `prepare`, and so us, once more. */
export const INSTALLING = "ROCKETMQ_WASM_INSTALLING";

/** Does what is missing, `from` one step up to another. */
export async function setup({ from = "dependencies", upTo = "dist" } = {}) {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])) {
    throw new Error(`Node ${NODE_MIN.join(".")} or newer is needed, this is ${process.versions.node}`);
  }
  const names = Object.keys(steps);
  const wanted = names.slice(names.indexOf(from), names.indexOf(upTo) + 1).map((name) => steps[name]);
  if (wanted.every(isFresh)) return;
  await alone("setup", async () => {
    for (const each of wanted) await step(each);
  });
}

function install() {
  say("installing the development dependencies");
  // An npm that started us hands its own settings on: npm pack --dry-run, npm install --global or --omit=dev.
  const own = ["--include=dev", "--no-global", "--no-dry-run"];
  npm(["ci", "--no-audit", "--no-fund", ...own], { env: { ...process.env, NO_COLOR: "1", [INSTALLING]: "1" } });
  ensureBun();
}

/** npm may have skipped the install script that puts bun's binary in its place. */
function ensureBun() {
  const bun = at("node_modules/.bin/bun");
  const works = () => {
    try {
      quietly(bun, ["--version"]);
      return true;
    } catch {
      return false;
    }
  };
  if (works()) return;
  const script = at("node_modules/bun/install.js");
  if (!existsSync(script)) throw new Error("node_modules/bun has no install script");
  quietly(process.execPath, [script], { cwd: at("node_modules/bun") });
  if (!works()) throw new Error("bun does not run, even after its own install script");
}

if (isMain(import.meta.url)) {
  try {
    await setup();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
