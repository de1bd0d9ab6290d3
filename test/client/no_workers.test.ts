import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { walkedBatch } from "../../client/message_batch.ts";
import { PulledMessage } from "../../client/pulled_message.ts";
import { readingWith } from "../../client/reading.ts";
import { bytes } from "../../client/body_codec.ts";
import { encodeRecord } from "../../client/protocol/record.ts";
import { openCore } from "../support/core.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Sources of the library, by path. */
function sources(): Map<string, string> {
  const found = new Map<string, string>();
  for (const folder of ["client", "host-node", "host-deno", "broker"]) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (name.endsWith(".ts")) found.set(`${folder}/${name}`, readFileSync(join(root, folder, name), "utf8"));
    }
  }
  return found;
}

const users = (pattern: RegExp): string[] =>
  [...sources()].filter(([, text]) => pattern.test(text)).map(([name]) => name);

test("wasm-7: a body can be transferred, and what is left behind is not the memory of anything else", () => {
  const stored = encodeRecord({
    topic: "Orders",
    queueId: 0,
    flag: 0,
    queueOffset: 0n,
    physicalOffset: 0n,
    sysFlag: 0,
    bornTimestamp: 1,
    bornHost: "10.0.0.1:1",
    storeTimestamp: 1,
    storeHost: "10.0.0.1:1",
    reconsumeTimes: 0,
    preparedTransactionOffset: 0n,
    body: Uint8Array.of(1, 2, 3),
    properties: "",
  });
  const queue = { topic: "Orders", brokerName: "broker-a", queueId: 0 };
  const reading = readingWith({ host: { inflate: () => new Uint8Array(0) }, core: openCore(1) }, bytes);
  const message = new PulledMessage(walkedBatch(stored, true), 0, queue, reading);
  for (const body of [message.rawBody(), message.body]) {
    const sent = structuredClone(body, { transfer: [body.buffer as ArrayBuffer] });
    expect([...sent]).toEqual([1, 2, 3]);
    expect(body.length).toBe(0);
  }
  expect([...message.rawBody()]).toEqual([1, 2, 3]);
  expect(message.topic).toBe("Orders");
});

test("wasm-7: the library transfers nothing", () => {
  expect(users(/postMessage|structuredClone|\btransfer\s*:/)).toEqual([]);
});

test("wasm-8: the library has no workers, and waits for no shared memory", () => {
  expect(sources().size).toBeGreaterThan(50);
  expect(users(/\bnew Worker\b|worker_threads|\bAtomics\b|SharedArrayBuffer\(|shared:\s*true/)).toEqual([]);
});
