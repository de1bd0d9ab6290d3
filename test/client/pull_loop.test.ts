import { describe, expect, test } from "vitest";
import { Credits } from "../../client/consumer/credits.ts";
import { FrameError, type RocketMQError } from "../../client/errors.ts";
import type { ConsumeFromWhere } from "../../client/options.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { encodeConsumerList } from "../../client/protocol/consumer_list.ts";
import { decodeHeartbeat } from "../../client/protocol/heartbeat.ts";
import { encodeOffset } from "../../client/protocol/offsets.ts";
import { encodeProperties } from "../../client/protocol/properties.ts";
import { decodePullRequest } from "../../client/protocol/pull.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import { concat } from "../support/frames.ts";
import { Random, Simulation } from "../support/sim.ts";
import { scripted } from "./scripted_broker.ts";
import { pulled, record, type Script, withScript } from "./scripted_consumer.ts";
import { collect, GROUP, inCluster, sendAll, TOPIC } from "./world.ts";

const MOVED = 21, NO_MATCH = 20, NONE = 19;

test.each<[ConsumeFromWhere, number, number]>([
  ["CONSUME_FROM_LAST_OFFSET", 70, 0],
  ["CONSUME_FROM_FIRST_OFFSET", 0, 0],
  [{ timestamp: 1_700_000_000_000 }, 30, 70],
])(
  "a group without an offset begins with %j at %i, in its retry topic at %i",
  (consumeFromWhere, first, retry) =>
    withScript({ maxOffset: 70, searched: 30 }, async ({ sim, consumer, pulls, retryPulls }) => {
      collect(consumer({ consumeFromWhere }));
      await sim.run(() => pulls.length === 1 && retryPulls.length === 1);
      expect([pulls[0]!.queueOffset, retryPulls[0]!.queueOffset]).toEqual([first, retry]);
    })(),
);

test.each<ConsumeFromWhere>([
  "CONSUME_FROM_LAST_OFFSET",
  "CONSUME_FROM_FIRST_OFFSET",
  { timestamp: 1 },
])(
  "a committed offset goes before %j",
  (consumeFromWhere) =>
    withScript({ committed: 42, maxOffset: 70, searched: 30 }, async ({ sim, consumer, pulls }) => {
      collect(consumer({ consumeFromWhere }));
      await sim.run(() => pulls.length === 1);
      expect(pulls[0]!.queueOffset).toBe(42);
    })(),
);

test.each([[900, "up"], [10, "down"]])("an offset the broker does not have is corrected: to %i, %s", (offset) => {
  const script = {
    committed: 500,
    pull: (_: unknown, count: number) => {
      if (count > 0) return undefined;
      script.committed = offset; // as the broker has it after the commit
      return pulled(offset, MOVED);
    },
  };
  return withScript(script, async ({ sim, consumer, pulls, commits }) => {
    collect(consumer());
    await sim.run(() => pulls.length === 2);
    expect(pulls.map(({ queueOffset }) => queueOffset)).toEqual([500, offset]);
    expect(commits).toEqual([offset]);
  })();
});

test(
  "consumer-7: the next offset is taken when nothing was delivered, and committed",
  withScript({
    pull: (_, count) => [pulled(500, NO_MATCH), pulled(503, NO_MATCH), pulled(503, NONE)][count],
  }, async ({ sim, consumer, pulls, commits }) => {
    collect(consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }));
    await sim.run(() => pulls.length === 4);
    expect(pulls.map(({ queueOffset }) => queueOffset)).toEqual([0, 500, 503, 503]);
    await sim.run(() => commits.length > 0);
    expect(commits.at(-1)).toBe(503);
  }),
);

test("an offset that is corrected again and again is asked for less and less often, until a message comes", () => {
  const at: number[] = [];
  let isHealthy = false;
  return withScript({
    committed: 500,
    pull({ queueOffset }) {
      if (!isHealthy) return pulled(500, MOVED);
      return queueOffset > 500 ? pulled(500, MOVED) : pulled(501, 0, record(500, "back"));
    },
  }, async ({ sim, consumer, pulls }) => {
    const seen = collect(consumer());
    for (let i = 1; i <= 7; i++) {
      await sim.run(() => pulls.length === i);
      at.push(sim.now);
    }
    const gaps = at.slice(1).map((time, index) => Math.round((time - at[index]!) / 1_000));
    expect(gaps).toEqual([1, 2, 4, 8, 10, 10]);
    isHealthy = true;
    await sim.run(() => seen.length === 1);
    // A message has come: the next correction rests a second again.
    const count = pulls.length, back = sim.now;
    await sim.run(() => pulls.length > count && seen.length === 2);
    expect(sim.now - back).toBeLessThan(1_500);
  })();
});

test("a negative offset is never pulled or committed", () => {
  const script = {
    committed: 500,
    pull: (_: unknown, count: number) => {
      script.committed = 0;
      return count === 0 ? pulled(-7, MOVED) : count === 1 ? pulled(-3, NONE) : undefined;
    },
  };
  return withScript(script, async ({ sim, consumer, pulls, commits }) => {
    collect(consumer());
    await sim.run(() => pulls.length === 3);
    await sim.run(10_000);
    expect(pulls.map(({ queueOffset }) => queueOffset)).toEqual([500, 0, 0]);
    expect(commits.every((offset) => offset === 0)).toBe(true);
  })();
});

describe("offsets of 2^53 and more", () => {
  const HUGE = 2n ** 53n;

  test.each([2n ** 53n, 2n ** 62n, 2n ** 63n - 1n])(
    "a record at %i harms neither its neighbours nor the commits",
    (huge) =>
      withScript({
        pull: ({ queueOffset }, count) =>
          [
            () => pulled(2, 0, concat([record(0, "zero"), record(1, "huge", { queueOffset: huge }), record(1, "one")])),
            () => pulled(3, 0, record(queueOffset, "two")),
            () => pulled(3, NONE),
          ][count]?.(),
      }, async ({ sim, consumer, pulls, commits }) => {
        const seen = collect(consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }));
        await sim.run(() => pulls.length === 4);
        expect(seen.map(({ body }) => body).sort()).toEqual(["huge", "one", "two", "zero"]);
        expect(pulls.map(({ queueOffset }) => queueOffset)).toEqual([0, 2, 3, 3]);
        await sim.run(() => commits.at(-1) === 3);
        expect(Math.max(...commits)).toBe(3);
      })(),
  );

  test("an inner batch at one does not move the queue there", () =>
    withScript({
      pull: ({ queueOffset }, count) =>
        [
          () => pulled(1, 0, concat([record(0, "x", { queueOffset: HUGE, sysFlag: 0xc1 }), record(0, "zero")])),
          () => pulled(2, 0, record(queueOffset, "one")),
          () => pulled(2, NONE),
        ][count]?.(),
    }, async ({ sim, consumer, pulls, commits }) => {
      const seen: string[] = [];
      void consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }).run({
        eachMessage: (message) => void (message.queueOffset < HUGE && seen.push(message.body)),
      });
      await sim.run(() => pulls.length === 4);
      expect(pulls.map(({ queueOffset }) => queueOffset)).toEqual([0, 1, 2, 2]);
      expect(seen).toEqual(["zero", "one"]);
      await sim.run(() => commits.at(-1) === 2);
    })());

  test.each<[string, Script, ConsumeFromWhere]>([
    ["committed", { committed: HUGE }, "CONSUME_FROM_LAST_OFFSET"],
    ["the highest", { maxOffset: HUGE }, "CONSUME_FROM_LAST_OFFSET"],
    ["found by time", { searched: HUGE }, { timestamp: 5 }],
  ])(
    "that are %s are refused, and asked for again",
    (_, script, consumeFromWhere) =>
      withScript(script, async ({ sim, consumer, pulls, errors }) => {
        collect(consumer({ consumeFromWhere }));
        await sim.run(() => errors.length === 2, 10_000);
        for (const error of errors) {
          expect(error).toBeInstanceOf(FrameError);
          expect(error.message).toContain("below 2^53");
        }
        expect(pulls).toEqual([]);
      })(),
  );
});

test.each<[string, (offset: number) => Uint8Array]>([
  ["empty", () => new Uint8Array(0)],
  ["an offset that was consumed", () => record(4, "old")],
  ["the same message again", () => record(5, "again")],
  ["a bad checksum", () => record(5, "bad", { bodyCRC: 7 })],
  ["a broken record", () => record(5, "broken").fill(0, 4, 8)],
])(
  "answers of success that stand still, with %s, are not asked for without pause",
  (_, body) =>
    withScript(
      { committed: 5, pull: ({ queueOffset }) => pulled(queueOffset, 0, body(queueOffset)) },
      async (world) => {
        const { sim, consumer, pulls } = world;
        collect(consumer());
        await sim.run(10_000);
        expect(pulls.length).toBeGreaterThan(50);
        expect(pulls.length).toBeLessThan(110);
      },
    )(),
);

test("properties say where the queue began and ended, over what the record says", () =>
  withScript({
    pull: (_, count) =>
      count > 0 ? undefined : pulled(
        2,
        0,
        concat([
          record(0, "one", { properties: encodeProperties({ a: "1", MAX_OFFSET: "7" }) }),
          record(1, "two", { bodyCRC: 3 }),
        ]),
      ),
  }, async ({ sim, consumer }) => {
    const seen = collect(consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }));
    await sim.run(() => seen.length === 2);
    const bounds = { MIN_OFFSET: "0", MAX_OFFSET: "1000000" };
    expect({ ...seen[0]!.properties }).toEqual({ a: "1", ...bounds });
    expect({ ...seen[0]!.retain().properties }).toEqual({ a: "1", ...bounds });
    expect({ ...seen[1]!.properties }).toEqual(bounds);
  })());

test(
  "a broker that does not hold pulls is not asked without pause",
  withScript({ pull: () => pulled(0, NONE) }, async ({ sim, consumer, pulls }) => {
    collect(consumer());
    await sim.run(10_000);
    expect(pulls.length).toBeLessThan(110);
  }),
);

test(
  "consumer-12: an idle poll is held 15 s, in ms, below the client's own limit, and is no error",
  withScript({}, async ({ sim, consumer, pulls, errors }) => {
    collect(consumer());
    await sim.run(() => pulls.length === 1);
    expect(pulls[0]).toMatchObject({ suspendTimeoutMillis: 15_000, sysFlag: 2 });
    await sim.run(20_000);
    expect(errors).toEqual([]);
  }),
);

// Where a runtime has a checksum of its own, that compares long bodies.
test.each([0, 3_000])(
  "a bad record of %i bytes more is reported once and handed over without a body, and the others are delivered and committed",
  (more) =>
    withScript({
      pull(_, count) {
        if (count > 0) return undefined;
        const records = ["one", "two", "three"].map((body, offset) => record(offset, body + " ".repeat(more)));
        const bad = records[1]!;
        bad[bad.lastIndexOf("w".charCodeAt(0))]! ^= 1; // in its body
        return pulled(3, 0, concat(records));
      },
    }, async ({ sim, consumer, errors, commits }) => {
      const seen = collect(consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }));
      await sim.run(() => seen.length === 3);
      await sim.run(() => commits.length > 0);
      expect([seen[0]!.body, seen[2]!.body].map((body) => (body as string).trimEnd())).toEqual(["one", "three"]);
      expect(() => seen[1]!.body).toThrow(FrameError);
      expect(() => seen[1]!.rawBody()).toThrow("offset 1 does not match its checksum");
      expect(() => seen[1]!.retain().body).toThrow(FrameError);
      expect(seen[1]!.queueOffset).toBe(1n);
      expect(errors.length).toBe(1);
      expect(errors[0]).toBeInstanceOf(FrameError);
      expect(errors[0]!.message).toContain("offset 1");
      expect(commits.at(-1)).toBe(3);
    })(),
);

test(
  "with checkCrc off the same record is delivered",
  withScript({
    pull: (_, count) => count > 0 ? undefined : pulled(1, 0, record(0, "one", { bodyCRC: 7 })),
  }, async ({ sim, consumer, errors }) => {
    const options = { consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET", checkCrc: false } as const;
    const seen = collect(consumer(options));
    await sim.run(() => seen.length === 1);
    expect([seen[0]!.body, errors]).toEqual(["one", []]);
  }),
);

test(
  "consumer-6: a message of the retry topic shows its original topic, or the retry topic when it names none",
  withScript({
    pull(_, count) {
      if (count > 0) return undefined;
      const topic = "%RETRY%billing";
      return pulled(
        2,
        0,
        concat([
          record(0, "known", { topic, properties: encodeProperties({ RETRY_TOPIC: "Bills" }), reconsumeTimes: 1 }),
          record(1, "unknown", { topic, reconsumeTimes: 2 }),
        ]),
      );
    },
  }, async ({ sim, consumer }) => {
    const seen = collect(consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }));
    await sim.run(() => seen.length === 2);
    expect(seen.map(({ topic, reconsumeTimes }) => [topic, reconsumeTimes])).toEqual([
      ["Bills", 1],
      ["%RETRY%billing", 2],
    ]);
  }),
);

test(
  "a refused pull is reported and tried again a second later; a busy broker soon",
  withScript({
    pull: (_, count) => [{ code: 1, remark: "ill" }, { code: 215, remark: "busy" }][count],
  }, async ({ sim, consumer, pulls, errors }) => {
    collect(consumer());
    await sim.run(() => pulls.length === 1);
    const first = sim.now;
    await sim.run(() => pulls.length === 2);
    expect(sim.now - first).toBeGreaterThanOrEqual(1_000);
    const second = sim.now;
    await sim.run(() => pulls.length === 3);
    expect(sim.now - second).toBeLessThan(100);
    expect(errors.map((error) => (error as { responseCode?: number }).responseCode)).toEqual([1, 215]);
  }),
);

test(
  "consumer-14 and -15: heartbeats come at once and every 30 s, with the broker's own words",
  withScript({}, async ({ sim, consumer, heartbeats }) => {
    collect(consumer());
    await sim.run(120_000);
    const gaps = heartbeats.map(({ at }, index) => at - (heartbeats[index - 1]?.at ?? 0));
    expect(gaps[0]).toBeLessThan(100);
    expect(Math.max(...gaps)).toBeLessThan(30_100);
    for (const word of ["CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_LAST_OFFSET"]) {
      expect(heartbeats.at(-1)!.json).toContain(`"${word}"`);
    }
  }),
);

test.each([[NO_MATCH, "20"], [NONE, "19"], [0, "0, with nothing"]])(
  "an answer %i that leads nowhere is not asked for again without pause",
  (code) =>
    withScript({ committed: 5, pull: ({ queueOffset }) => pulled(queueOffset, code) }, async (world) => {
      const { sim, consumer, pulls } = world;
      collect(consumer());
      await sim.run(10_000);
      expect(pulls.length).toBeGreaterThan(50);
      expect(pulls.length).toBeLessThan(110);
    })(),
);

test(
  "answers that lead on are followed at once",
  withScript({
    committed: 5,
    pull: ({ queueOffset }) => queueOffset < 500 ? pulled(queueOffset + 1, NO_MATCH) : undefined,
  }, async ({ sim, consumer, pulls }) => {
    collect(consumer());
    await sim.run(() => pulls.at(-1)?.queueOffset === 500);
    expect(sim.now).toBeLessThan(4_000);
  }),
);

describe("credits", () => {
  test("more queues than credits: none waits long, and idle traffic stays low", () =>
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer({ coreMemory: 2 });
      let at = 0;
      void member.run({ eachMessage: () => void (at = sim.now) });
      await sim.run(member.start());
      const sender = producer();
      const queues = await sim.run(sender.fetchPublishMessageQueues(TOPIC));
      const late: number[] = [];
      // Also right after the start, when the first pulls have just been sent.
      for (const index of [5, 2, 7, 0, 3, 6, 1, 4]) {
        const sent = sim.now;
        at = 0;
        await sim.run(sender.send({ topic: TOPIC, body: "x" }, { queue: queues[index]! }));
        await sim.run(() => at > 0);
        late.push(at - sent);
        await sim.run(1_000);
      }
      expect(Math.max(...late)).toBeLessThan(1_200);
      const before = member.stats().bytesOut;
      await sim.run(60_000);
      // Nine queues, of which six are asked once a second with some 300 bytes.
      expect(Number(member.stats().bytesOut - before)).toBeLessThan(60 * 9 * 500);
    }, { topics: { [TOPIC]: { queues: 8 } } })());

  test("as many queues as there may be long polls: every message comes at once", () =>
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer({ coreMemory: 4 });
      let at = 0;
      void member.run({ eachMessage: () => void (at = sim.now) });
      await sim.run(member.start());
      await sim.run(500);
      const sender = producer();
      for (let i = 0; i < 12; i++) {
        const sent = sim.now;
        at = 0;
        await sim.run(sendAll(sender, 1, i));
        await sim.run(() => at > 0);
        expect(at - sent).toBeLessThan(50);
        await sim.run(3_000);
      }
    }, { topics: { [TOPIC]: { queues: 6 } } })());

  test("a queue that waits for its credit for minutes is not given up", () =>
    inCluster(async ({ sim, cluster, producer, consumer, errors }) => {
      const member = consumer({ coreMemory: 2 });
      const seen = collect(member);
      await sim.run(member.start());
      let changes = 0;
      member.on("rebalance", () => void changes++);
      // Four credits, 14 s or 29 s each, for 33 queues: each waits for more than three minutes.
      const undo = cluster.fault({ code: RequestCode.PULL_MESSAGE, action: { delay: 14_000 } });
      await sim.run(600_000);
      expect(changes).toBe(0);
      undo();
      errors.length = 0;
      await sim.run(sendAll(producer(), 32));
      await sim.run(() => seen.length === 32);
      expect(errors).toEqual([]);
    }, { topics: { [TOPIC]: { queues: 32 } } })());

  test.each([[2, 4, 3], [16, 32, 28], [128, 256, 224], [1_024, 2_048, 1_792]])(
    "of %i MiB are %i, of which %i may wait at brokers, in whatever order they come and go",
    (mib, count, long) => {
      const credits = new Credits(mib), random = new Random(mib);
      const out: boolean[] = [], order: number[] = [];
      let asked = 0;
      const take = () => {
        const number = asked++;
        credits.take((mayWait) => {
          out.push(mayWait);
          order.push(number);
        });
      };
      const give = () => credits.give(out.splice(random.below(out.length), 1)[0]!);
      for (let step = 0; step < 20_000; step++) {
        if (out.length === 0 || random.below(100) < (step % 2_000 < 1_000 ? 70 : 30)) take();
        else give();
        const waiting = asked - order.length;
        expect(out.length <= count && (waiting === 0 || out.length === count)).toBe(true);
        expect(out.filter((mayWait) => mayWait).length).toBeLessThanOrEqual(long);
      }
      while (out.length > 0) give();
      for (let i = 0; i < count + 5; i++) take();
      expect([out.length, out.filter((mayWait) => mayWait).length]).toEqual([count, long]);
      expect(order).toEqual(order.map((_, index) => index));
    },
  );
});

describe("a pull whose broker has no address", () => {
  test("asks for the route at once, and goes on as soon as it says one", async () => {
    using sim = new Simulation(4);
    const pulls: number[] = [];
    let clientIDs: string[] = [];
    const world = await scripted(sim, {
      a: {
        queues: 1,
        onOther(request, connection) {
          if (request.code === RequestCode.HEART_BEAT) clientIDs = [decodeHeartbeat(request.body).clientID];
          if (request.code === RequestCode.GET_CONSUMER_LIST_BY_GROUP) {
            connection.answer(request, { body: encodeConsumerList(clientIDs) });
          } else if (request.code === RequestCode.QUERY_CONSUMER_OFFSET) {
            connection.answer(request, { extFields: encodeOffset(0) });
          } else if (request.code === RequestCode.PULL_MESSAGE) {
            if (decodePullRequest(request.extFields).topic !== TOPIC) return true;
            pulls.push(sim.now);
            if (pulls.length === 1) sim.clock.setTimer(5_000, () => connection.answer(request, pulled(0, NONE)));
          } else {
            return false;
          }
          return true;
        },
      },
    });
    const errors: RocketMQError[] = [];
    const consumer = createPushConsumerOn(sim.host(), {
      namesrvAddr: world.namesrvAddr,
      consumerGroup: GROUP,
      subscriptions: { [TOPIC]: "*" },
      coreMemory: 8,
      pollNameServerInterval: 3_000,
      onError: (error) => void errors.push(error),
    });
    void consumer.run({ eachMessage() {} });
    await sim.run(() => pulls.length === 1);
    const whole = world.route!;
    world.route = { ...whole, brokerDatas: [] };
    // The client hears of that with its next refresh; its pull is answered after it.
    await sim.run(4_900);
    const { nameServer } = world;
    const routesAsked = () =>
      nameServer.connections.flatMap(({ requests }) => requests).filter(({ extFields }) => extFields["topic"] === TOPIC)
        .length;
    const asked = routesAsked();
    await sim.run(200);
    expect(routesAsked() - asked).toBe(1);
    expect(errors.map(({ code, topic }) => `${code} ${topic}`)).toEqual([`ROCKETMQ_ROUTE ${TOPIC}`]);
    world.route = whole;
    const back = sim.now;
    await sim.run(() => pulls.length === 2);
    expect(sim.now - back).toBeLessThan(1_100);
    await sim.run(consumer.shutdown({ timeout: 1_000 }));
    await sim.run(world.close());
  });
});

test(
  "a refused pull's error says address, topic and broker apart",
  withScript({ pull: (_, count) => count === 0 ? { code: 1, remark: "ill" } : undefined }, async (world) => {
    const { sim, consumer, errors } = world;
    collect(consumer());
    await sim.run(() => errors.length === 1);
    const error = errors[0]!;
    expect(error).toMatchObject({ code: "ROCKETMQ_BROKER", topic: TOPIC, brokerName: "a" });
    expect(error.addr).toMatch(/^10\.8\.0\.1:\d+$/);
    expect(error.toJSON()).toMatchObject({ addr: error.addr, topic: TOPIC, brokerName: "a", remark: "ill" });
  }),
);
