// What `scripts/bench.mjs` uses of the benchmark besides running cases.
import { operations } from "../operations/mod.ts";

export { chosen, parseArguments, USAGE } from "../arguments.ts";
export { lineOf, lowestFacts, peerPairs } from "../result.ts";
export { ALI_ONS_VERSION } from "../peers/ali_ons_codec.ts";
export { plotOf } from "./plot.ts";
export { replaceSection, resultsSection } from "./results.ts";
export { missedBars, summaryOf, tableOf } from "./table.ts";

export const operationNames: readonly string[] = operations.map(({ name }) => name);

/** The parts of an operation, each for a process of its own. */
export function partsOf(name: string): readonly string[] {
  const found = operations.find((operation) => operation.name === name);
  if (!found) throw new Error(`There is no operation "${name}"`);
  const { cases, facts, processes = 1 } = found;
  return [...cases.keys()].map(String).concat(facts ? new Array<string>(processes).fill("facts") : []);
}
