#!/usr/bin/env node
// The fuzzer; `npm run fuzz -- --help` says how.
import { runTool } from "./bundle.mjs";

await runTool("test/fuzz/main.ts");
