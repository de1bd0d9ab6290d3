import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedCluster, startClusterWith } from "../../broker/mod.ts";
import { runProgram, sameRuntime } from "../support/run_program.ts";
import { host, isDeno, listener } from "../support/runtime.ts";

let cluster: EmbeddedCluster;

beforeAll(async () => {
  cluster = await startClusterWith(host, listener);
});

afterAll(() => cluster.close());

/** A case of `exit_program.mjs`, and what it prints. */
const CASES: readonly (readonly [name: string, prints: string])[] = [
  ["a round trip", "there and back"],
  ["a shared client", "closed"],
  ["clients that were never started", "created"],
  ["a shutdown in a handler", "closed"],
  ["a handler that never ends", "closed"],
  ["a name server that is not there", "ROCKETMQ_CONNECT"],
];

for (const [name, prints] of CASES) {
  test(`a process ends by itself after ${name}`, async () => {
    const path = "test/support/exit_program.mjs";
    const { code, out, err } = await runProgram(sameRuntime, path, name, cluster.namesrvAddr);
    expect(err).toBe("");
    expect(out.trim()).toBe(prints);
    expect(code).toBe(0);
  });
}

test("a program that sends, consumes and shuts down ends by itself, without an unhandled rejection", async () => {
  const { code, out, err } = await runProgram(sameRuntime, "test/e2e/programs/send_and_consume.mjs");
  expect(err).toBe("");
  expect(out.trim()).toBe("20 ROCKETMQ_CONNECT");
  expect(code).toBe(0);
});

test("wasm-8: a client lives in a worker, and the worker ends by itself", async () => {
  // Deno reads the worker's program under a permission of its own.
  const runtime = isDeno ? [...sameRuntime, "--allow-read"] : sameRuntime;
  const { code, out, err } = await runProgram(runtime, "test/e2e/programs/worker.mjs", cluster.namesrvAddr);
  expect(err).toBe("");
  expect(out.trim()).toBe("50 there and back\nexit 0");
  expect(code).toBe(0);
});
