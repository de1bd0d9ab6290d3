import { expect, test } from "vitest";
import { text } from "../../client/body_codec.ts";
import { ArgumentError, UnsupportedError } from "../../client/errors.ts";
import type { Host } from "../../client/host.ts";
import { createClientOn, createProducerOn, createPushConsumerOn } from "../../client/shared_client.ts";
import { Simulation } from "../support/sim.ts";

type Loose = Record<string, unknown>;

const BASE = { namesrvAddr: "10.0.0.1:9876", coreMemory: 2 };

/** Makes what a caller without types may ask for. */
const make: Record<string, (host: Host, options: Loose) => unknown> = {
  client: (host, options) => createClientOn(host, { ...BASE, ...options }),
  producer: (host, options) => createProducerOn(host, { ...BASE, ...options }),
  consumer: (host, options) => createPushConsumerOn(host, { ...BASE, consumerGroup: "billing", ...options } as never),
};

function withHost<T>(use: (host: Host) => T): T {
  using sim = new Simulation(1);
  return use(sim.host());
}

const thrown = (kind: string, options: Loose): unknown => withHost((host) => caught(() => make[kind]!(host, options)));

function caught(task: () => unknown): unknown {
  try {
    task();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Options and values of the documented API that are not built. */
const NOT_BUILT: readonly [kind: string, options: Loose][] = [
  ...["client", "producer", "consumer"].flatMap((kind): [string, Loose][] => [
    [kind, { tls: true }],
    [kind, { tls: { ca: "…" } }],
    [kind, { credentials: { accessKey: "a", secretKey: "b" } }],
    [kind, { credentials: () => ({ accessKey: "a", secretKey: "b" }) }],
    [kind, { namespace: "ns" }],
    [kind, { rpcHooks: [] }],
    [kind, { vipChannelEnabled: true }],
  ]),
  ["producer", { sendLatencyFault: true }],
  ["producer", { sendLatencyFault: { latencyMax: [50], notAvailableDuration: [0] } }],
  ["producer", { backPressure: { messages: 10 } }],
  ["producer", { autoBatch: true }],
  ["producer", { transactionListener: {} }],
  ["producer", { sendHooks: [] }],
  ["producer", { endTransactionHooks: [] }],
  ["producer", { checkForbiddenHooks: [] }],
  ["producer", { sendMsgMaxTimeoutPerRequest: 100 }],
  ["consumer", { messageModel: "BROADCASTING" }],
  ["consumer", { offsetStore: {} }],
  ["consumer", { subscriptions: { Orders: { sql: "a > 1" } } }],
  ["consumer", { pullThresholdForTopic: 10 }],
  ["consumer", { pullThresholdSizeForTopic: 10 }],
  ["consumer", { filterHooks: [] }],
  ["consumer", { consumeMessageBatchMaxSize: 2 }],
  ["consumer", { consumeTimeout: 15 }],
  ["consumer", { suspendCurrentQueueTimeMillis: 1_000 }],
  ["consumer", { pullBatchSizeInBytes: 1_000 }],
  ["consumer", { postSubscriptionWhenPull: true }],
  ["consumer", { localOffsetDir: "offsets" }],
  ["consumer", { classFilter: { className: "A", source: "" } }],
  ["consumer", { consumeHooks: [] }],
  ["consumer", { clientRebalance: false }],
  ["consumer", { popInvisibleTime: 60_000 }],
  ["consumer", { orderly: true }],
];

test.each(NOT_BUILT)("a %s refuses %j, which is not built", (kind, options) => {
  const error = thrown(kind, options);
  expect(error).toBeInstanceOf(UnsupportedError);
  expect(error).toMatchObject({ code: "ROCKETMQ_UNSUPPORTED", retryable: false });
});

test.each([
  ["client", { tls: false, vipChannelEnabled: false, credentials: undefined }],
  ["producer", { autoBatch: false, sendLatencyFault: false, compression: false }],
  ["consumer", { leaseMessages: true, clientRebalance: true, postSubscriptionWhenPull: false, orderly: false }],
])("a %s takes %j, which asks for nothing that is not built", (kind, options) => {
  expect(thrown(kind, options)).toBeUndefined();
});

test.each([
  ["client", { nameServer: "a:1" }],
  ["client", { producerGroup: "p" }],
  ["producer", { consumerGroup: "c" }],
  ["producer", { sendTimeout: 1 }],
  ["producer", { compression: { threshold: 10 } }],
  ["consumer", { producerGroup: "p" }],
])("a %s refuses the unknown option of %j", (kind, options) => {
  expect(thrown(kind, options)).toBeInstanceOf(ArgumentError);
});

/** Option, least, greatest. */
const NUMBERS: readonly [kind: string, option: string, min: number, max: number][] = [
  ["client", "requestTimeout", 1, 2 ** 31 - 1],
  ["client", "connectTimeout", 1, 2 ** 31 - 1],
  ["client", "heartbeatBrokerInterval", 10, 2 ** 31 - 1],
  ["client", "pollNameServerInterval", 10, 2 ** 31 - 1],
  ["producer", "sendMsgTimeout", 1, 2 ** 31 - 1],
  ["producer", "retryTimesWhenSendFailed", 0, 100],
  ["producer", "maxMessageSize", 1, 16_000_000],
  ["producer", "defaultTopicQueueNums", 1, 65_535],
  ["consumer", "concurrency", 1, 65_535],
  ["consumer", "pullBatchSize", 1, 1_024],
  ["consumer", "pullThresholdForQueue", 1, 65_535],
  ["consumer", "pullThresholdSizeForQueue", 1, 1_024],
  ["consumer", "consumeConcurrentlyMaxSpan", 1, 65_535],
  ["consumer", "pullInterval", 0, 65_535],
  ["consumer", "persistConsumerOffsetInterval", 10, 2 ** 31 - 1],
  ["consumer", "maxReconsumeTimes", -1, 2 ** 31 - 1],
];

test.each(NUMBERS)("a %s takes %s from %i to %i and nothing else", (kind, option, min, max) => {
  for (const good of [min, max]) expect(thrown(kind, { [option]: good })).toBeUndefined();
  for (const bad of [min - 1, max + 1, min + 0.5, NaN, Infinity, "10", null]) {
    const error = thrown(kind, { [option]: bad });
    expect(error, String(bad)).toBeInstanceOf(ArgumentError);
    expect((error as Error).message).toContain(option);
  }
});

test("coreMemory is a whole number of MiB from 2 on", () => {
  expect(thrown("client", { coreMemory: 2 })).toBeUndefined();
  for (const bad of [0, 1, 2.5, 1e9, "16"]) expect(thrown("client", { coreMemory: bad })).toBeInstanceOf(ArgumentError);
});

test.each([
  ["client", { namesrvAddr: undefined }],
  ["client", { namesrvAddr: null }],
  ["client", { namesrvAddr: "" }],
  ["client", { namesrvAddr: [] }],
  ["client", { namesrvAddr: [1] }],
  ["client", { namesrvAddr: 9876 }],
  ["client", { instanceName: " " }],
  ["client", { unitName: "" }],
  ["client", { serializeType: "XML" }],
  ["client", { signal: {} }],
  ["client", { onError: "print" }],
  ["client", { logger: { info() {} } }],
  ["producer", { producerGroup: "" }],
  ["producer", { producerGroup: "a b" }],
  ["producer", { producerGroup: "g".repeat(121) }],
  ["producer", { codec: {} }],
  ["producer", { retryAnotherBrokerWhenNotStoreOK: "yes" }],
  ["producer", { retryResponseCodes: 14 }],
  ["producer", { compression: "ZLIB" }],
  ["producer", { compression: { type: "GZIP" } }],
  ["producer", { compression: { level: 10 } }],
  ["producer", { compression: { over: -1 } }],
  ["consumer", { consumerGroup: undefined }],
  ["consumer", { consumerGroup: "" }],
  ["consumer", { consumerGroup: "DEFAULT_CONSUMER" }],
  ["consumer", { consumerGroup: "ä" }],
  ["consumer", { messageModel: "QUEUEING" }],
  ["consumer", { consumeFromWhere: "CONSUME_FROM_NOWHERE" }],
  ["consumer", { consumeFromWhere: { timestamp: NaN } }],
  ["consumer", { consumeFromWhere: Object.create(null) }],
  ["consumer", { checkCrc: 1 }],
  ["consumer", { allocateMessageQueueStrategy: "AVERAGELY" }],
  ["consumer", { allocateMessageQueueStrategy: null }],
  ["consumer", { allocateMessageQueueStrategy: { name: "mine" } }],
  ["consumer", { allocateMessageQueueStrategy: { name: "mine", allocate: "AVG" } }],
  ["consumer", { allocateMessageQueueStrategy: { name: "CONFIG", queues: [{ topic: "Orders" }] } }],
  ["consumer", { allocateMessageQueueStrategy: { name: "CONFIG" } }],
  ["consumer", { allocateMessageQueueStrategy: { name: "MACHINE_ROOM", rooms: "a" } }],
  ["consumer", { allocateMessageQueueStrategy: { name: "MACHINE_ROOM_NEARBY", inner: "AVG" } }],
  ["consumer", { allocateMessageQueueStrategy: { name: "MACHINE_ROOM_NEARBY", inner: "A", roomOf: () => "a" } }],
  ["consumer", { codec: null }],
  ["consumer", { subscriptions: ["Orders"] }],
  ["consumer", { subscriptions: { "no spaces": "*" } }],
  ["consumer", { subscriptions: { ["t".repeat(128)]: "*" } }],
  ["consumer", { subscriptions: { Orders: 7 } }],
  ["consumer", { subscriptions: { Orders: null } }],
  ["consumer", { subscriptions: { Orders: { tag: "a" } } }],
])("a %s refuses %j, which makes no sense", (kind, options) => {
  expect(thrown(kind, options)).toBeInstanceOf(ArgumentError);
});

test.each([
  ["client", { namesrvAddr: "a:1;b:2", instanceName: "one", unitName: "u", serializeType: "ROCKETMQ" }],
  ["client", { namesrvAddr: ["a:1", "b:2"], signal: new AbortController().signal, onError() {} }],
  ["client", { namesrvAddr: () => Promise.resolve(["a:1"]) }],
  ["producer", { producerGroup: "g".repeat(120), codec: text, compression: { type: "ZLIB", level: 9, over: 0 } }],
  ["producer", { compression: { type: "LZ4" } }],
  ["producer", { compression: { type: "ZSTD", level: 3 } }],
  ["producer", { retryResponseCodes: [13], retryAnotherBrokerWhenNotStoreOK: true }],
  ["consumer", { subscriptions: { Orders: "a || b", Bills: { tags: "*" } }, allocateMessageQueueStrategy: "AVG" }],
  ["consumer", { allocateMessageQueueStrategy: "AVG_BY_CIRCLE" }],
  ["consumer", { allocateMessageQueueStrategy: "CONSISTENT_HASH" }],
  ["consumer", { allocateMessageQueueStrategy: { name: "CONFIG", queues: [] } }],
  ["consumer", { allocateMessageQueueStrategy: { name: "MACHINE_ROOM", rooms: ["a"] } }],
  [
    "consumer",
    { allocateMessageQueueStrategy: { name: "MACHINE_ROOM_NEARBY", inner: "AVG_BY_CIRCLE", roomOf: () => "a" } },
  ],
  ["consumer", { allocateMessageQueueStrategy: { name: "mine", allocate: () => [] } }],
  ["consumer", { consumeFromWhere: { timestamp: 0 }, messageModel: "CLUSTERING", maxReconsumeTimes: -1 }],
])("a %s takes %j", (kind, options) => {
  expect(thrown(kind, options)).toBeUndefined();
});

test.each([null, undefined, "options", 7])("options that are %j are refused", (options) => {
  const error = withHost((host) => caught(() => createProducerOn(host, options as never)));
  expect(error).toBeInstanceOf(ArgumentError);
});

test.each([
  ["producer", "producerGroup", ""],
  ["producer", "producerGroup", "a b"],
  ["consumer", "consumerGroup", undefined],
  ["consumer", "consumerGroup", " "],
  ["consumer", "consumerGroup", "g".repeat(121)],
  ["consumer", "consumerGroup", 7],
])("a %s's error names the option %s when it is %j", (kind, option, group) => {
  expect((thrown(kind, { [option]: group }) as Error).message).toContain(option);
});

const QUERIES = [
  "minOffset",
  "maxOffset",
  "searchOffset",
  "earliestMsgStoreTime",
  "viewMessage",
  "queryMessage",
];

test.each([
  ...[...QUERIES, "sendBatch", "sendOneway", "sendInTransaction", "request", "recall", "createTopic"]
    .map((member) => ["producer", member]),
  ...QUERIES.map((member) => ["consumer", member]),
] as [string, string][])("a %s refuses %s(), which is not built", async (kind, member) => {
  const made = withHost((host) => make[kind]!(host, {})) as Record<string, () => Promise<unknown>>;
  await expect(made[member]!()).rejects.toMatchObject({
    code: "ROCKETMQ_UNSUPPORTED",
    message: expect.stringContaining(member),
  });
});

test("a consumer refuses messages(), for await, and listeners that are not built", async () => {
  const consumer = withHost((host) => make.consumer!(host, {})) as {
    messages(): unknown;
    run(listener: unknown): Promise<void>;
    [Symbol.asyncIterator](): unknown;
  };
  expect(caught(() => consumer.messages())).toBeInstanceOf(UnsupportedError);
  expect(caught(() => consumer[Symbol.asyncIterator]())).toBeInstanceOf(UnsupportedError);
  for (const listener of [{ eachBatch() {} }, { orderly() {} }]) {
    await expect(consumer.run(listener)).rejects.toBeInstanceOf(UnsupportedError);
  }
  for (const listener of [undefined, null, {}, "each", { eachMessage: 1 }]) {
    await expect(consumer.run(listener)).rejects.toBeInstanceOf(ArgumentError);
  }
});

test("a consumer refuses SQL selectors and bad topics when it subscribes", async () => {
  const consumer = withHost((host) => createPushConsumerOn(host, { ...BASE, consumerGroup: "billing" }));
  await expect(consumer.subscribe("Orders", { sql: "a > 1" })).rejects.toBeInstanceOf(UnsupportedError);
  await expect(consumer.subscribe("no spaces")).rejects.toBeInstanceOf(ArgumentError);
  await expect(consumer.subscribe("Orders", 7 as never)).rejects.toBeInstanceOf(ArgumentError);
});

test("a shared client refuses the consumers that are not built, and options of its own in its members", () => {
  const client = withHost((host) => createClientOn(host, BASE)) as unknown as Record<string, (o: Loose) => unknown>;
  for (const member of ["createLitePullConsumer", "createPullConsumer", "createSimpleConsumer"]) {
    expect(caught(() => client[member]!({ consumerGroup: "billing" }))).toBeInstanceOf(UnsupportedError);
  }
  expect(caught(() => client.createProducer!({ namesrvAddr: "a:1" }))).toBeInstanceOf(ArgumentError);
  expect(caught(() => client.createProducer!({ autoBatch: true }))).toBeInstanceOf(UnsupportedError);
  expect(caught(() => client.createPushConsumer!({ consumerGroup: "b", consumeTimeout: 15 }))).toBeInstanceOf(
    UnsupportedError,
  );
});

test.each([{ deliverAt: 1 }, { shardingKey: "a" }])(
  "a send refuses a message with %j, which is not built",
  async (more) => {
    const producer = withHost((host) => createProducerOn(host, BASE));
    const message = { topic: "Orders", body: Uint8Array.of(1), ...more };
    await expect(producer.send(message)).rejects.toBeInstanceOf(UnsupportedError);
  },
);

test("a send refuses a queue selector, which is not built, and unknown options", async () => {
  const producer = withHost((host) => createProducerOn(host, BASE));
  const message = { topic: "Orders", body: Uint8Array.of(1) };
  await expect(producer.send(message, { selectQueue: () => {} } as never)).rejects.toBeInstanceOf(UnsupportedError);
  await expect(producer.send(message, { retries: 1 } as never)).rejects.toBeInstanceOf(ArgumentError);
});
