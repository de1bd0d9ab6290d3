import { afterEach, expect, test } from "vitest";
import { ask, frameOf, requireRoute } from "../../bench/peers/raw_wire.ts";
import { type CannedServer, startCannedServer } from "../../bench/e2e/canned_server.ts";
import { bestBinaryClient, bestClient } from "../../bench/e2e/clients/best.ts";
import type { OpenClient } from "../../bench/e2e/clients/client.ts";
import { tunedBinaryClient, tunedClient } from "../../bench/e2e/clients/tuned.ts";
import { typicalClient } from "../../bench/e2e/clients/typical.ts";
import { sendInWindow } from "../../bench/e2e/paced.ts";
import { bodyOf, sendInput } from "../../bench/inputs/send.ts";
import { createProducer } from "../real/doors.ts";

const HEARTBEAT = 34;

let server: CannedServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(): Promise<number> {
  server = await startCannedServer();
  return server.port;
}

const clients: Readonly<Record<string, OpenClient>> = {
  "typical JS": typicalClient,
  "tuned JS": tunedClient,
  "best JavaScript": bestClient,
  "tuned JS, binary": tunedBinaryClient,
  "best JavaScript, binary": bestBinaryClient,
};

test.each(Object.keys(clients))("%s gets an answer for each of its sends", async (name) => {
  const client = await clients[name]!(await start(), sendInput), body = bodyOf(128), results = new Set<string>();
  const { latencies, errors } = await sendInWindow(async () => {
    const { sendStatus, offsetMsgId, queueId, queueOffset } = await client.send(sendInput.keys[0]!, body);
    results.add(`${sendStatus} ${offsetMsgId} ${queueId} ${queueOffset}`);
  }, { window: 16, warmUp: 16, messages: 500 });
  client.close();
  expect([latencies.length, errors]).toEqual([500, 0]);
  expect([...results]).toEqual([expect.stringMatching(/^SEND_OK 7F0000020000759F[0-9A-F]{16} \d 1234567$/)]);
});

test.each(["JSON", "ROCKETMQ"] as const)("our producer sends to it with %s headers", async (serializeType) => {
  const producer = createProducer({ namesrvAddr: `127.0.0.1:${await start()}`, serializeType, compression: false });
  const { topic, tags } = sendInput, body = bodyOf(128);
  const { latencies, errors } = await sendInWindow(() => producer.send({ topic, tags, body }), {
    window: 16,
    warmUp: 0,
    messages: 200,
  });
  expect([latencies.length, errors]).toEqual([200, 0]);
  expect((await producer.send({ topic, body })).queueOffset).toBe(1_234_567n);
  await producer.shutdown();
});

test("it is its own broker, and everything else succeeds", async () => {
  const address = `127.0.0.1:${await start()}`;
  expect(await requireRoute(address, "Any")).toEqual({ address, brokerName: "broker-a", queues: 8 });
  expect(await ask(address, frameOf(HEARTBEAT, {}, new Uint8Array(3)))).toMatchObject({ code: 0 });
});
