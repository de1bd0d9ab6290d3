// The baseline of the benchmark that is a wasm module of its own: build/bench/slicing_by_16.wasm. A step of `setup`.
import { mkdirSync } from "node:fs";
import { at, quietly } from "./steps.mjs";

export const SOURCE = "bench/baselines/wasm/slicing_by_16.ts";
export const OUTPUT = "build/bench/slicing_by_16.wasm";

/** Compiles it as the core is compiled. */
export function buildBaselines() {
  mkdirSync(at("build/bench"), { recursive: true });
  quietly(process.execPath, [
    ...[at("node_modules/assemblyscript/bin/asc.js"), SOURCE, "--outFile", OUTPUT],
    ...[
      "--config",
      "none",
      "--runtime",
      "stub",
      "--zeroFilledMemory",
      "--optimizeLevel",
      "3",
      "--noAssert",
      "--initialMemory",
      "32",
    ],
  ]);
}
