#!/usr/bin/env node
// Runs a TypeScript tool of this repository: node scripts/run_ts.mjs test/fuzz/main.ts ARGS
import { runTool } from "./bundle.mjs";

const [entry, ...args] = process.argv.slice(2);
if (entry) await runTool(entry, args);
else {
  console.error("usage: node scripts/run_ts.mjs ENTRY.ts ARGS");
  process.exitCode = 2;
}
