import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { text } from "../../client/body_codec.ts";
import type { PushConsumer } from "../../client/consumer/push_consumer.ts";
import { ArgumentError, ClosedError, ConnectError, RocketMQError, UnsupportedError } from "../../client/errors.ts";
import type { ConsumerEvents } from "../../client/events.ts";
import type { Host } from "../../client/host.ts";
import type { MessageExt } from "../../client/message.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import { Simulation } from "../support/sim.ts";
import { collect, failure, gate, GROUP, inCluster, numbers, sendAll, sorted, TOPIC } from "./world.ts";

/** Queues of the topic itself, not of the retry topic. */
const held = (consumer: PushConsumer<string>): number[] =>
  consumer.assignment().filter(({ topic }) => topic === TOPIC).map(({ queueId }) => queueId).sort();

const bodies = (messages: Iterable<MessageExt<string>>): string[] => [...messages].map(({ body }) => body);

describe("sharing the queues of a group", () => {
  test(
    "two members share, and the one that stays has all again",
    inCluster(async ({ sim, producer, consumer }) => {
      const events: ConsumerEvents["rebalance"][] = [];
      const first = consumer(), second = consumer();
      first.on("rebalance", (event) => events.push(event));
      const seen = collect(first), others = collect(second);
      await sim.run(() => held(first).length === 2 && held(second).length === 2);
      expect([...held(first), ...held(second)].sort()).toEqual([0, 1, 2, 3]);
      expect(events.filter(({ topic }) => topic === TOPIC).length).toBeGreaterThan(0);
      const sender = producer();
      await sim.run(sendAll(sender, 20));
      await sim.run(() => seen.length + others.length === 20);
      expect(seen.length).toBe(10);
      await sim.run(second.shutdown());
      await sim.run(() => held(first).length === 4);
      await sim.run(sendAll(sender, 20, 20));
      await sim.run(() => seen.length + others.length === 40);
      expect(sorted(bodies([...seen, ...others]))).toEqual(numbers(40));
    }),
  );

  test.each(["its connections end", "it goes silent"])(
    "a member that is cut off loses its queues: %s",
    (how) =>
      inCluster(async ({ sim, cluster, producer, consumer }) => {
        const first = consumer();
        const seen = collect(first);
        let isCut = false;
        const host = sim.host("cut");
        const never = (signal: AbortSignal) =>
          new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        const cut: Host = {
          ...host,
          connect: (endpoint, inbox, signal) => isCut ? never(signal) : host.connect(endpoint, inbox, signal),
        };
        const second = createPushConsumerOn<string>(cut, {
          namesrvAddr: cluster.namesrvAddr,
          consumerGroup: GROUP,
          consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
          codec: text,
          coreMemory: 8,
          subscriptions: { [TOPIC]: "*" },
        });
        const others = collect(second);
        await sim.run(() => held(first).length === 2 && held(second).length === 2);
        isCut = true;
        const ip = second.clientId.split("@")[0]!;
        if (how === "it goes silent") sim.network.drop(ip);
        else sim.network.cut(ip);
        await sim.run(() => held(first).length === 4, 200_000);
        await sim.run(sendAll(producer(), 20));
        await sim.run(() => seen.length === 20);
        expect(others).toEqual([]);
        await sim.run(second.shutdown({ timeout: 1_000 }));
      })(),
  );

  test(
    "with more members than queues some have none",
    inCluster(async ({ sim, consumer }) => {
      const members = numbers(5).map(() => consumer());
      for (const member of members) void collect(member);
      await sim.run(() => members.map((member) => held(member).length).sort().join() === "0,1,1,1,1");
      expect(members.flatMap(held).sort()).toEqual([0, 1, 2, 3]);
    }),
  );
});

describe("subscriptions", () => {
  test(
    "only messages with a wanted tag come, not those whose tag has the same hash",
    inCluster(async ({ sim, producer, consumer }) => {
      const seen = collect(consumer({ subscriptions: { [TOPIC]: "Aa || paid" } }));
      const sender = producer();
      for (const tags of ["Aa", "BB", "paid", "refunded", undefined, "Aa"]) {
        await sim.run(sender.send({ topic: TOPIC, body: String(tags), ...(tags === undefined ? {} : { tags }) }));
      }
      await sim.run(2_000);
      expect(bodies(seen).sort()).toEqual(["Aa", "Aa", "paid"]);
      expect(seen.map(({ tags }) => tags).sort()).toEqual(["Aa", "Aa", "paid"]);
    }),
  );

  test(
    "consumer-13: a topic subscribed before, during or after the start is consumed",
    inCluster(
      async ({ sim, producer, consumer }) => {
        const member = consumer({ subscriptions: {} });
        await member.subscribe("Before");
        const seen = collect(member);
        const during = member.subscribe("During", { tags: "a" });
        await sim.run(during);
        await sim.run(() => member.state === "running");
        await sim.run(member.subscribe("After"));
        const sender = producer();
        for (const topic of ["Before", "During", "After"]) {
          await sim.run(sender.send({ topic, body: topic, tags: "a" }));
        }
        await sim.run(() => seen.length === 3);
        expect(bodies(seen).sort()).toEqual(["After", "Before", "During"]);
      },
      { topics: { Before: { queues: 1 }, During: { queues: 1 }, After: { queues: 1 } } },
    ),
  );

  test(
    "consumer-13: a topic that comes later is consumed when it is there",
    inCluster(async ({ sim, producer, consumer }) => {
      const seen = collect(consumer({ subscriptions: { Later: "*" } }));
      await sim.run(2_000);
      await sim.run(producer().send({ topic: "Later", body: "here" }));
      await sim.run(() => seen.length === 1, 60_000);
    }),
  );

  test(
    "consumer-8: an unsubscribed topic is given up, and the retries of another still come",
    inCluster(
      async ({ sim, producer, consumer }) => {
        const member = consumer({ subscriptions: { [TOPIC]: "*", Bills: "*" } });
        const seen: string[] = [];
        const running = member.run({
          eachMessage(message) {
            seen.push(`${message.topic} ${message.reconsumeTimes}`);
            if (message.reconsumeTimes === 0) throw new Error("not yet");
          },
        });
        await sim.run(() => member.state === "running");
        await sim.run(member.unsubscribe(TOPIC));
        expect(held(member)).toEqual([]);
        const sender = producer();
        await sim.run(sender.send({ topic: TOPIC, body: "unseen" }));
        await sim.run(sender.send({ topic: "Bills", body: "twice" }));
        await sim.run(() => seen.length === 2);
        await sim.run(5_000);
        expect(seen).toEqual(["Bills 0", "Bills 1"]);
        await sim.run(Promise.all([member.shutdown(), running]));
      },
      { topics: { [TOPIC]: { queues: 4 }, Bills: { queues: 2 } } },
    ),
  );
});

describe("handlers that fail", () => {
  test.each<[string, () => unknown]>([
    ["throws", () => {
      throw new Error("no");
    }],
    ["throws nothing at all", () => {
      throw undefined;
    }],
    ["rejects", () => Promise.reject(new Error("no"))],
    ["rejects with nothing", () => Promise.reject(undefined)],
    ["returns RECONSUME_LATER", () => "RECONSUME_LATER"],
    ["resolves to RECONSUME_LATER", () => Promise.resolve("RECONSUME_LATER")],
    ["returns what is no status", () => "SUCCESS"],
  ])(
    "a handler that %s gets the message again, with its topic and id",
    (_, fail) =>
      inCluster(async ({ sim, producer, consumer }) => {
        const sent = await sim.run(
          producer().send({ topic: TOPIC, body: "again", tags: "a", keys: ["k1", "k2"], properties: { mine: "kept" } }),
        );
        const seen: MessageExt<string>[] = [];
        const member = consumer();
        const running = member.run({
          eachMessage(message) {
            seen.push(message);
            if (seen.length === 1) return fail() as void;
          },
        });
        await sim.run(() => seen.length === 2);
        for (const [times, message] of seen.entries()) {
          expect(message).toMatchObject({
            topic: TOPIC,
            msgId: sent.msgId,
            body: "again",
            tags: "a",
            reconsumeTimes: times,
          });
          expect(message.keys).toEqual(["k1", "k2"]);
          expect(message.properties["mine"]).toBe("kept");
        }
        await sim.run(30_000);
        expect(seen.length).toBe(2);
        await sim.run(Promise.all([member.shutdown(), running]));
      })(),
  );

  test(
    "consumer-2: after many failures the concurrency is as before",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer({ concurrency: 2 });
      const failed = new Set<string>(), done: string[] = [];
      let running = 0, most = 0;
      void member.run({
        async eachMessage(message) {
          most = Math.max(most, ++running);
          await sim.clock.now();
          running--;
          if (!failed.has(message.body)) {
            failed.add(message.body);
            throw Number(message.body) % 2 ? "no error" : new Error("no");
          }
          done.push(message.body);
        },
      });
      await sim.run(sendAll(producer(), 10));
      await sim.run(() => done.length === 10);
      expect([sorted(done), most]).toEqual([numbers(10), 2]);
    }),
  );

  test(
    "delayLevelWhenNextConsume -1 is the dead letter queue: it does not come again",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer();
      let times = 0;
      void member.run({
        eachMessage(_, context) {
          times++;
          context.delayLevelWhenNextConsume = -1;
          return "RECONSUME_LATER";
        },
      });
      await sim.run(producer().send({ topic: TOPIC, body: "dead" }));
      await sim.run(() => times === 1);
      await sim.run(60_000);
      expect(times).toBe(1);
    }),
  );

  test(
    "a message that fails too often does not come again",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer({ maxReconsumeTimes: 2 });
      const times: number[] = [];
      void member.run({
        eachMessage(message) {
          times.push(message.reconsumeTimes);
          throw new Error("never");
        },
      });
      await sim.run(producer().send({ topic: TOPIC, body: "dead" }));
      await sim.run(120_000);
      expect(times).toEqual([0, 1, 2]);
    }),
  );

  test(
    "consumer-10: when brokers take nothing back, copies come, with the first id and the user's properties",
    inCluster(async ({ sim, cluster, producer, consumer }) => {
      cluster.fault({ code: RequestCode.CONSUMER_SEND_MSG_BACK, action: { answer: 1, remark: "no" } });
      const member = consumer();
      const seen: MessageExt<string>[] = [];
      void member.run({
        eachMessage(message) {
          seen.push(message);
          if (message.reconsumeTimes < 3) throw new Error("not yet");
        },
      });
      const sent = await sim.run(
        producer().send({ topic: TOPIC, body: "x".repeat(10_000), tags: "a", properties: { mine: "kept" } }),
      );
      await sim.run(() => seen.length === 4);
      const [first, ...copies] = seen;
      for (const [index, copy] of copies.entries()) {
        expect(copy).toMatchObject({ topic: TOPIC, msgId: sent.msgId, tags: "a", reconsumeTimes: index + 1 });
        expect(copy.body).toBe("x".repeat(10_000));
        expect(copy.properties["mine"]).toBe("kept");
        expect(copy.properties["ORIGIN_MESSAGE_ID"]).toBe(first!.offsetMsgId);
      }
    }),
  );

  test(
    "when nobody takes a message back it is handled again here, after five seconds",
    inCluster(async ({ sim, cluster, producer, consumer, errors }) => {
      const sender = producer();
      await sim.run(sender.send({ topic: TOPIC, body: "again" }));
      for (const code of [RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2]) {
        cluster.fault({ code, action: { answer: 1, remark: "no" } });
      }
      const seen: number[] = [], at: number[] = [];
      void consumer().run({
        eachMessage(message) {
          seen.push(message.reconsumeTimes);
          at.push(sim.now);
          if (seen.length === 1) throw new Error("no");
        },
      });
      await sim.run(() => seen.length === 2);
      expect(seen).toEqual([0, 1]);
      expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(5_000);
      expect(errors.map(({ code }) => code)).toEqual(["ROCKETMQ_HANDLER", "ROCKETMQ_BROKER"]);
      await sim.run(20_000);
      expect(seen.length).toBe(2);
    }),
  );
});

describe("offsets", () => {
  const oneQueue = { topics: { [TOPIC]: { queues: 1 } } };

  test(
    "a restart goes on where the last one ended",
    inCluster(async ({ sim, producer, consumer }) => {
      const sender = producer();
      await sim.run(sendAll(sender, 30));
      const first = consumer();
      const seen = collect(first);
      await sim.run(() => seen.length === 30);
      await sim.run(first.shutdown());
      await sim.run(sendAll(sender, 10, 30));
      const again = collect(consumer());
      await sim.run(() => again.length === 10);
      await sim.run(20_000);
      expect(sorted(bodies(again))).toEqual(numbers(10, 30));
    }),
  );

  test(
    "a slow message holds the offset back: after a restart it comes again, and all behind it",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer({ persistConsumerOffsetInterval: 100 });
      const done: string[] = [];
      void member.run({
        async eachMessage(message) {
          if (message.body === "3") await new Promise(() => {});
          done.push(message.body);
        },
      });
      await sim.run(sendAll(producer(), 10));
      await sim.run(() => done.length === 9);
      await sim.run(1_000);
      await sim.run(member.shutdown({ timeout: 1_000 }));
      const again = collect(consumer());
      await sim.run(() => again.length === 7);
      await sim.run(20_000);
      expect(bodies(again)).toEqual(numbers(7, 3).map(String));
    }, oneQueue),
  );

  test(
    "messages of one queue start in order",
    inCluster(async ({ sim, producer, consumer }) => {
      await sim.run(sendAll(producer(), 100));
      const seen = collect(consumer({ concurrency: 1, pullBatchSize: 7 }));
      await sim.run(() => seen.length === 100);
      expect(bodies(seen)).toEqual(numbers(100).map(String));
      expect(seen.map(({ queueOffset }) => queueOffset)).toEqual(numbers(100).map(BigInt));
    }, oneQueue),
  );
});

describe("flow control", () => {
  const oneQueue = { topics: { [TOPIC]: { queues: 1 } } };

  test.each([
    ["count", { pullThresholdForQueue: 10 }, "x", 10 + 32],
    ["bytes", { pullThresholdSizeForQueue: 1 }, "x".repeat(50_000), 21 + 32],
    ["span", { consumeConcurrentlyMaxSpan: 20 }, "x", 21 + 32],
  ])(
    "consumer-16: by %s pulling stops, at most one batch above the limit, and goes on",
    (_, options, body, limit) =>
      inCluster(async ({ sim, producer, consumer }) => {
        const member = consumer({ ...options, concurrency: 1 });
        const events: ConsumerEvents["backpressure"][] = [];
        member.on("backpressure", (event) => events.push(event));
        const { opened, open } = gate();
        const done: bigint[] = [];
        void member.run({
          async eachMessage(message) {
            await opened;
            done.push(message.queueOffset);
          },
        });
        const sender = producer({ compression: false });
        for (let i = 0; i < 100; i++) await sim.run(sender.send({ topic: TOPIC, body }));
        await sim.run(5_000);
        expect(events.length).toBe(1);
        expect(events[0]).toMatchObject({ queue: { topic: TOPIC, queueId: 0 } });
        expect(events[0]!.cachedMessages).toBeLessThanOrEqual(limit);
        const before = member.stats().bytesIn;
        await sim.run(1_000);
        expect(member.stats().bytesIn - before).toBeLessThan(5_000n);
        open();
        await sim.run(() => done.length === 100);
      }, oneQueue)(),
  );

  test(
    "consumer-4: a full queue can be given up, and a shutdown ends in bounded time",
    inCluster(async ({ sim, producer, consumer }) => {
      const first = consumer({ pullThresholdForQueue: 10 });
      const { opened } = gate();
      void first.run({ eachMessage: () => opened });
      await sim.run(sendAll(producer(), 200));
      await sim.run(2_000);
      const second = consumer();
      const seen = collect(second);
      await sim.run(() => held(first).length === 2 && held(second).length === 2);
      const started = sim.now;
      await sim.run(first.shutdown({ timeout: 2_000 }));
      expect(sim.now - started).toBeLessThan(2_100);
      await sim.run(() => new Set(bodies(seen)).size === 200);
    }),
  );

  test(
    "concurrency bounds the handlers, and may be changed while they run",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer({ concurrency: 3 });
      let running = 0, most = 0, done = 0;
      void member.run({
        async eachMessage() {
          most = Math.max(most, ++running);
          await new Promise<void>((resolve) => sim.clock.setTimer(100, resolve));
          running--;
          done++;
        },
      });
      await sim.run(sendAll(producer(), 90));
      await sim.run(() => done >= 20);
      expect(most).toBe(3);
      member.concurrency = 7;
      await sim.run(() => done >= 50);
      expect(most).toBe(7);
      member.concurrency = 1;
      await sim.run(200);
      most = 0;
      await sim.run(() => done >= 70);
      expect([most, member.concurrency]).toEqual([1, 1]);
      for (const bad of [0, -1, 1.5, NaN]) expect(() => member.concurrency = bad).toThrow(ArgumentError);
      member.concurrency = 20;
      await sim.run(() => done === 90);
    }),
  );

  test(
    "pause and resume, of all queues and of one",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer();
      const seen = collect(member);
      await sim.run(() => held(member).length === 4);
      const sender = producer();
      await sim.run(sendAll(sender, 8));
      await sim.run(() => seen.length === 8);
      member.pause();
      await sim.run(20_000); // pulls that were under way end
      await sim.run(sendAll(sender, 8, 8));
      await sim.run(20_000);
      expect(seen.length).toBe(8);
      const [queue] = member.assignment().filter(({ topic, queueId }) => topic === TOPIC && queueId === 2);
      member.pause([queue!]);
      member.resume(member.assignment().filter((each) => each !== queue));
      member.resume();
      await sim.run(() => seen.length === 16);
      member.pause([queue!]);
      await sim.run(20_000);
      await sim.run(sendAll(sender, 8, 16));
      await sim.run(20_000);
      expect(seen.length).toBe(22);
      member.resume([queue!]);
      await sim.run(() => seen.length === 24);
    }),
  );
});

describe("run()", () => {
  test("rejects when the start fails, and may then be called again", async () => {
    using sim = new Simulation(1);
    const consumer = createPushConsumerOn<string>(sim.host(), {
      namesrvAddr: "10.7.0.1:9876",
      consumerGroup: GROUP,
      codec: text,
      coreMemory: 8,
    });
    for (let i = 0; i < 2; i++) {
      const error = await sim.run(failure(consumer.run({ eachMessage() {} })));
      expect(error).toBeInstanceOf(ConnectError);
    }
    await sim.run(consumer.shutdown());
    expect(sim.planned).toBe(0);
  });

  test(
    "settles after shutdown, and has one listener",
    inCluster(async ({ sim, consumer }) => {
      const member = consumer();
      let isOver = false;
      const running = member.run({ eachMessage() {} }).then(() => isOver = true);
      await sim.run(() => member.state === "running");
      expect(await failure(member.run({ eachMessage() {} }))).toBeInstanceOf(UnsupportedError);
      await sim.run(1_000);
      expect(isOver).toBe(false);
      await sim.run(member.shutdown());
      await sim.run(running);
      expect(await failure(member.run({ eachMessage() {} }))).toBeInstanceOf(ClosedError);
    }),
  );

  test(
    "of one that was shut down before is a ClosedError too",
    inCluster(async ({ sim, consumer }) => {
      const member = consumer();
      await sim.run(member.shutdown());
      expect(await failure(member.run({ eachMessage() {} }))).toBeInstanceOf(ClosedError);
    }),
  );

  test(
    "each handler has a signal of its own, which fires with the queue and not after the handler",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer({ concurrency: 40 }), signals: AbortSignal[] = [], fired: unknown[] = [];
      const ended: AbortSignal[] = [];
      void member.run({
        eachMessage({ body }, context) {
          const { signal } = context;
          expect(context.signal).toBe(signal);
          if (body === "0") return void ended.push(signal);
          signals.push(signal);
          signal.addEventListener("abort", () => fired.push(signal.reason));
          return new Promise(() => undefined);
        },
      });
      await sim.run(sendAll(producer(), 31));
      await sim.run(() => signals.length === 30 && ended.length === 1);
      await sim.run(1_000);
      expect(new Set(signals).size).toBe(30);
      await sim.run(member.unsubscribe(TOPIC));
      expect(fired.length).toBe(30);
      expect(fired.every((reason) => reason instanceof ClosedError)).toBe(true);
      expect(ended[0]!.aborted).toBe(false);
    }),
  );

  test(
    "what a message does not have is undefined, and a consumed message can be sent on as it is",
    inCluster(async ({ sim, producer, consumer }) => {
      const seen = collect(consumer()), sender = producer();
      await sim.run(sender.send({ topic: TOPIC, body: "bare" }));
      await sim.run(() => seen.length === 1);
      const { tags, shardingKey, transactionId, delayTimeLevel, deliverAt, keys } = seen[0]!;
      expect([tags, shardingKey, transactionId, delayTimeLevel, deliverAt, keys]).toEqual([
        ...Array<undefined>(5).fill(undefined),
        [],
      ]);
      await sim.run(sender.send({ topic: TOPIC, body: "full", tags: "t", keys: ["k", "l"], properties: { own: "1" } }));
      await sim.run(() => seen.length === 2);
      for (const message of [seen[0]!, seen[1]!, seen[1]!.retain()]) await sim.run(sender.send(message));
      await sim.run(() => seen.length === 5);
      const read = ({ body, tags, keys, properties }: MessageExt<string>) => [body, tags, keys, properties["own"]];
      expect(seen.slice(2).map(read).sort()).toEqual([read(seen[0]!), read(seen[1]!), read(seen[1]!)].sort());
      expect(new Set(seen.map(({ msgId }) => msgId)).size).toBe(5);
    }),
  );

  test(
    "start() settles after the first rebalance, and messages wait for run()",
    inCluster(async ({ sim, producer, consumer }) => {
      await sim.run(sendAll(producer(), 8));
      const member = consumer();
      expect(await sim.run(member.start())).toBe(member);
      expect(held(member)).toEqual([0, 1, 2, 3]);
      await sim.run(1_000);
      const seen = collect(member);
      await sim.run(() => seen.length === 8);
    }),
  );
});

describe("messages", () => {
  test(
    "stay readable after shutdown, print and serialize; a retained one stands alone",
    inCluster(async ({ sim, producer, consumer }) => {
      const sender = producer();
      const body = "grüße ".repeat(2_000);
      const result = await sim.run(sender.send({ topic: TOPIC, body, tags: "a", keys: ["k"], properties: { p: "ü" } }));
      const member = consumer();
      const [message] = await sim.run((async () => {
        const seen = collect(member);
        await sim.run(() => seen.length === 1);
        return seen;
      })());
      const copy = message!.retain();
      await sim.run(member.shutdown());
      await sim.run(sender.shutdown());
      for (const each of [message!, copy]) {
        expect(each.body).toBe(body);
        expect(new TextDecoder().decode(each.rawBody())).toBe(body);
        expect(each).toMatchObject({
          topic: TOPIC,
          tags: "a",
          keys: ["k"],
          msgId: result.msgId,
          offsetMsgId: result.offsetMsgId,
          queueOffset: result.queueOffset,
          queueId: result.queue.queueId,
          brokerName: result.queue.brokerName,
          reconsumeTimes: 0,
        });
        expect(each.properties["p"]).toBe("ü");
        const shown = JSON.parse(JSON.stringify(each)) as Record<string, unknown>;
        expect(shown).toMatchObject({ topic: TOPIC, msgId: result.msgId, queueOffset: "0", keys: ["k"] });
        expect(shown["bodyLength"]).toBeTypeOf("number");
        for (const part of [TOPIC, result.msgId, "reconsumeTimes"]) expect(inspect(each)).toContain(part);
      }
    }),
  );

  test(
    "a body that its codec cannot read is a CodecError, and the handler fails by it",
    inCluster(async ({ sim, producer, consumer }) => {
      const cause = new Error("unreadable");
      const seen: unknown[] = [];
      const member = consumer({
        codec: {
          encode: text.encode,
          decode() {
            throw cause;
          },
        },
      });
      void member.run({
        eachMessage(message) {
          try {
            return void message.body;
          } catch (error) {
            seen.push(error);
            throw error;
          }
        },
      });
      await sim.run(producer().send({ topic: TOPIC, body: "x" }));
      await sim.run(() => seen.length === 2);
      expect(seen[0]).toBeInstanceOf(RocketMQError);
      expect(seen[0]).toMatchObject({ code: "ROCKETMQ_CODEC", cause, topic: TOPIC });
    }),
  );
});
