#!/usr/bin/env node
// The fuzzer: npm run fuzz -- [--count N] [--seed S]. Without a count it runs for five minutes.
import { runTool } from "./bundle.mjs";

await runTool("test/fuzz/main.ts");
