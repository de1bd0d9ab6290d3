import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedCluster, startClusterWith } from "../../broker/mod.ts";
import { json, text } from "../../client/body_codec.ts";
import { ConnectError, type RocketMQError } from "../../client/errors.ts";
import type { MessageExt, SendResult } from "../../client/message.ts";
import type { PushConsumerOptions } from "../../client/options.ts";
import type { PushConsumer } from "../../client/consumer/push_consumer.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { createClientOn, createProducerOn, createPushConsumerOn } from "../../client/shared_client.ts";
import { host, listener } from "../support/runtime.ts";

let cluster: EmbeddedCluster;
let namesrvAddr: string;
let count = 0;

beforeAll(async () => {
  cluster = await startClusterWith(host, listener, { brokers: 2, messageDelayLevel: "1s" });
  namesrvAddr = cluster.namesrvAddr;
});

afterAll(() => cluster.close());

/** A topic, and the group with the same name, that no other test uses. */
const fresh = (): string => `e2e_${++count}`;

function consumerOf<T>(
  topic: string,
  options: Partial<PushConsumerOptions<T>> & { codec: PushConsumerOptions<T>["codec"] },
) {
  return createPushConsumerOn<T>(host, {
    namesrvAddr,
    consumerGroup: topic,
    consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
    subscriptions: { [topic]: "*" },
    ...options,
  } as PushConsumerOptions<T>);
}

/** Consumes until `wanted` messages have come. */
function consume<T>(consumer: PushConsumer<T>, wanted: number): Promise<MessageExt<T>[]> {
  const messages: MessageExt<T>[] = [];
  return new Promise((resolve, reject) => {
    consumer.run({
      eachMessage(message) {
        messages.push(message);
        if (messages.length === wanted) resolve(messages);
      },
    }).catch(reject);
  });
}

for (const serializeType of ["JSON", "ROCKETMQ"] as const) {
  test(`what is sent with ${serializeType} headers is what is consumed`, async () => {
    const topic = fresh();
    await using producer = createProducerOn(host, { namesrvAddr, serializeType, codec: json<{ id: number }>() });
    const results = await Promise.all(Array.from({ length: 500 }, (_, id) =>
      producer.send({
        topic,
        tags: id % 2 === 0 ? "even" : "odd",
        keys: [`key-${id}`, "all"],
        properties: { name: `Überraschung ${id} 🎁` },
        body: { id },
      })));
    await using consumer = consumerOf(topic, { serializeType, codec: json<{ id: number }>() });
    const messages = await consume(consumer, 500);
    const sent = new Map(
      results.map((result, id): [string, { result: SendResult; id: number }] => [result.msgId, { result, id }]),
    );
    expect(sent.size).toBe(500);
    for (const message of messages) {
      const { result, id } = sent.get(message.msgId)!;
      sent.delete(message.msgId);
      expect(message).toMatchObject({
        topic,
        tags: id % 2 === 0 ? "even" : "odd",
        keys: [`key-${id}`, "all"],
        body: { id },
        queueOffset: result.queueOffset,
        offsetMsgId: result.offsetMsgId,
        brokerName: result.queue.brokerName,
        queueId: result.queue.queueId,
        reconsumeTimes: 0,
      });
      expect(message.properties["name"]).toBe(`Überraschung ${id} 🎁`);
    }
    expect(sent.size).toBe(0);
    expect(new Set(results.map(({ queue }) => queue.brokerName)).size).toBe(2);
  });
}

test("bodies of any size come back byte for byte, compressed or not", async () => {
  const topic = fresh();
  const sizes = [1, 4_095, 4_096, 40_000, 300_000, 3_000_000];
  const plain = createProducerOn(host, { namesrvAddr, compression: false });
  const packing = createProducerOn(host, { namesrvAddr });
  await using client = createClientOn(host, { namesrvAddr });
  const consumer = client.createPushConsumer({
    consumerGroup: topic,
    consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
    subscriptions: { [topic]: "*" },
  });
  const consuming = consume(consumer, sizes.length * 4);
  for (const size of sizes) {
    for (const producer of [plain, packing]) {
      await producer.send({ topic, keys: `text-${size}`, body: repetitive(size) });
      await producer.send({ topic, keys: `noise-${size}`, body: noise(size) });
    }
  }
  await Promise.all([plain.shutdown(), packing.shutdown()]);
  const seen = new Map<string, number>();
  for (const message of await consuming) {
    const [kind, size] = message.keys[0]!.split("-");
    const expected = kind === "text" ? repetitive(Number(size)) : noise(Number(size));
    expect(isEqual(message.body as Uint8Array, expected), message.keys[0]).toBe(true);
    seen.set(message.keys[0]!, (seen.get(message.keys[0]!) ?? 0) + 1);
  }
  expect([...seen.values()]).toEqual(Array(sizes.length * 2).fill(2));
}, 60_000);

test("a message whose handler throws comes again, under its own topic and id", async () => {
  const topic = fresh();
  await using producer = createProducerOn(host, { namesrvAddr, codec: text });
  const { msgId } = await producer.send({ topic, keys: "once", tags: "t", body: "again" });
  await using consumer = consumerOf(topic, { codec: text });
  const tries: MessageExt<string>[] = [];
  await new Promise<void>((resolve, reject) => {
    consumer.run({
      eachMessage(message) {
        tries.push(message);
        if (tries.length === 1) throw new Error("not now");
        resolve();
      },
    }).catch(reject);
  });
  expect(tries.map(({ reconsumeTimes }) => reconsumeTimes)).toEqual([0, 1]);
  for (const message of tries) {
    expect(message).toMatchObject({ topic, msgId, keys: ["once"], tags: "t", body: "again" });
  }
});

test("two members share the queues; the one that stays takes over those of the one that leaves", async () => {
  const topic = fresh();
  await using producer = createProducerOn(host, { namesrvAddr, codec: text });
  await producer.send({ topic, body: "creates the topic" });
  await using one = consumerOf(topic, { codec: text });
  await using other = consumerOf(topic, { codec: text });
  const queuesOf = (consumer: PushConsumer<string>) => consumer.assignment().filter((queue) => queue.topic === topic);
  for (const consumer of [one, other]) consumer.run({ eachMessage() {} }).catch(() => {});
  const all = (await producer.fetchPublishMessageQueues(topic)).length;
  await until(one, () => queuesOf(one).length > 0 && queuesOf(one).length + queuesOf(other).length === all);
  expect(queuesOf(one).length).toBeLessThan(all);
  await other.shutdown();
  await until(one, () => queuesOf(one).length === all);
});

test("a new member goes on where the group has stopped", async () => {
  const topic = fresh();
  await using producer = createProducerOn(host, { namesrvAddr, codec: text });
  for (let i = 0; i < 20; i++) await producer.send({ topic, body: `first ${i}` });
  const first = consumerOf(topic, { codec: text });
  expect(await consume(first, 20)).toHaveLength(20);
  await first.shutdown();
  for (let i = 0; i < 20; i++) await producer.send({ topic, body: `second ${i}` });
  await using second = consumerOf(topic, { codec: text });
  const bodies = (await consume(second, 20)).map(({ body }) => body);
  expect(bodies.every((body) => body.startsWith("second"))).toBe(true);
});

test("a name server that is not there is a ConnectError in time, with one error for each address", async () => {
  await using producer = createProducerOn(host, {
    namesrvAddr: "127.0.0.1:1;127.0.0.1:2",
    codec: text,
    sendMsgTimeout: 2_000,
  });
  const started = performance.now();
  const error = await producer.send({ topic: "nowhere", body: "x" }).catch((error: RocketMQError) => error);
  expect(error).toBeInstanceOf(ConnectError);
  expect(performance.now() - started).toBeLessThan(2_900);
  expect(((error as ConnectError).cause as AggregateError).errors).toHaveLength(2);
});

test("garbage from a broker, and connections it closes, cost retries and no message", async () => {
  const topic = fresh();
  const errors: RocketMQError[] = [];
  await using producer = createProducerOn(host, {
    namesrvAddr,
    codec: text,
    onError: (error) => void errors.push(error),
  });
  await producer.send({ topic, body: "creates the topic" });
  cluster.fault({ code: RequestCode.SEND_MESSAGE_V2, count: 1, action: "garble" });
  const one = await producer.send({ topic, body: "through garbage" });
  cluster.fault({ code: RequestCode.SEND_MESSAGE_V2, count: 1, action: "close" });
  const other = await producer.send({ topic, body: "through a lost connection" });
  expect([one.sendStatus, other.sendStatus]).toEqual(["SEND_OK", "SEND_OK"]);
  await using consumer = consumerOf(topic, { codec: text });
  const bodies = new Set((await consume(consumer, 3)).map(({ body }) => body));
  expect(bodies).toEqual(new Set(["creates the topic", "through garbage", "through a lost connection"]));
});

/** Resolves when `holds`; asked again after each rebalance. */
function until(consumer: PushConsumer<string>, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const ended = new AbortController();
    const look = (): void => {
      if (!holds()) return;
      ended.abort();
      resolve();
    };
    consumer.on("rebalance", look, { signal: ended.signal });
    const timer = setInterval(look, 20);
    ended.signal.addEventListener("abort", () => clearInterval(timer));
    look();
  });
}

function repetitive(length: number): Uint8Array {
  return new Uint8Array(length).map((_, at) => at % 61);
}

/** Does not compress: bytes of a linear congruential generator. */
function noise(length: number): Uint8Array {
  let state = length;
  return new Uint8Array(length).map(() => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24);
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

test("a timeout without end is one, and not none", async () => {
  const topic = fresh();
  await using producer = createProducerOn(host, { namesrvAddr: () => Promise.resolve([namesrvAddr]), codec: text });
  expect((await producer.send({ topic, body: "x" }, { timeout: Infinity })).sendStatus).toBe("SEND_OK");
  expect((await producer.send({ topic, body: "x" }, { timeout: Number.MAX_VALUE })).sendStatus).toBe("SEND_OK");
});

for (const [what, compression] of [["as it is", false], ["compressed", { over: 1_000 }]] as const) {
  test(`a large body, sent ${what}, that is detached in the turn of its send harms nobody else`, async () => {
    const topic = fresh();
    const errors: RocketMQError[] = [];
    const producer = createProducerOn<Uint8Array>(host, {
      namesrvAddr,
      codec: { encode: (body) => body, decode: (body) => body },
      compression,
      onError: (error) => errors.push(error),
    });
    await producer.send({ topic, body: Uint8Array.of(1) });
    const body = new Uint8Array(300_000).fill(7);
    const sending = producer.send({ topic, body }, { timeout: 2_000 }).then(() => "sent", (error) => error);
    structuredClone(body, { transfer: [body.buffer] });
    expect(["sent", expect.objectContaining({ retryable: expect.any(Boolean) })]).toContainEqual(await sending);
    expect((await producer.send({ topic, body: Uint8Array.of(2) })).sendStatus).toBe("SEND_OK");
    await producer.shutdown({ timeout: 5_000 });
    expect(producer.stats().connections).toBe(0);
  });
}
