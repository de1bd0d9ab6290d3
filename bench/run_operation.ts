// One case of an operation on the runtime that runs this: prints a result a line, as JSON, for `scripts/bench.mjs`.
// Arguments: the operation, number of the case or "facts", rounds, ms of a batch and of the warm-up, the
// benchmark's build folder, and that of ali-ons if it is to be measured.
import process from "node:process";
import { measure, type Pace } from "./measure.ts";
import { type Operation, requireAgreement } from "./operation.ts";
import { operations } from "./operations/mod.ts";
import { familyOf, pairsOf, type Result } from "./result.ts";

export const runtimeName = (): string => {
  const { versions } = process;
  if (versions["deno"] !== undefined) return `deno ${versions["deno"]}`;
  if (versions["bun"] !== undefined) return `bun ${versions["bun"]}`;
  return `node ${versions.node}`;
};

const [name = "", part = "", rounds = "", batchMs = "", warmUpMs = "", buildFolder = "", aliOnsFolder] = process.argv
  .slice(2);
const operation = operations.find((each) => each.name === name);
if (!operation) throw new Error(`There is no operation "${name}"`);
const runtime = runtimeName();
print(
  part === "facts" ? await factsOf(operation) : await resultsOf(operation, Number(part), {
    rounds: Number(rounds),
    batchMs: Number(batchMs),
    warmUpMs: Number(warmUpMs),
  }),
);

async function factsOf({ facts }: Operation): Promise<readonly Result[]> {
  return (await facts?.() ?? []).map((fact) => ({ ...fact, runtime }));
}

async function resultsOf({ cases }: Operation, index: number, pace: Pace): Promise<readonly Result[]> {
  const open = cases[index];
  if (!open) throw new Error(`Operation "${name}" has ${cases.length} cases, no case ${index}`);
  const measured = await open({ family: familyOf(runtime), buildFolder, aliOnsFolder });
  try {
    await requireAgreement(measured);
    return pairsOf(measured, await measure(measured, pace), runtime);
  } finally {
    await measured.close?.();
  }
}

function print(results: readonly Result[]): void {
  for (const result of results) console.log(JSON.stringify(result));
}
