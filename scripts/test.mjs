#!/usr/bin/env node
// npm test: the suite on Node, Deno and Bun, which must run the same tests; then `N passed, N failed`.
// `npm run test:deno -- test/core` runs one runtime; what follows the runtime is vitest's.
import { setup } from "./setup.mjs";
import { finish, runSuite, runtimes, summarize } from "./suite.mjs";

const [first, ...rest] = process.argv.slice(2);
const one = first !== undefined && first in runtimes;
const args = one || first === undefined ? rest : [first, ...rest];

await setup({ upTo: "baselines" });
const results = [];
for (const runtime of one ? [first] : Object.keys(runtimes)) {
  results.push(await runSuite({ name: runtime, runtime, args }));
}
finish(summarize(results));
