#!/usr/bin/env node
// The simulated host with many seeds: npm run sim -- [--seeds N] [--seed S] [--plant FAULT]. Prints the seed that fails.
import { runTool } from "./bundle.mjs";

await runTool("test/sim/main.ts");
