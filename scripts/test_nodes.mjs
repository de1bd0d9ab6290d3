#!/usr/bin/env node
// npm run test:nodes: the suite on every line of Node we support; all must run the same tests as Node 20.
import { NODE_LINES, nodeOf } from "./node_lines.mjs";
import { quietly } from "./steps.mjs";
import { setup } from "./setup.mjs";
import { finish, runSuite, summarize } from "./suite.mjs";

await setup({ upTo: "baselines" });
const results = [];
for (const line of NODE_LINES) {
  const node = nodeOf(line);
  const version = quietly(node, ["--version"]).trim();
  console.log(`\nNode ${version}`);
  results.push(await runSuite({ name: version, runtime: "node", command: [node], args: process.argv.slice(2) }));
}
finish(summarize(results));
