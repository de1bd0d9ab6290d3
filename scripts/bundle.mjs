// TypeScript tools on Node 20, which does not read TypeScript: `bundle("test/fuzz/main.ts")` makes build/tools/….js when a
// source has changed, and `runTool` runs it with the arguments of the command line, on this Node.
// To run a tool by hand: node scripts/run_ts.mjs test/fuzz/main.ts ARGS
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { alone, at, isFresh, step } from "./steps.mjs";
import { setup } from "./setup.mjs";

/** Bundles one entry below `test/` or `bench/` and returns the path of the JavaScript. */
export async function bundle(entry) {
  await setup();
  const name = entry.replace(/\.ts$/, "").replaceAll("/", "_");
  const output = `build/tools/${name}.js`;
  const bundling = {
    title: `bundled ${entry}`,
    inputs: [
      ...["client", "host-node", "host-deno", "broker", "test", "bench", "core-as/abi.ts", "build/core_bytes.js"],
      ...["package-lock.json", "scripts/bundle.mjs"],
    ],
    outputs: [output],
    stamp: `build/stamps/${name}`,
    run: () => build(entry, name),
  };
  if (!isFresh(bundling)) await alone("tools", () => step(bundling));
  return at(output);
}

async function build(entry, name) {
  const tsdown = await import("tsdown");
  await tsdown.build({
    cwd: at("."),
    config: false,
    entry: { [name]: at(entry) },
    outDir: at("build/tools"),
    outExtensions: () => ({ js: ".js" }),
    format: "esm",
    platform: "node",
    target: "node20",
    dts: false,
    clean: false,
    sourcemap: true,
    logLevel: "error",
    outputOptions: { codeSplitting: false },
  });
}

/** Runs the bundled entry until it ends, as if it were this program: its output, its signals, its exit code. */
export async function runTool(entry, args = process.argv.slice(2)) {
  const script = await bundle(entry);
  const child = spawn(process.execPath, ["--enable-source-maps", script, ...args], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}
