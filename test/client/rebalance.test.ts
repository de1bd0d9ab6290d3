import { describe, expect, test } from "vitest";
import type { AllocateStrategy } from "../../client/allocate.ts";
import { text } from "../../client/body_codec.ts";
import type { PushConsumer } from "../../client/consumer/push_consumer.ts";
import { allocate } from "../../client/consumer/rebalance.ts";
import type { ConsumerEvents } from "../../client/events.ts";
import { ONEWAY_FLAG, RequestCode, RESPONSE_FLAG, ResponseCode } from "../../client/protocol/codes.ts";
import { encodeCommand, type RemotingCommand } from "../../client/protocol/command.ts";
import { encodeConsumerList } from "../../client/protocol/consumer_list.ts";
import { decodeHeartbeat } from "../../client/protocol/heartbeat.ts";
import { isRetryTopic } from "../../client/protocol/names.ts";
import { encodeOffset } from "../../client/protocol/offsets.ts";
import type { TopicRouteData } from "../../client/protocol/route.ts";
import { BrokerOffsetStore } from "../../client/consumer/offset_store.ts";
import { Instance } from "../../client/instance.ts";
import { resolveClientOptions } from "../../client/options.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import { openCore } from "../support/core.ts";
import { concat } from "../support/frames.ts";
import { Simulation } from "../support/sim.ts";
import { scripted } from "./scripted_broker.ts";
import { pulled, record, withScript } from "./scripted_consumer.ts";
import { collect, GROUP, inCluster, numbers, sendAll, sorted, TOPIC } from "./world.ts";

/** Queues of the topic itself, not of the retry topic. */
const held = (consumer: PushConsumer<string>): number[] =>
  consumer.assignment().filter(({ topic }) => topic === TOPIC).map(({ queueId }) => queueId);

/** That members have changed, and the answer right behind it: one run of bytes. */
const noticeAndAnswer = ({ opaque }: RemotingCommand): Uint8Array =>
  concat([
    encodeCommand({
      code: RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
      opaque: 1,
      flag: ONEWAY_FLAG,
      extFields: { consumerGroup: GROUP },
      serializeType: "JSON",
    }),
    encodeCommand({ code: 0, opaque, flag: RESPONSE_FLAG, extFields: encodeOffset(0), serializeType: "JSON" }),
  ]);

test("members that change as a rebalance ends are asked for again at once", async () => {
  using sim = new Simulation(3);
  let clientId = "";
  /** When the broker was asked who is in the group. */
  const asked: number[] = [];
  const world = await scripted(sim, {
    a: {
      queues: 1,
      onOther(request, connection) {
        const { code, extFields, body } = request;
        if (code === RequestCode.HEART_BEAT) clientId = decodeHeartbeat(body).clientID;
        if (code === RequestCode.GET_CONSUMER_LIST_BY_GROUP) {
          asked.push(sim.now);
          connection.answer(request, { body: encodeConsumerList([clientId]) });
          return true;
        }
        // The offset of the retry topic is the last thing that the first run waits for.
        if (code === RequestCode.QUERY_CONSUMER_OFFSET) {
          if (isRetryTopic(extFields["topic"]!)) connection.write(noticeAndAnswer(request));
          else connection.answer(request, { extFields: encodeOffset(0) });
          return true;
        }
        return code === RequestCode.PULL_MESSAGE;
      },
    },
  });
  const consumer = createPushConsumerOn(sim.host(), {
    namesrvAddr: world.namesrvAddr,
    consumerGroup: GROUP,
    codec: text,
    subscriptions: { [TOPIC]: "*" },
    coreMemory: 16,
  });
  await sim.run(consumer.start());
  const runs = asked.length;
  await sim.run(500);
  expect(asked.length).toBeGreaterThan(runs);
  await sim.run(consumer.shutdown({ timeout: 1_000 }));
  await sim.run(world.close());
});

test(
  "rebalance-5: a new subscription is announced before it is pulled, and what only it wants is not passed by",
  inCluster(async ({ sim, producer, consumer, errors }) => {
    const member = consumer({ subscriptions: { [TOPIC]: "a" } });
    const messages = collect(member);
    const sender = producer();
    await sim.run(sender.send({ topic: TOPIC, tags: "a", body: "old" }));
    await sim.run(() => messages.length === 1);
    // Every queue's pull waits at the broker now, for tag "a".
    await sim.run(1_000);
    await sim.run(member.subscribe(TOPIC, "a || b"));
    const before = sim.now;
    await sim.run(Promise.all(
      Array.from({ length: 8 }, (_, i) => sender.send({ topic: TOPIC, tags: i % 2 ? "b" : "a", body: `new ${i}` })),
    ));
    await sim.run(() => messages.length === 9);
    expect(sim.now - before).toBeLessThan(1_000);
    expect(errors).toEqual([]);
  }),
);

test(
  "two subscriptions at a time leave one pull loop for each queue",
  inCluster(async ({ sim, producer, consumer }) => {
    const member = consumer({ subscriptions: { [TOPIC]: "a" } });
    const messages = collect(member);
    await sim.run(member.start());
    await sim.run(Promise.all([member.subscribe(TOPIC, "a || b"), member.subscribe(TOPIC, "b")]));
    await sim.run(producer().send({ topic: TOPIC, tags: "b", body: "once" }));
    await sim.run(20_000);
    expect(messages.map(({ body }) => body)).toEqual(["once"]);
    // Four queues of the topic and one of the retry topic wait at the broker.
    expect(member.stats().inFlight).toBe(5);
  }),
);

test(
  "a consumer that pauses keeps its queues, however long",
  inCluster(async ({ sim, producer, consumer }) => {
    const member = consumer();
    const messages = collect(member);
    await sim.run(member.start());
    const queues = member.assignment();
    let changes = 0;
    member.on("rebalance", () => changes++);
    member.pause(queues);
    // The pulls that wait at the broker end first.
    await sim.run(20_000);
    await sim.run(producer().send({ topic: TOPIC, body: "later" }));
    await sim.run(300_000);
    expect([messages.length, changes]).toEqual([0, 0]);
    expect(member.assignment()).toEqual(queues);
    member.resume(queues);
    await sim.run(() => messages.length === 1);
  }),
);

test(
  "offset-4: commits go to the master, wherever the route names it; without one they wait",
  async () => {
    using sim = new Simulation(9);
    const commits: string[] = [];
    const onOther = (name: string) => (request: RemotingCommand): boolean => {
      if (request.code === RequestCode.UPDATE_CONSUMER_OFFSET) {
        commits.push(`${name} ${request.extFields["commitOffset"]}`);
      }
      return false;
    };
    const world = await scripted(sim, { slave: { onOther: onOther("slave") }, master: { onOther: onOther("master") } });
    const [slave, master] = world.route!.brokerDatas.map(({ brokerAddrs }) => brokerAddrs.get(0)!);
    const [queueData] = world.route!.queueDatas;
    const routeOf = (...addrs: [number, string][]): TopicRouteData => ({
      brokerDatas: [{ brokerName: "b", cluster: "c", brokerAddrs: new Map(addrs) }],
      queueDatas: [{ ...queueData!, brokerName: "b" }],
    });
    world.route = routeOf([1, slave!], [0, master!]);
    const instance = new Instance(
      sim.host(),
      resolveClientOptions({ namesrvAddr: world.namesrvAddr, coreMemory: 8, onError: () => {} }),
    );
    await sim.run(instance.start(3_000));
    const queue = (await sim.run(instance.routes.update(TOPIC))).subscribeQueues[0]!;
    const store = new BrokerOffsetStore(instance, GROUP);
    store.update(queue, 5, true);
    await sim.run(store.persist([queue]));
    world.route = routeOf([1, slave!]);
    await sim.run(instance.routes.update(TOPIC));
    store.update(queue, 6, true);
    await sim.run(store.persist([queue]));
    world.route = routeOf([1, slave!], [0, master!]);
    await sim.run(instance.routes.update(TOPIC));
    await sim.run(store.persist([queue]));
    expect(commits).toEqual(["master 5", "master 6"]);
    await sim.run(instance.close());
    await sim.run(world.close());
  },
);

test(
  "a broker that was away hears offsets again that have not moved",
  withScript({
    pull: (_, count) => count === 0 ? pulled(1, 0, record(0, "one")) : undefined,
  }, async ({ sim, consumer, commits }) => {
    const messages = collect(consumer({ persistConsumerOffsetInterval: 1_000 }));
    await sim.run(() => messages.length === 1 && commits.length === 1);
    await sim.run(5_000);
    expect(commits).toEqual([1]);
    sim.network.cut();
    await sim.run(() => commits.length === 2);
    expect(commits).toEqual([1, 1]);
  }),
);

const ROOMS: AllocateStrategy = { name: "MACHINE_ROOM_NEARBY", inner: "AVG_BY_CIRCLE", roomOf: () => "here" };

test.each<[name: string, strategy: AllocateStrategy]>([
  ["AVG_BY_CIRCLE", "AVG_BY_CIRCLE"],
  ["CONSISTENT_HASH", "CONSISTENT_HASH"],
  ["MACHINE_ROOM_NEARBY", ROOMS],
  // A user's strategy may say a queue in its own words, and queues of other topics.
  ["MINE", {
    name: "MINE",
    allocate: (_, clientId, queues, clientIds) => [
      ...queues.filter(({ queueId }) => queueId % clientIds.length === clientIds.indexOf(clientId)).map((queue) => ({
        ...queue,
      })),
      { topic: "Others", brokerName: "broker-a", queueId: 0 },
    ],
  }],
])(
  "members with the strategy %s share all queues, and each message is consumed once",
  (_, strategy) =>
    inCluster(async ({ sim, producer, consumer, errors }) => {
      const members = [1, 2, 3].map(() => consumer({ allocateMessageQueueStrategy: strategy }));
      const seen = members.map((member) => collect(member, errors));
      await sim.run(Promise.all(members.map((member) => member.start())));
      const held = () => members.map((member) => member.assignment().filter(({ topic }) => topic === TOPIC));
      await sim.run(() =>
        held().flat().length === 4 && new Set(held().flat().map(({ queueId }) => queueId)).size === 4
      );
      const sender = producer();
      await sim.run(sendAll(sender, 40));
      await sim.run(() => seen.flat().length >= 40);
      expect(sorted(seen.flat().map(({ body }) => body))).toEqual(numbers(40));
      for (const [index, messages] of seen.entries()) {
        const own = new Set(held()[index]!.map(({ queueId }) => queueId));
        expect(messages.every(({ queueId }) => own.has(queueId))).toBe(true);
      }
      expect(errors).toEqual([]);
    })(),
);

test(
  "a member with the strategy CONFIG takes the queues it was given, whoever else is there, and no others",
  inCluster(async ({ sim, consumer, errors }) => {
    const given = (ids: readonly number[]) => ids.map((queueId) => ({ topic: TOPIC, brokerName: "broker-a", queueId }));
    const members = [[0, 2, 9], [1]].map((ids) =>
      consumer({ allocateMessageQueueStrategy: { name: "CONFIG", queues: given(ids) } })
    );
    for (const member of members) collect(member, errors);
    await sim.run(Promise.all(members.map((member) => member.start())));
    await sim.run(30_000);
    // Queue 9 does not exist.
    expect(members.map((member) => member.assignment().map(({ queueId }) => queueId))).toEqual([[0, 2], [1]]);
    expect(errors).toEqual([]);
  }),
);

test(
  "a strategy that throws is reported, and what was held stays",
  inCluster(async ({ sim, consumer, errors }) => {
    let isBroken = false;
    const member = consumer({
      allocateMessageQueueStrategy: {
        name: "MINE",
        allocate(_group, _clientId, queues) {
          if (isBroken) throw new Error("no luck");
          return queues;
        },
      },
    });
    const unseen: unknown[] = [];
    collect(member, unseen);
    await sim.run(member.start());
    await sim.run(() => member.assignment().length >= 4);
    const before = member.assignment();
    isBroken = true;
    await sim.run(21_000);
    expect(errors.length).toBeGreaterThan(0);
    expect(member.assignment()).toEqual(before);
  }),
);
test(
  "a subscription that changes after the clock was set back is taken by the broker",
  inCluster(async ({ sim, producer, consumer }) => {
    const member = consumer({ subscriptions: { [TOPIC]: "a" } });
    const messages = collect(member);
    await sim.run(member.start());
    const { clock } = (member as unknown as { instance: Instance }).instance.host;
    const now = clock.now.bind(clock);
    clock.now = () => now() - 60_000;
    await sim.run(member.subscribe(TOPIC, "b"));
    await sim.run(member.subscribe(TOPIC, "a || b"));
    clock.now = now;
    const sender = producer();
    for (const tags of ["a", "b", "a", "b"]) await sim.run(sender.send({ topic: TOPIC, body: tags, tags }));
    await sim.run(5_000);
    expect(messages.map(({ body }) => body).sort()).toEqual(["a", "a", "b", "b"]);
  }),
);

describe("queues that are given up", () => {
  const eight = { topics: { [TOPIC]: { queues: 8 } } };

  test(
    "go together, while the broker takes no offsets; nobody waits for that",
    inCluster(async ({ sim, cluster, producer, consumer }) => {
      const first = consumer();
      const seen = collect(first);
      await sim.run(first.start());
      const sender = producer();
      for (let i = 0; i < 16; i++) await sim.run(sender.send({ topic: TOPIC, body: String(i) }));
      await sim.run(() => seen.length === 16);
      cluster.fault({ code: RequestCode.UPDATE_CONSUMER_OFFSET, action: "drop" });
      const started = sim.now;
      const second = consumer();
      collect(second);
      await sim.run(second.start());
      await sim.run(() => held(first).length === 4 && held(second).length === 4);
      expect(sim.now - started).toBeLessThan(100);
    }, eight),
  );

  test(
    "are committed: the next owner does not get again what is finished",
    inCluster(async ({ sim, producer, consumer }) => {
      const first = consumer({ persistConsumerOffsetInterval: 600_000 });
      const seen = collect(first);
      await sim.run(first.start());
      await sim.run(sendAll(producer(), 40));
      await sim.run(() => seen.length === 40);
      const second = consumer();
      const others = collect(second);
      await sim.run(() => held(second).length === 4);
      await sim.run(10_000);
      await sim.run(first.shutdown());
      await sim.run(() => held(second).length === 8);
      await sim.run(10_000);
      // Whoever takes a queue while its offset is on the way begins at the old one.
      expect(new Set(others.map(({ body }) => body)).size).toBe(others.length);
      await sim.run(sendAll(producer(), 8, 40));
      await sim.run(() => others.some(({ body }) => body === "47"));
    }, eight),
  );

  test(
    "unsubscribe() gives its queues up at once, with an event; what a pull brings that waits is not handed on",
    inCluster(async ({ sim, cluster, producer, consumer }) => {
      const member = consumer();
      const messages = collect(member);
      await sim.run(member.start());
      await sim.run(500);
      const events: ConsumerEvents["rebalance"][] = [];
      member.on("rebalance", (event) => void events.push(event));
      cluster.fault({ code: RequestCode.HEART_BEAT, action: { delay: 1_000 } });
      const leaving = member.unsubscribe(TOPIC);
      expect(held(member)).toEqual([]);
      expect(events).toEqual([{ topic: TOPIC, assigned: [], revoked: expect.any(Array) }]);
      expect(events[0]!.revoked.length).toBe(4);
      await sim.run(sendAll(producer(), 4));
      await sim.run(leaving);
      expect(messages).toEqual([]);
    }),
  );

  test(
    "for an offset that moved are told, and told again when they are taken",
    withScript({
      committed: 500,
      pull: (_, count) => count === 0 ? pulled(10, ResponseCode.PULL_OFFSET_MOVED) : undefined,
    }, async ({ sim, consumer, pulls }) => {
      const member = consumer();
      const events: string[] = [];
      member.on("rebalance", ({ topic, assigned, revoked }) => {
        if (topic === TOPIC) events.push(`${assigned.length} assigned, ${revoked.length} revoked`);
      });
      collect(member);
      await sim.run(() => pulls.length === 2);
      await sim.run(100);
      expect(events).toEqual(["1 assigned, 0 revoked", "0 assigned, 1 revoked", "1 assigned, 0 revoked"]);
    }),
  );
});

test("a client that the broker lists twice counts twice, as with every Java member", () => {
  const core = openCore(2);
  const queues = Array.from({ length: 9 }, (_, queueId) => ({ topic: TOPIC, brokerName: "b", queueId }));
  const share = (clientId: string) =>
    allocate({ core, clientId } as Instance, "AVG", GROUP, queues, ["C", "A", "B", "A"])
      .map(({ queueId }) => queueId);
  // Java: four members, so that A has the first of two shares, and nobody the second.
  expect([share("A"), share("B"), share("C")]).toEqual([[0, 1, 2], [5, 6], [7, 8]]);
});
