import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { doors } from "../support/doors.ts";
import { isBun, isDeno } from "../support/runtime.ts";

const at = (path: string): string => fileURLToPath(new URL(`../../examples/${path}`, import.meta.url));

/** Runs an example on this runtime: on Node the JavaScript one, elsewhere the TypeScript one. */
async function run(name: string, addr: string): Promise<string> {
  const args = isDeno ? ["run", "--no-prompt", "--allow-net"] : [];
  const program = at(isDeno || isBun ? `${name}.ts` : `${name}.mjs`);
  return (await promisify(execFile)(process.execPath, [...args, program, addr], { timeout: 25_000 })).stdout;
}

test("the quick start sends and consumes", async () => {
  const cluster = await doors.startCluster();
  try {
    expect(await run("quick_start", cluster.namesrvAddr)).toMatch(/^[0-9A-F]{32} Hello, RocketMQ\n$/);
  } finally {
    await cluster.close();
  }
});
