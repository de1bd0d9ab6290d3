#!/usr/bin/env node
// npm runs this after it has installed the dependencies of this folder, before it packs the folder for `npm install git+…`,
// and before `npx rmq` links it: all three want dist/. Where npm has just installed, nothing is installed again.
import { existsSync } from "node:fs";
import { at } from "./steps.mjs";
import { INSTALLING, setup } from "./setup.mjs";

try {
  const isInstalled = existsSync(at("node_modules/tsdown")) && existsSync(at("node_modules/assemblyscript"));
  if (!process.env[INSTALLING]) await setup({ from: isInstalled ? "core" : "dependencies" });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
