#!/usr/bin/env node
// The simulated host with many seeds; `npm run sim -- --help` says how.
import { runTool } from "./bundle.mjs";

await runTool("test/sim/main.ts");
