#!/usr/bin/env node
// Builds the core: `npm run build:core`. With `-- --verify` it is built anew and a second time in another folder; fails
// unless both are the same bytes and the module is what it promises to be.
import { verifyCore } from "./core_module.mjs";
import { setup } from "./setup.mjs";

try {
  await setup({ upTo: "core" });
  if (process.argv.includes("--verify")) verifyCore();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
