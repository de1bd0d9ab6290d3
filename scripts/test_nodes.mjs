#!/usr/bin/env node
// npm run test:nodes: the suite on every line of Node we support; all must run the same tests as Node 20.
// The other Nodes come from npm and lie under build/nodes/.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { at, npm, quietly } from "./steps.mjs";
import { setup } from "./setup.mjs";
import { finish, runSuite, summarize } from "./suite.mjs";

const LINES = [20, 22, 24, 26];

await setup();
const results = [];
for (const line of LINES) {
  const node = nodeOf(line);
  const version = quietly(node, ["--version"]).trim();
  console.log(`\nNode ${version}`);
  results.push(await runSuite({ name: version, runtime: "node", command: [node], args: process.argv.slice(2) }));
}
finish(summarize(results));

/** The newest Node of a line; ours if it is of that line. */
function nodeOf(line) {
  if (process.versions.node.startsWith(`${line}.`)) return process.execPath;
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const folder = at(`build/nodes/${line}`);
  const binary = `${folder}/node_modules/${name}/bin/node`;
  if (!existsSync(binary)) {
    console.log(`installing ${name}@${line}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/package.json`, `{ "private": true }\n`);
    npm(["install", "--no-audit", "--no-fund", "--no-save", "--no-package-lock", `${name}@${line}`], { cwd: folder });
  }
  return binary;
}
