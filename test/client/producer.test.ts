import { inspect } from "node:util";
import { inflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { bytes, text } from "../../client/body_codec.ts";
import {
  ArgumentError,
  BrokerError,
  ClosedError,
  CodecError,
  ConnectError,
  RouteError,
  TimeoutError,
  UnsupportedError,
} from "../../client/errors.ts";
import type { Clock, Host } from "../../client/host.ts";
import type { Message } from "../../client/message.ts";
import type { ProducerOptions } from "../../client/options.ts";
import { ResponseCode } from "../../client/protocol/codes.ts";
import { encodeProperties } from "../../client/protocol/properties.ts";
import { RESERVED_PROPERTIES } from "../../client/protocol/property_names.ts";
import { decodeSendRequest } from "../../client/protocol/send.ts";
import { decodeProperties } from "../../client/protocol/properties.ts";
import { BLOCK_MIN, INBOX_BYTES, SEGMENT_BYTES } from "../../core-as/abi.ts";
import { createClientOn, createProducerOn } from "../../client/shared_client.ts";
import { modelReadLz4 } from "../core/lz4_model.ts";
import { Simulation } from "../support/sim.ts";
import { type BrokerScript, type ProducerBench, scripted, stored, withBrokers } from "./scripted_broker.ts";
import { failure, inCluster, TOPIC } from "./world.ts";

const BODY = Uint8Array.of(1, 2, 3);

/** The answer of a broker that cannot. */
const refusing = (code: number, remark = "no"): BrokerScript => ({
  onSend: (request, connection) => connection.answer(request, { code, remark }),
});

/** The same queues; they can only be read from now on. */
const readOnly = <Route extends NonNullable<ProducerBench["route"]>>(route: Route): Route => ({
  ...route,
  queueDatas: route.queueDatas.map((each) => ({ ...each, perm: 4 })),
});

describe("before anything is sent", () => {
  /** A host whose network nobody may touch. */
  function offline(sim: Simulation): Host {
    return { ...sim.host(), connect: () => expect.unreachable("it connected") };
  }

  async function sendOffline(message: Message<Uint8Array>, options: Partial<ProducerOptions<Uint8Array>> = {}) {
    using sim = new Simulation(1);
    const producer = createProducerOn<Uint8Array>(offline(sim), {
      namesrvAddr: "10.0.0.1:9876",
      coreMemory: 2,
      ...options,
    });
    return await failure(producer.send(message));
  }

  test.each([
    ["no message", null],
    ["no topic", { body: BODY }],
    ["an empty topic", { topic: "", body: BODY }],
    ["a topic with a space", { topic: "a b", body: BODY }],
    ["a topic of the broker", { topic: "SCHEDULE_TOPIC_XXXX", body: BODY }],
    ["no body", { topic: TOPIC }],
    ["an empty body", { topic: TOPIC, body: new Uint8Array(0) }],
    ["a body that is text without a codec", { topic: TOPIC, body: "text" }],
    ["a body that is too large", { topic: TOPIC, body: new Uint8Array(4_194_305) }],
    ["an unknown field", { topic: TOPIC, body: BODY, tag: "a" }],
    ["two tags", { topic: TOPIC, body: BODY, tags: "a || b" }],
    ["tags that are no text", { topic: TOPIC, body: BODY, tags: 7 }],
    ["keys that are no texts", { topic: TOPIC, body: BODY, keys: [1] }],
    ["keys that are a number", { topic: TOPIC, body: BODY, keys: 42 }],
    ["a separator in a tag", { topic: TOPIC, body: BODY, tags: "a\u0002b" }],
    ["a separator in a key", { topic: TOPIC, body: BODY, keys: "a\u0002b" }],
    ["a separator in a property's name", { topic: TOPIC, body: BODY, properties: { "a\u0001b": "c" } }],
    ["a separator in a property's value", { topic: TOPIC, body: BODY, properties: { a: "b\u0002c" } }],
    ["an empty property", { topic: TOPIC, body: BODY, properties: { a: "" } }],
    ["a property without a name", { topic: TOPIC, body: BODY, properties: { "": "a" } }],
    ["a property that is a number", { topic: TOPIC, body: BODY, properties: { a: 1 } }],
    ["delay level 0", { topic: TOPIC, body: BODY, delayTimeLevel: 0 }],
    ["delay level 19", { topic: TOPIC, body: BODY, delayTimeLevel: 19 }],
    ["delay level 1.5", { topic: TOPIC, body: BODY, delayTimeLevel: 1.5 }],
  ])("a message with %s is refused", async (_, message) => {
    const error = await sendOffline(message as unknown as Message<Uint8Array>);
    expect(error).toBeInstanceOf(ArgumentError);
  });

  test("every property that belongs to RocketMQ is refused", async () => {
    for (const name of RESERVED_PROPERTIES) {
      const error = await sendOffline({ topic: TOPIC, body: BODY, properties: { [name]: "a" } });
      expect(error, name).toBeInstanceOf(ArgumentError);
      expect(error.message).toContain(name);
    }
  });

  test("a codec that throws is a CodecError with its cause", async () => {
    const cause = new Error("cannot");
    const codec = {
      encode() {
        throw cause;
      },
      decode: bytes.decode,
    };
    const error = await sendOffline({ topic: TOPIC, body: BODY }, { codec });
    expect(error).toBeInstanceOf(CodecError);
    expect(error).toMatchObject({ cause, topic: TOPIC, retryable: false });
  });

  test("maxMessageSize is the largest body, before compression", async () => {
    const options = { maxMessageSize: 10_000 };
    expect(await sendOffline({ topic: TOPIC, body: new Uint8Array(10_001) }, options)).toBeInstanceOf(ArgumentError);
  });

  test("codec-11: a topic of 128 letters is refused, naming the limit", async () => {
    const error = await sendOffline({ topic: "t".repeat(128), body: BODY });
    expect(error).toBeInstanceOf(ArgumentError);
    expect(error.message).toContain("127");
  });

  test("codec-7: properties of 32,768 bytes are refused, naming size and limit", async () => {
    const error = await sendOffline({ topic: TOPIC, body: BODY, properties: { big: "x".repeat(32_767) } });
    expect(error).toBeInstanceOf(ArgumentError);
    expect(error.message).toContain("32767");
  });

  test.each([0, -1, NaN, "1"])("a timeout of %j is refused", async (timeout) => {
    using sim = new Simulation(1);
    const producer = createProducerOn<Uint8Array>(offline(sim), { namesrvAddr: "10.0.0.1:9876", coreMemory: 2 });
    const error = await failure(producer.send({ topic: TOPIC, body: BODY }, { timeout: timeout as number }));
    expect(error).toBeInstanceOf(ArgumentError);
  });

  test.each([
    ["an AbortController as signal", { signal: new AbortController() }],
    ["a signal that is none", { signal: { aborted: false, addEventListener() {} } }],
    ["a function as options", () => 1],
    ["a number as options", 5],
    ["a queue without an id", { queue: { topic: TOPIC, brokerName: "a" } }],
    ["queue id -5", { queue: { topic: TOPIC, brokerName: "a", queueId: -5 } }],
    ["queue id 1.5", { queue: { topic: TOPIC, brokerName: "a", queueId: 1.5 } }],
    ["queue id 2^32+1", { queue: { topic: TOPIC, brokerName: "a", queueId: 2 ** 32 + 1 } }],
    ["queue id 1n", { queue: { topic: TOPIC, brokerName: "a", queueId: 1n } }],
    ["a queue without a broker", { queue: { topic: TOPIC, brokerName: "", queueId: 0 } }],
  ])("%s is refused, and nothing is left that waits", async (_, options) => {
    using sim = new Simulation(1);
    const producer = createProducerOn<Uint8Array>(offline(sim), { namesrvAddr: "10.0.0.1:9876", coreMemory: 2 });
    const error = await failure(producer.send({ topic: TOPIC, body: BODY }, options as never));
    expect(error).toBeInstanceOf(ArgumentError);
    expect(await failure(producer.start({ signal: {} as AbortSignal }))).toBeInstanceOf(ArgumentError);
    expect(await failure(producer.fetchPublishMessageQueues(TOPIC, { timeout: NaN }))).toBeInstanceOf(ArgumentError);
    expect(sim.planned).toBe(0);
    await sim.run(producer.shutdown(null as never));
  });

  test("a queue of another topic is refused", async () => {
    using sim = new Simulation(1);
    const producer = createProducerOn<Uint8Array>(offline(sim), { namesrvAddr: "10.0.0.1:9876", coreMemory: 2 });
    const queue = { topic: "Others", brokerName: "a", queueId: 0 };
    expect(await failure(producer.send({ topic: TOPIC, body: BODY }, { queue }))).toBeInstanceOf(ArgumentError);
  });
});

describe("what goes over the wire", () => {
  test(
    "codec-11: a topic of 127 letters is sent",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const topic = "t".repeat(127);
      await sim.run(producer().send({ topic, body: BODY }));
      expect(decodeSendRequest(sends[0]!.request.extFields, sends[0]!.request.code).topic).toBe(topic);
    }),
  );

  test(
    "codec-7: properties of exactly 32,767 bytes arrive",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const others = encodeProperties({ WAIT: "true", UNIQ_KEY: "0".repeat(32), big: "" }).length;
      const big = "x".repeat(32_767 - others);
      await sim.run(producer().send({ topic: TOPIC, body: BODY, properties: { big } }));
      const { properties } = decodeSendRequest(sends[0]!.request.extFields, sends[0]!.request.code);
      expect(properties.length).toBe(32_767);
      expect(decodeProperties(properties)["big"]).toBe(big);
      const error = await failure(producer().send({ topic: TOPIC, body: BODY, properties: { big: big + "x" } }));
      expect(error).toBeInstanceOf(ArgumentError);
    }),
  );

  test.each(["JSON", "ROCKETMQ"] as const)(
    "codec-15: tag, keys and properties are there once, with the unique key, in a %s header",
    (serializeType) =>
      withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
        const properties = { city: "Zürich", __proto: "x", a: '"quoted" \\ \u0001 🚀' };
        const message = { topic: TOPIC, body: BODY, tags: "paid", keys: ["42", "43"], properties, delayTimeLevel: 3 };
        const { msgId } = await sim.run(producer({ serializeType }).send({ ...message, waitStoreMsgOK: false }));
        const { request } = sends[0]!;
        const header = decodeSendRequest(request.extFields, request.code);
        expect(decodeProperties(header.properties)).toEqual(Object.assign(Object.create(null), {
          ...properties,
          KEYS: "42 43",
          TAGS: "paid",
          DELAY: "3",
          WAIT: "false",
          UNIQ_KEY: msgId,
        }));
        const seen = header.properties.split("\u0002").map((each) => each.split("\u0001")[0]).filter(Boolean);
        expect(seen.length).toBe(new Set(seen).size);
        expect(request.serializeType).toBe(serializeType);
        expect(request.body).toEqual(BODY);
      })(),
  );

  test(
    "a property called __proto__ is one like any other",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const properties = JSON.parse('{"__proto__": "mine"}') as Record<string, string>;
      await sim.run(producer().send({ topic: TOPIC, body: BODY, properties }));
      const { request } = sends[0]!;
      const read = decodeProperties(decodeSendRequest(request.extFields, request.code).properties);
      expect(Object.entries(read)).toContainEqual(["__proto__", "mine"]);
    }),
  );

  test(
    "ids differ, and are what the broker gets",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const sender = producer();
      const results = await sim.run(
        Promise.all(Array.from({ length: 100 }, () => sender.send({ topic: TOPIC, body: BODY }))),
      );
      expect(new Set(results.map(({ msgId }) => msgId)).size).toBe(100);
      expect(results.every(({ msgId }) => /^[0-9A-F]{32}$/.test(msgId))).toBe(true);
      const there = sends.map(({ request }) =>
        decodeProperties(decodeSendRequest(request.extFields, request.code).properties)["UNIQ_KEY"]
      );
      expect(new Set(there)).toEqual(new Set(results.map(({ msgId }) => msgId)));
      expect(results[0]!.offsetMsgId).toBe("0A000001000078BF0000000000000007");
    }),
  );

  test(
    "queues are taken in turn, and a queue that is named is used",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const sender = producer();
      const results = [];
      for (let i = 0; i < 8; i++) results.push(await sim.run(sender.send({ topic: TOPIC, body: BODY })));
      const ids = results.map(({ queue }) => queue.queueId);
      expect(ids.slice(1).every((id, index) => id === (ids[index]! + 1) % 4)).toBe(true);
      const queues = await sim.run(sender.fetchPublishMessageQueues(TOPIC));
      expect(queues.map(({ queueId }) => queueId)).toEqual([0, 1, 2, 3]);
      const { queue } = await sim.run(sender.send({ topic: TOPIC, body: BODY }, { queue: queues[2]! }));
      expect(queue).toBe(queues[2]);
      expect(decodeSendRequest(sends.at(-1)!.request.extFields, 310).queueId).toBe(2);
    }),
  );

  test(
    "the queue that is named is what it was when send was called, and the result's is its own",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const sender = producer(), queue = { topic: TOPIC, brokerName: "a", queueId: 1 };
      // It waits for the client to start, then for its broker's answer.
      const first = sender.send({ topic: TOPIC, body: BODY }, { queue });
      Object.assign(queue, { brokerName: undefined, queueId: NaN });
      const results = [await sim.run(first)];
      Object.assign(queue, { brokerName: "a", queueId: 2 });
      const second = sender.send({ topic: TOPIC, body: BODY }, { queue });
      queue.queueId = 3;
      results.push(await sim.run(second));
      queue.queueId = 0;
      expect(sends.map(({ request }) => decodeSendRequest(request.extFields, 310).queueId)).toEqual([1, 2]);
      expect(results.map((result) => result.queue)).toEqual([
        { topic: TOPIC, brokerName: "a", queueId: 1 },
        { topic: TOPIC, brokerName: "a", queueId: 2 },
      ]);
    }),
  );

  test(
    "bodies are compressed from 4,096 bytes on, and one that grew is sent plain",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const sender = producer();
      const random = crypto.getRandomValues(new Uint8Array(5_000));
      const bodies = [new Uint8Array(4_095), new Uint8Array(4_096), new Uint8Array(1_000_000), random];
      for (const body of bodies) await sim.run(sender.send({ topic: TOPIC, body }));
      const flags = sends.map(({ request }) => decodeSendRequest(request.extFields, request.code).sysFlag);
      expect(flags).toEqual([0, 0x301, 0x301, 0]);
      expect(sends[0]!.request.body.length).toBe(4_095);
      expect(inflateSync(sends[1]!.request.body).length).toBe(4_096);
      expect(inflateSync(sends[2]!.request.body).length).toBe(1_000_000);
      expect(sends[3]!.request.body).toEqual(random);
    }),
  );

  test(
    "a compressed body says so too when its properties are too long for a header program",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const note = "x".repeat(10_000);
      await sim.run(producer().send({ topic: TOPIC, body: new Uint8Array(5_000), keys: "k", properties: { note } }));
      const { request } = sends[0]!, sent = decodeSendRequest(request.extFields, request.code);
      expect(sent.sysFlag).toBe(0x301);
      expect(decodeProperties(sent.properties)).toMatchObject({ KEYS: "k", note });
      expect(inflateSync(request.body).length).toBe(5_000);
    }),
  );

  test(
    "bodies are compressed with LZ4 where that is asked for, and one that grew is sent plain",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const sender = producer({ compression: { type: "LZ4", over: 100 } });
      const random = crypto.getRandomValues(new Uint8Array(5_000));
      const bodies = [new Uint8Array(99), new Uint8Array(100), new Uint8Array(1_000_000), random];
      for (const body of bodies) await sim.run(sender.send({ topic: TOPIC, body }));
      const flags = sends.map(({ request }) => decodeSendRequest(request.extFields, request.code).sysFlag);
      expect(flags).toEqual([0, 0x101, 0x101, 0]);
      for (const index of [1, 2]) {
        expect(modelReadLz4(sends[index]!.request.body, 1_000_000)?.length).toBe(bodies[index]!.length);
      }
      expect(sends[3]!.request.body).toEqual(random);
    }),
  );

  test(
    "ZSTD goes through the host: on one without it the send is an UnsupportedError, and nothing is sent",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      const sender = producer({ compression: { type: "ZSTD" } });
      const error = await sim.run(failure(sender.send({ topic: TOPIC, body: new Uint8Array(5_000) })));
      expect(error).toBeInstanceOf(UnsupportedError);
      expect(sends).toEqual([]);
    }),
  );

  test(
    "nothing is compressed when compression is off, or below its limit",
    withBrokers({ a: {} }, async ({ sim, producer, sends }) => {
      await sim.run(producer({ compression: false }).send({ topic: TOPIC, body: new Uint8Array(10_000) }));
      await sim.run(producer({ compression: { over: 20_000 } }).send({ topic: TOPIC, body: new Uint8Array(10_000) }));
      await sim.run(producer({ compression: { over: 10 } }).send({ topic: TOPIC, body: new Uint8Array(100) }));
      expect(sends.map(({ request }) => decodeSendRequest(request.extFields, 310).sysFlag)).toEqual([0, 0, 0x301]);
    }),
  );
});

test(
  "stats().coreBytesInUse counts what a client holds: inboxes, segments and header programs",
  withBrokers({ a: {} }, async ({ sim, producer }) => {
    const sender = producer();
    expect(sender.stats().coreBytesInUse).toBe(0);
    await sim.run(sender.send({ topic: TOPIC, body: BODY }));
    const { coreBytesInUse, connections } = sender.stats();
    expect(connections).toBe(2);
    // The second segment of a connection comes when it is needed.
    expect(coreBytesInUse).toBeGreaterThan(connections * (INBOX_BYTES + SEGMENT_BYTES));
    expect(coreBytesInUse).toBeLessThan(connections * (INBOX_BYTES + 2 * SEGMENT_BYTES) + 65_536);
    expect(coreBytesInUse % BLOCK_MIN).toBe(0);
    await sim.run(sender.send({ topic: TOPIC, body: BODY }));
    expect(sender.stats().coreBytesInUse).toBe(coreBytesInUse);
    await sim.run(sender.shutdown());
    expect(sender.stats().coreBytesInUse).toBe(0);
  }),
);

describe("failures", () => {
  test("a topic that nobody knows is a RouteError that names it and the name servers", async () => {
    using sim = new Simulation(1);
    const world = await scripted(sim, {});
    world.route = undefined;
    const producer = createProducerOn<Uint8Array>(sim.host(), { namesrvAddr: world.namesrvAddr, coreMemory: 2 });
    const error = await sim.run(failure(producer.send({ topic: "Nowhere", body: BODY })));
    expect(error).toBeInstanceOf(RouteError);
    expect(error).toMatchObject({ topic: "Nowhere", retryable: true });
    expect(error.message).toContain('"Nowhere"');
    expect(error.message).toContain(world.namesrvAddr);
    await sim.run(producer.shutdown());
  });

  test.each(["refused", "silent"])(
    "name servers that are %s are a ConnectError in time, one cause each",
    async (how) => {
      using sim = new Simulation(1);
      const addrs = ["10.7.0.1:9876", "10.7.0.2:9876"];
      if (how === "silent") { for (const addr of addrs) sim.network.swallow(addr); }
      const producer = createProducerOn<Uint8Array>(sim.host(), { namesrvAddr: addrs, coreMemory: 2 });
      const error = await sim.run(failure(producer.send({ topic: TOPIC, body: BODY })));
      expect(sim.now).toBeLessThanOrEqual(3_010);
      expect(error).toBeInstanceOf(ConnectError);
      const { errors } = error.cause as AggregateError;
      expect(errors.map(({ addr }) => addr as string).sort()).toEqual(addrs);
      await sim.run(producer.shutdown());
    },
  );

  test(
    "a broker that is down is a ConnectError in time, one cause for each try",
    withBrokers({ a: { down: true } }, async ({ sim, producer }) => {
      const started = sim.now;
      const error = await sim.run(failure(producer().send({ topic: TOPIC, body: BODY })));
      expect(sim.now - started).toBeLessThanOrEqual(3_010);
      expect(error).toBeInstanceOf(ConnectError);
      const { errors } = error.cause as AggregateError;
      expect(errors.length).toBeGreaterThan(0);
      expect(errors.every((each) => each instanceof ConnectError)).toBe(true);
    }),
  );

  test(
    "producer-3: with one of two brokers down, a hundred sends succeed by way of the other",
    withBrokers({ a: { down: true }, b: {} }, async ({ sim, producer, sends }) => {
      const sender = producer();
      const all = Array.from({ length: 100 }, () => sender.send({ topic: TOPIC, body: BODY }));
      const results = await sim.run(Promise.all(all));
      expect(results.every(({ queue }) => queue.brokerName === "b")).toBe(true);
      expect(sends.length).toBe(100);
    }),
  );

  test.each([14, 1, 2, 16, 17, 204, 205])(
    "producer-4: after code %i the next try is at another broker, with the same id",
    (code) =>
      withBrokers({ a: refusing(code), b: {} }, async ({ sim, producer, sends }) => {
        const sender = producer();
        const results = [];
        for (let i = 0; i < 6; i++) results.push(await sim.run(sender.send({ topic: TOPIC, body: BODY })));
        expect(results.every(({ queue }) => queue.brokerName === "b")).toBe(true);
        const ids = new Map<string, string[]>();
        for (const { broker, request } of sends) {
          const id = decodeProperties(decodeSendRequest(request.extFields, 310).properties)["UNIQ_KEY"]!;
          ids.set(id, [...ids.get(id) ?? [], broker]);
        }
        expect([...ids.keys()].sort()).toEqual(results.map(({ msgId }) => msgId).sort());
        const tries = [...ids.values()].map((brokers) => brokers.join());
        expect(new Set(tries)).toEqual(new Set(["b", "a,b"]));
      })(),
  );

  test(
    "producer-4: a broker that closes the connection is left for another",
    withBrokers({ a: { onSend: (_, connection) => connection.close() }, b: {} }, async ({ sim, producer }) => {
      const sender = producer();
      for (let i = 0; i < 4; i++) {
        expect((await sim.run(sender.send({ topic: TOPIC, body: BODY }))).queue.brokerName).toBe("b");
      }
    }),
  );

  test.each([13, 3, 215])(
    "code %i is not tried again",
    (code) =>
      withBrokers({ a: refusing(code, "bad message") }, async ({ sim, producer, sends }) => {
        const error = await sim.run(failure(producer().send({ topic: TOPIC, body: BODY })));
        expect(error).toBeInstanceOf(BrokerError);
        expect(error).toMatchObject({ responseCode: code, remark: "bad message", topic: TOPIC, retryable: false });
        expect(sends.length).toBe(1);
      })(),
  );

  test(
    "retryResponseCodes adds codes that are worth another try",
    withBrokers({ a: refusing(13), b: {} }, async ({ sim, producer }) => {
      const sender = producer({ retryResponseCodes: [13] });
      for (let i = 0; i < 4; i++) await sim.run(sender.send({ topic: TOPIC, body: BODY }));
    }),
  );

  test(
    "the last error has all tries in order as its cause",
    withBrokers({ a: refusing(14, "slow"), b: refusing(1, "ill") }, async ({ sim, producer, sends }) => {
      const error = await sim.run(failure<BrokerError>(producer().send({ topic: TOPIC, body: BODY })));
      expect(error).toBeInstanceOf(BrokerError);
      const { errors } = error.cause as AggregateError;
      expect(errors.length).toBe(3);
      expect(errors.map(({ remark }) => remark as string)).toEqual(
        sends.map(({ broker }) => broker === "a" ? "slow" : "ill"),
      );
      expect(error.remark).toBe(errors[2].remark);
      const shown = JSON.parse(JSON.stringify(error)) as { cause: { errors: unknown[] }; code: string };
      expect(shown).toMatchObject({ name: "BrokerError", code: "ROCKETMQ_BROKER", topic: TOPIC });
      expect(shown.cause.errors.length).toBe(3);
      expect(inspect(error)).toContain("ROCKETMQ_BROKER");
    }),
  );

  test(
    "a send to a named queue has one try",
    withBrokers({ a: refusing(14), b: {} }, async ({ sim, producer, sends }) => {
      const queue = { topic: TOPIC, brokerName: "a", queueId: 1 };
      const error = await sim.run(failure(producer().send({ topic: TOPIC, body: BODY }, { queue })));
      expect(error).toBeInstanceOf(BrokerError);
      expect(sends.length).toBe(1);
    }),
  );

  test(
    "producer-2: a retry gets the time that is left",
    async () => {
      let sim: Simulation | undefined;
      const later = (ms: number, task: () => void) => sim!.clock.setTimer(ms, task);
      const slow: BrokerScript = {
        onSend: (request, connection) => later(500, () => connection.answer(request, { code: 1, remark: "ill" })),
      };
      const healthy: BrokerScript = { onSend: (request, connection) => later(300, () => stored(request, connection)) };
      await withBrokers({ a: slow, b: healthy }, async (bench) => {
        sim = bench.sim;
        const sender = bench.producer();
        for (let i = 0; i < 8; i++) {
          const started = sim.now;
          const { queue } = await sim.run(sender.send({ topic: TOPIC, body: BODY }, { timeout: 3_000 }));
          expect(queue.brokerName).toBe("b");
          expect(sim.now - started).toBeLessThan(3_000);
        }
      })();
    },
  );

  test(
    "producer-2: a send never takes longer than its timeout, retries and start included",
    withBrokers({ a: { onSend: () => {} }, b: { onSend: () => {} } }, async ({ sim, producer, sends }) => {
      for (const timeout of [200, 3_000]) {
        const started = sim.now;
        const error = await sim.run(failure(producer().send({ topic: TOPIC, body: BODY }, { timeout })));
        expect(error).toBeInstanceOf(TimeoutError);
        expect(sim.now - started).toBeGreaterThan(timeout - 2);
        expect(sim.now - started).toBeLessThan(timeout + 10);
      }
      expect(new Set(sends.map(({ broker }) => broker)).size).toBe(2);
    }),
  );

  test.each<[string, BrokerScript]>([
    ["writeQueueNums 0", { writeQueues: 0 }],
    ["perm 4", { perm: 4 }],
  ])(
    "producer-7: a topic with %s is a clear RouteError",
    (_, script) =>
      withBrokers({ a: script }, async ({ sim, producer }) => {
        const error = await sim.run(failure(producer().send({ topic: TOPIC, body: BODY })));
        expect(error).toBeInstanceOf(RouteError);
        expect(error.message).toContain("no writable queue");
      })(),
  );

  test(
    "producer-7: a route without brokers is a clear RouteError",
    withBrokers({ a: {} }, async (bench) => {
      bench.route = { brokerDatas: [], queueDatas: bench.route!.queueDatas };
      const error = await bench.sim.run(failure(bench.producer().send({ topic: TOPIC, body: BODY })));
      expect(error).toBeInstanceOf(RouteError);
      expect(error.message).toContain("no writable queue");
    }),
  );

  test(
    "producer-7: a topic that loses its writable queues between two tries is a RouteError too",
    async () => {
      let bench: ProducerBench | undefined;
      const slow: BrokerScript = {
        onSend: (request, connection) =>
          void bench!.sim.clock.setTimer(2_000, () => connection.answer(request, { code: 1, remark: "ill" })),
      };
      await withBrokers({ a: slow }, async (given) => {
        bench = given;
        const sender = bench.producer({ pollNameServerInterval: 500 });
        const sending = failure(sender.send({ topic: TOPIC, body: BODY }, { timeout: 10_000 }));
        await bench.sim.run(() => bench!.sends.length === 1);
        bench.route = readOnly(bench.route!);
        const error = await bench.sim.run(sending);
        expect(error).toBeInstanceOf(RouteError);
        expect((error.cause as AggregateError).errors.length).toBe(2);
      })();
    },
  );

  test.each([[["a"]], [["a", "b"]]])(
    "a message that was stored, though not as it should, is no failure when its topic has lost its writable queues: brokers %j",
    (names) => {
      const answers: (() => void)[] = [];
      const slow: BrokerScript = {
        onSend: (request, connection) =>
          void answers.push(() => stored(request, connection, ResponseCode.FLUSH_DISK_TIMEOUT)),
      };
      return withBrokers(Object.fromEntries(names.map((name) => [name, slow])), async (bench) => {
        const { sim } = bench;
        const sender = bench.producer({
          retryAnotherBrokerWhenNotStoreOK: true,
          sendMsgTimeout: 60_000,
          pollNameServerInterval: 10_000,
        });
        const sent = sender.send({ topic: TOPIC, body: BODY });
        await sim.run(() => answers.length === 1);
        bench.route = readOnly(bench.route!);
        await sim.run(15_000);
        answers[0]!();
        expect((await sim.run(sent)).sendStatus).toBe("FLUSH_DISK_TIMEOUT");
        expect(bench.sends.length).toBe(1);
      })();
    },
  );

  test.each([[10, "FLUSH_DISK_TIMEOUT"], [12, "FLUSH_SLAVE_TIMEOUT"], [11, "SLAVE_NOT_AVAILABLE"]])(
    "answer %i is the result %s, unless another broker is wanted",
    (code, status) =>
      withBrokers(
        { a: { onSend: (request, connection) => stored(request, connection, code) }, b: {} },
        async ({ sim, producer }) => {
          const plain = producer(), choosy = producer({ retryAnotherBrokerWhenNotStoreOK: true });
          const statuses = new Set<string>();
          for (let i = 0; i < 5; i++) {
            statuses.add((await sim.run(plain.send({ topic: TOPIC, body: BODY }))).sendStatus);
            expect((await sim.run(choosy.send({ topic: TOPIC, body: BODY }))).sendStatus).toBe("SEND_OK");
          }
          expect(statuses).toEqual(new Set(["SEND_OK", status]));
        },
      )(),
  );

  test(
    "when no broker stores as it should, the result that came is better than none",
    withBrokers(
      { a: { onSend: (request, connection) => stored(request, connection, 10) }, b: refusing(13) },
      async ({ sim, producer }) => {
        const sender = producer({ retryAnotherBrokerWhenNotStoreOK: true, retryTimesWhenSendFailed: 1 });
        const outcomes = [];
        for (let i = 0; i < 8; i++) {
          outcomes.push(
            await sim.run(
              sender.send({ topic: TOPIC, body: BODY }).then(({ sendStatus }) => sendStatus, () => "failed"),
            ),
          );
        }
        expect(new Set(outcomes)).toEqual(new Set(["FLUSH_DISK_TIMEOUT", "failed"]));
      },
    ),
  );
});

describe("starting", () => {
  test("sends of one turn wait for the start as one, those with a timeout or a topic of their own by themselves", async () => {
    const timersOf = async (sends: number): Promise<number> => {
      using sim = new Simulation(1);
      sim.network.swallow("10.7.0.1:9876");
      const host = sim.host();
      let timers = 0;
      const setTimer: Clock["setTimer"] = (delay, task) => (timers++, host.clock.setTimer(delay, task));
      const clock = { now: () => host.clock.now(), monotonic: () => host.clock.monotonic(), setTimer };
      const producer = createProducerOn<Uint8Array>({ ...host, clock }, {
        namesrvAddr: "10.7.0.1:9876",
        coreMemory: 2,
      });
      const timed = async (topic: string, timeout: number) => {
        const error = await failure(producer.send({ topic, body: BODY }, { timeout }));
        return [error.code, Math.round(sim.now / 10) * 10];
      };
      const alike = Array.from({ length: sends }, () => timed(TOPIC, 500));
      const hasty = timed(TOPIC, 100), other = timed("Other", 500);
      expect(await sim.run(hasty)).toEqual(["ROCKETMQ_TIMEOUT", 100]);
      const late = ["ROCKETMQ_CONNECT", 500];
      expect(await sim.run(Promise.all([...alike, other]))).toEqual([...alike.map(() => late), late]);
      // A failure is not kept: later sends try anew.
      expect(await sim.run(timed(TOPIC, 500))).toEqual(["ROCKETMQ_CONNECT", 1_000]);
      await sim.run(producer.shutdown());
      return timers;
    };
    expect(await timersOf(100)).toBe(await timersOf(1));
  });
});

describe("aborting", () => {
  test.each(["before the call", "while starting", "while waiting"])(
    "%s rejects with the reason, untouched",
    (when) =>
      withBrokers({ a: { onSend: () => {} } }, async ({ sim, producer, sends }) => {
        const reason = { mine: true };
        const controller = new AbortController();
        if (when === "before the call") controller.abort(reason);
        const sending = failure(producer().send({ topic: TOPIC, body: BODY }, { signal: controller.signal }));
        if (when === "while starting") controller.abort(reason);
        if (when === "while waiting") {
          await sim.run(() => sends.length === 1);
          controller.abort(reason);
        }
        expect(await sim.run(sending)).toBe(reason);
      })(),
  );

  test(
    "one caller's abort or short timeout does not fail another that waits for the same start",
    withBrokers({ a: {} }, async ({ sim, producer }) => {
      const sender = producer(), controller = new AbortController();
      const first = failure(sender.send({ topic: TOPIC, body: BODY }, { signal: controller.signal }));
      const second = sender.send({ topic: TOPIC, body: BODY });
      controller.abort("mine");
      expect(await sim.run(first)).toBe("mine");
      expect((await sim.run(second)).sendStatus).toBe("SEND_OK");
    }),
  );

  test("a caller that waits for another's start has a deadline and a signal of its own", async () => {
    using sim = new Simulation(1);
    sim.network.swallow("10.7.0.1:9876");
    const producer = createProducerOn<Uint8Array>(sim.host(), { namesrvAddr: "10.7.0.1:9876", coreMemory: 2 });
    const patient = failure(producer.send({ topic: TOPIC, body: BODY }, { timeout: 2_000 }));
    const controller = new AbortController();
    const aborted = failure(producer.send({ topic: TOPIC, body: BODY }, { signal: controller.signal }));
    const hasty = failure(producer.send({ topic: TOPIC, body: BODY }, { timeout: 100 }));
    controller.abort("mine");
    expect(await sim.run(aborted)).toBe("mine");
    expect(sim.now).toBeLessThan(50);
    expect((await sim.run(hasty)).retryable).toBe(true);
    expect(sim.now).toBeLessThan(110);
    expect(await sim.run(patient)).toBeInstanceOf(ConnectError);
    expect(sim.now).toBeLessThan(2_010);
    await sim.run(producer.shutdown());
  });
});

describe("shutdown", () => {
  test(
    "waits for the sends that are under way, and refuses later ones",
    async () => {
      let sim: Simulation | undefined;
      const slow: BrokerScript = {
        onSend: (request, connection) => void sim!.clock.setTimer(1_000, () => stored(request, connection)),
      };
      await withBrokers({ a: slow }, async (bench) => {
        sim = bench.sim;
        const sender = bench.producer();
        await sim.run(sender.start());
        const sending = sender.send({ topic: TOPIC, body: BODY });
        await sim.run(() => bench.sends.length === 1);
        const closing = sender.shutdown();
        expect(sender.state).toBe("draining");
        expect(await failure(sender.send({ topic: TOPIC, body: BODY }))).toBeInstanceOf(ClosedError);
        expect((await sim.run(sending)).sendStatus).toBe("SEND_OK");
        await sim.run(closing);
        expect(sender.state).toBe("closed");
        const late = await failure(sender.send({ topic: TOPIC, body: BODY }));
        expect(late).toMatchObject({ code: "ROCKETMQ_CLOSED" });
      })();
    },
  );

  test(
    "its timeout wins over sends that hang, which fail",
    withBrokers({ a: { onSend: () => {} } }, async ({ sim, producer, sends }) => {
      const sender = producer();
      const sending = failure(sender.send({ topic: TOPIC, body: BODY }, { timeout: 60_000 }));
      await sim.run(() => sends.length === 1);
      const started = sim.now;
      await sim.run(sender.shutdown({ timeout: 500 }));
      expect(sim.now - started).toBeLessThan(520);
      expect(await sim.run(sending)).toBeInstanceOf(ClosedError);
    }),
  );

  test("during start ends both, and nothing is left", async () => {
    using sim = new Simulation(1);
    sim.network.swallow("10.7.0.1:9876");
    const producer = createProducerOn<Uint8Array>(sim.host(), { namesrvAddr: "10.7.0.1:9876", coreMemory: 2 });
    const starting = failure(producer.start());
    const sending = failure(producer.send({ topic: TOPIC, body: BODY }));
    await sim.run(100);
    await sim.run(producer.shutdown({ timeout: 1_000 }));
    expect(await sim.run(starting)).toBeInstanceOf(ClosedError);
    expect(await sim.run(sending)).toBeInstanceOf(ClosedError);
    expect(sim.planned).toBe(0);
  });

  test("of a producer that was never started works, as often as it is called", async () => {
    using sim = new Simulation(1);
    const producer = createProducerOn<Uint8Array>(sim.host(), { namesrvAddr: "10.7.0.1:9876", coreMemory: 2 });
    await sim.run(Promise.all([producer.shutdown(), producer.shutdown(), producer[Symbol.asyncDispose]()]));
    expect(await failure(producer.start())).toBeInstanceOf(ClosedError);
  });

  test(
    "comes by the signal of the options too",
    withBrokers({ a: {} }, async ({ sim, producer }) => {
      const controller = new AbortController();
      const sender = producer({ signal: controller.signal });
      await sim.run(sender.send({ topic: TOPIC, body: BODY }));
      controller.abort();
      await sim.run(() => sender.state === "closed");
    }),
  );

  test(
    "leaves no timer and no connection behind",
    withBrokers({ a: {} }, async ({ sim, producer }) => {
      const sender = producer();
      await sim.run(sender.send({ topic: TOPIC, body: BODY }));
      await sim.run(sender.shutdown());
      await sim.run(10);
      expect(sender.stats()).toMatchObject({ connections: 0, inFlight: 0 });
      expect(sim.planned).toBe(0);
    }),
  );
});

describe("against the embedded broker", () => {
  test(
    "a new topic is made from the template",
    inCluster(async ({ sim, producer }) => {
      const sender = producer({ defaultTopicQueueNums: 2 });
      const { queueOffset, queue } = await sim.run(sender.send({ topic: "Brandnew", body: "first" }));
      expect([queueOffset, queue.topic]).toEqual([0n, "Brandnew"]);
      expect((await sim.run(sender.fetchPublishMessageQueues("Brandnew"))).length).toBe(2);
    }),
  );

  test(
    "results print and serialize",
    inCluster(async ({ sim, producer }) => {
      const result = await sim.run(producer({ codec: text }).send({ topic: TOPIC, body: "hello" }));
      const { sendStatus, msgId, offsetMsgId, queue } = result;
      expect(JSON.parse(JSON.stringify(result))).toEqual({ sendStatus, msgId, offsetMsgId, queue, queueOffset: "0" });
      for (const shown of ["SEND_OK", result.msgId, "Orders", "0n"]) expect(inspect(result)).toContain(shown);
    }),
  );

  test(
    "members of one client find equal queues to be the same object",
    inCluster(async ({ sim, producer }) => {
      const sender = producer();
      const { queue } = await sim.run(sender.send({ topic: TOPIC, body: "hello" }));
      expect(await sim.run(sender.fetchPublishMessageQueues(TOPIC))).toContain(queue);
    }),
  );
});

describe("deadlines", () => {
  /** How long `promise` took, in ms of the simulation, and its error. */
  const timed = async (sim: Simulation, promise: Promise<unknown>): Promise<{ ms: number; error?: unknown }> => {
    const started = sim.now;
    return await promise.then(
      () => ({ ms: sim.now - started }),
      (error: unknown) => ({ ms: sim.now - started, error }),
    );
  };

  test(
    "a send that joins another one's question for the route keeps its own deadline, be it shorter or longer",
    inCluster(async ({ sim, cluster, producer }) => {
      const sender = producer();
      await sim.run(sender.start());
      cluster.fault({ code: 105, action: { delay: 2_000 } });
      const send = (topic: string, timeout: number) => timed(sim, sender.send({ topic, body: "x" }, { timeout }));

      const [long, short] = [send(TOPIC, 3_000), send(TOPIC, 100)];
      expect(await sim.run(short)).toMatchObject({ error: { code: "ROCKETMQ_TIMEOUT", topic: TOPIC } });
      expect((await sim.run(short)).ms).toBeLessThan(110);
      expect((await sim.run(long)).error).toBeUndefined();

      const [hasty, patient] = [send("New", 100), send("New", 5_000)];
      expect((await sim.run(hasty)).error).toMatchObject({ retryable: true });
      expect(await sim.run(patient)).not.toHaveProperty("error");
    }),
  );

  test(
    "both questions about a topic that is not there share one deadline",
    inCluster(async ({ sim, cluster, producer }) => {
      const sender = producer();
      await sim.run(sender.start());
      cluster.fault({ code: 105, action: { delay: 2_000 } });
      const { ms, error } = await sim.run(timed(sim, sender.send({ topic: "Brandnew", body: "x" })));
      expect(error).toMatchObject({ retryable: true });
      expect(ms).toBeLessThanOrEqual(3_010);
      const queues = await sim.run(timed(sim, sender.fetchPublishMessageQueues("Another", { timeout: 2_500 })));
      expect(queues.ms).toBeLessThanOrEqual(2_510);
    }),
  );

  test("a slow broker that is connected gets all of the time that is left, and the message is stored once", async () => {
    let sim: Simulation | undefined;
    const slow: BrokerScript = {
      onSend: (request, connection) => void sim!.clock.setTimer(1_600, () => stored(request, connection)),
    };
    await withBrokers({ a: slow, b: slow }, async (bench) => {
      sim = bench.sim;
      const sender = bench.producer();
      for (let i = 0; i < 2; i++) await sim.run(sender.send({ topic: TOPIC, body: BODY }, { timeout: 10_000 }));
      bench.sends.length = 0;
      expect((await sim.run(sender.send({ topic: TOPIC, body: BODY }))).sendStatus).toBe("SEND_OK");
      expect(bench.sends).toHaveLength(1);
    })();
  });

  test(
    "a broker whose address cannot be read is passed by: the others get the sends",
    withBrokers({ a: {}, b: {} }, async (bench) => {
      const { sim } = bench;
      const [a, b] = bench.route!.brokerDatas;
      bench.route = { ...bench.route!, brokerDatas: [{ ...a!, brokerAddrs: new Map([[0, "10.0.0.1:99999"]]) }, b!] };
      const sender = bench.producer();
      for (let i = 0; i < 8; i++) {
        expect((await sim.run(sender.send({ topic: TOPIC, body: BODY }))).sendStatus).toBe("SEND_OK");
      }
    }),
  );

  test(
    "a broker without an address is looked for before the send fails",
    withBrokers({ a: {} }, async (bench) => {
      const { sim } = bench;
      const sender = bench.producer();
      const route = bench.route!;
      const [queue] = await sim.run(sender.fetchPublishMessageQueues(TOPIC));
      bench.route = { ...route, brokerDatas: [] };
      const moved = { ...queue!, brokerName: "b" };
      expect(await sim.run(failure(sender.send({ topic: TOPIC, body: BODY }, { queue: moved })))).toMatchObject({
        code: "ROCKETMQ_CONNECT",
        topic: TOPIC,
      });
      bench.route = {
        ...route,
        brokerDatas: [...route.brokerDatas, { ...route.brokerDatas[0]!, brokerName: "b" }],
      };
      expect((await sim.run(sender.send({ topic: TOPIC, body: BODY }, { queue: moved }))).sendStatus).toBe("SEND_OK");
    }),
  );

  test(
    "brokers that no route names any more are disconnected after a refresh",
    withBrokers({ a: {}, b: {} }, async (bench) => {
      const { sim } = bench;
      const sender = bench.producer({ pollNameServerInterval: 10_000 });
      for (let i = 0; i < 8; i++) await sim.run(sender.send({ topic: TOPIC, body: BODY }));
      expect(sender.stats().connections).toBe(3);
      const { brokerDatas, queueDatas } = bench.route!;
      bench.route = { brokerDatas: brokerDatas.slice(0, 1), queueDatas: queueDatas.slice(0, 1) };
      await sim.run(11_000);
      expect(sender.stats().connections).toBe(2);
      expect((await sim.run(sender.send({ topic: TOPIC, body: BODY }))).sendStatus).toBe("SEND_OK");
    }),
  );

  test(
    "a shutdown that cannot wait for its sends still says goodbye, and gives back what its sends held",
    async () => {
      let isMute = false;
      const farewells: number[] = [];
      const broker: BrokerScript = {
        onSend: (request, connection) => {
          if (!isMute) stored(request, connection);
        },
        onOther: (request) => {
          if (request.code === 35) farewells.push(request.code);
          return false;
        },
      };
      await withBrokers({ a: broker }, async ({ sim, namesrvAddr }) => {
        const client = createClientOn(sim.host(), { namesrvAddr, coreMemory: 2 });
        const before = client.stats().coreBytesInUse;
        const idle = client.createProducer({ producerGroup: "idle" });
        await sim.run(idle.send({ topic: TOPIC, body: BODY }));
        await sim.run(idle.shutdown());
        const connected = client.stats().coreBytesInUse;
        expect(connected).toBeGreaterThan(before);
        const sender = client.createProducer({ producerGroup: "busy" });
        await sim.run(sender.send({ topic: TOPIC, body: BODY }));
        await sim.run(1_000);
        isMute = true;
        const stuck = failure(sender.send({ topic: TOPIC, body: BODY }, { timeout: 5_000 }));
        farewells.length = 0;
        await sim.run(sender.shutdown({ timeout: 1_000 }));
        expect(farewells).toHaveLength(1);
        expect(await sim.run(stuck)).toBeInstanceOf(TimeoutError);
        expect(client.stats().coreBytesInUse).toBe(connected);
        await sim.run(client.shutdown());
      })();
    },
  );
});

test(
  "a send that fails on the way names its topic, whatever failed",
  withBrokers({ a: { down: true } }, async ({ sim, producer }) => {
    const error = await sim.run(failure(producer().send({ topic: TOPIC, body: BODY })));
    expect(error).toBeInstanceOf(ConnectError);
    expect(error).toMatchObject({ topic: TOPIC, message: expect.stringMatching(`^Cannot send to topic "${TOPIC}": `) });
    expect(error.stack).toContain("ConnectError");
    expect(Object.keys(new ConnectError("x"))).not.toContain("addr");
  }),
);
