import { expect, test } from "vitest";
import type { Message } from "../../client/message.ts";
import { decodeProperties } from "../../client/protocol/properties.ts";
import { decodeSendRequest } from "../../client/protocol/send.ts";
import { type BrokerScript, type Scripted, stored, withBrokers } from "./scripted_broker.ts";
import { failure, TOPIC } from "./world.ts";

const BODY = Uint8Array.of(1, 2, 3);

/** What the broker got: properties by unique id. */
function arrived({ sends }: Scripted): Map<string, Record<string, string>> {
  const all = new Map<string, Record<string, string>>();
  for (const { request } of sends) {
    const properties = { ...decodeProperties(decodeSendRequest(request.extFields, request.code).properties) };
    all.set(properties["UNIQ_KEY"]!, properties);
  }
  return all;
}

/** What a message must arrive with. */
const expected = ({ tags, keys, properties }: Message, id: string): Record<string, string> => ({
  ...properties,
  ...(tags ? { TAGS: tags } : {}),
  ...(keys ? { KEYS: String(keys) } : {}),
  WAIT: "true",
  UNIQ_KEY: id,
});

/** Every kind of message there is, in turns: many tags, many sets of names, with keys and without. */
const manyKinds = Array.from({ length: 1_000 }, (_, i): Message => ({
  topic: TOPIC,
  body: BODY,
  ...(i % 3 ? { tags: `tag${i % 150}` } : {}),
  ...(i % 2 ? { keys: `key ${i} "quoted" ключ` } : {}),
  ...(i % 5 ? {} : { properties: { [`name${i}`]: `value ${i}`, b: "\u0001" } }),
}));

test.each(["JSON", "ROCKETMQ"] as const)(
  "messages of a thousand kinds arrive as they are in %s headers, and the arena keeps a bounded number of programs",
  (serializeType) =>
    withBrokers({ a: {} }, async (bench) => {
      const producer = bench.producer({ serializeType });
      for (let round = 0; round < 2; round++) {
        const results = await bench.sim.run(Promise.all(manyKinds.map((message) => producer.send(message))));
        const there = arrived(bench);
        for (const [i, { msgId }] of results.entries()) {
          expect(there.get(msgId)).toEqual(expected(manyKinds[i]!, msgId));
        }
      }
      expect(bench.sends.length).toBe(2_000);
      expect(producer.stats().coreBytesInUse).toBeLessThan((128 + 8) * 4_096 + 6 * 131_072);
    })(),
);

test(
  "without room for another program messages go another way, and a retry keeps the id there too",
  withBrokers({
    a: { onSend: (request, connection) => connection.answer(request, { code: 14, remark: "busy" }) },
    b: {},
  }, async (bench) => {
    const producer = bench.producer({ coreMemory: 2 });
    const results = await bench.sim.run(Promise.all(manyKinds.map((message) => producer.send(message))));
    const there = arrived(bench);
    for (const [i, { msgId }] of results.entries()) expect(there.get(msgId)).toEqual(expected(manyKinds[i]!, msgId));
    const stored = bench.sends.filter(({ broker }) => broker === "b").length;
    expect(stored).toBe(1_000);
    expect(there.size).toBe(1_000);
    expect(bench.sends.length).toBeGreaterThan(1_400);
  }),
);

test(
  "names and tags that are too long for a program arrive",
  withBrokers({ a: {} }, async (bench) => {
    const producer = bench.producer();
    const before = producer.stats().coreBytesInUse;
    const messages = Array.from({ length: 40 }, (_, i): Message => ({
      topic: TOPIC,
      body: BODY,
      tags: `${i}`.padEnd(5_000, "t"),
      properties: { [`${i}`.padEnd(9_000, "n")]: "v" },
    }));
    const results = await bench.sim.run(Promise.all(messages.map((message) => producer.send(message))));
    const there = arrived(bench);
    for (const [i, { msgId }] of results.entries()) expect(there.get(msgId)).toEqual(expected(messages[i]!, msgId));
    expect(producer.stats().coreBytesInUse - before).toBeLessThan(8 * 4_096 + 6 * 131_072);
  }),
);

test(
  "properties that are six times as long in JSON arrive",
  withBrokers({ a: {} }, async (bench) => {
    const properties = { a: "\u0001".repeat(30_000), b: '"\\'.repeat(500) };
    const { msgId } = await bench.sim.run(bench.producer().send({ topic: TOPIC, body: BODY, properties }));
    expect(arrived(bench).get(msgId)).toMatchObject(properties);
  }),
);

test(
  "a message that is sent again after GO_AWAY has the id it had",
  async () => {
    const ids: string[] = [];
    let answers = 0;
    const leaving: BrokerScript = {
      onSend(request, connection) {
        ids.push(decodeProperties(decodeSendRequest(request.extFields, request.code).properties)["UNIQ_KEY"]!);
        if (answers++ === 0) connection.answer(request, { code: 1500 });
        else stored(request, connection);
      },
    };
    await withBrokers({ a: leaving }, async ({ sim, producer }) => {
      const { msgId } = await sim.run(producer().send({ topic: TOPIC, body: BODY, keys: "k" }));
      expect(ids).toEqual([msgId, msgId]);
    })();
  },
);

test(
  "ids of several clients and of thousands of sends all differ",
  withBrokers({ a: {}, b: {} }, async (bench) => {
    const producers = Array.from({ length: 5 }, () => bench.producer());
    const all = producers.flatMap((producer) =>
      Array.from({ length: 2_000 }, () => producer.send({ topic: TOPIC, body: BODY }))
    );
    const results = await bench.sim.run(Promise.all(all));
    expect(new Set(results.map(({ msgId }) => msgId)).size).toBe(10_000);
    expect(new Set(arrived(bench).keys())).toEqual(new Set(results.map(({ msgId }) => msgId)));
  }),
);

test(
  "a send that is cancelled while it waits for its connection never leaves, and those behind it do",
  withBrokers({ a: {} }, async (bench) => {
    const producer = bench.producer();
    await bench.sim.run(producer.fetchPublishMessageQueues(TOPIC));
    const abort = new AbortController(), reason = new Error("enough");
    const sends = Array.from(
      { length: 20 },
      (_, i) => producer.send({ topic: TOPIC, body: BODY, keys: `k${i}` }, i % 2 ? { signal: abort.signal } : {}),
    );
    const ends = sends.map((send, i) => i % 2 ? failure(send) : send);
    abort.abort(reason);
    const results = await bench.sim.run(Promise.all(ends));
    expect(results.every((result, i) => i % 2 ? (result as unknown) === reason : "msgId" in result)).toBe(true);
    expect([...arrived(bench).values()].map(({ KEYS }) => KEYS)).toEqual(
      Array.from({ length: 10 }, (_, i) => `k${2 * i}`),
    );
  }),
);

test(
  "tags beyond those that have programs of their own are checked and arrive",
  withBrokers({ a: {} }, async (bench) => {
    const producer = bench.producer();
    for (let i = 0; i < 80; i++) await bench.sim.run(producer.send({ topic: TOPIC, body: BODY, tags: `t${i}` }));
    expect([...arrived(bench).values()].map(({ TAGS }) => TAGS)).toEqual(Array.from({ length: 80 }, (_, i) => `t${i}`));
    for (const tags of ["a||b", "a\u0002b"]) {
      expect((await failure(producer.send({ topic: TOPIC, body: BODY, tags }))).code).toBe("ROCKETMQ_ARGUMENT");
    }
    expect(bench.sends.length).toBe(80);
  }),
);
