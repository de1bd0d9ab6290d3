import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedCluster, startClusterWith } from "../../broker/mod.ts";
import { type Ended, runProgram, sameRuntime, typeScriptRuntime } from "../support/run_program.ts";
import { host, listener } from "../support/runtime.ts";

/** What each example must print, in any order of lines. */
const EXAMPLES: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  "codec.mjs": [
    'request 1, code 310: {"b":"orders","e":"3"}',
    'answer 1, code 0: {"queueId":"3","queueOffset":"42"}',
    "refused: ROCKETMQ_FRAME",
  ],
  "quick_start.mjs": [/^[0-9A-F]{32} Hello, RocketMQ$/],
  "quick_start.ts": [/^[0-9A-F]{32} Hello, RocketMQ$/],
  "send_and_consume.mjs": ["consumed greeting-1: Hello 1", "consumed greeting-10: Hello 10"],
  "stop.mjs": ["40 tasks done, 0 of them twice, in two runs"],
  "orders.ts": ["billed order 1 over 30 and order 3 over -30"],
  "retry.ts": ["try 1 of a message to mails", "try 2 of a message to mails", 'sent "Dear reader", the same message'],
  "shared_client.ts": ["8 queues of questions are ours", "1+1=2", "2 connections for all of them"],
};

/** Examples that are given the address of a name server; the others start a cluster of their own. */
const NEEDS_CLUSTER = /^quick_start\./;

let cluster: EmbeddedCluster;

beforeAll(async () => {
  cluster = await startClusterWith(host, listener);
});

afterAll(() => cluster.close());

test("every example is run here", () => {
  const files = readdirSync(fileURLToPath(new URL("../../examples", import.meta.url)));
  expect(files.filter((name) => /\.m?[jt]s$/.test(name)).sort()).toEqual(Object.keys(EXAMPLES).sort());
});

for (const [name, lines] of Object.entries(EXAMPLES)) {
  test(`examples/${name} prints what it should and ends`, async () => {
    const runtime = name.endsWith(".ts") ? typeScriptRuntime : sameRuntime;
    const { code, out, err }: Ended = await runProgram(
      runtime,
      `examples/${name}`,
      ...(NEEDS_CLUSTER.test(name) ? [cluster.namesrvAddr] : []),
    );
    expect(err).toBe("");
    expect(out.split("\n")).toEqual(
      expect.arrayContaining(lines.map((line) => typeof line === "string" ? line : expect.stringMatching(line))),
    );
    expect(code).toBe(0);
  });
}
