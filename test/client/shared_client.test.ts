import { expect, test } from "vitest";
import { text } from "../../client/body_codec.ts";
import { ArgumentError, ClosedError } from "../../client/errors.ts";
import { createClientOn, type SharedClient } from "../../client/shared_client.ts";
import { collect, failure, GROUP, inCluster, numbers, sendAll, sorted, TOPIC, type World } from "./world.ts";

const client = ({ sim, cluster }: World): SharedClient =>
  createClientOn(sim.host("client"), { namesrvAddr: cluster.namesrvAddr, instanceName: "one", coreMemory: 16 });

const CONSUMER = {
  consumerGroup: GROUP,
  codec: text,
  consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
  subscriptions: { [TOPIC]: "*" },
} as const;

test(
  "connection-22: a member's end is its own, and a client with the same ids can be made again",
  inCluster(async (world) => {
    const { sim } = world;
    const ids = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const shared = client(world);
      const sender = shared.createProducer({ codec: text }), other = shared.createProducer({ codec: text });
      const consumer = shared.createPushConsumer(CONSUMER);
      const seen = collect(consumer);
      await sim.run(sendAll(sender, 10));
      await sim.run(() => seen.length === 10);
      await sim.run(sender.shutdown());
      expect(await failure(sender.send({ topic: TOPIC, body: "late" }))).toBeInstanceOf(ClosedError);
      await sim.run(sendAll(other, 10, 10));
      await sim.run(() => seen.length === 20);
      await sim.run(60_000);
      await sim.run(sendAll(other, 10, 20));
      await sim.run(() => seen.length === 30);
      expect(sorted(seen.map(({ body }) => body))).toEqual(numbers(30));
      expect([sender.clientId, consumer.clientId]).toEqual([shared.clientId, shared.clientId]);
      ids.add(shared.clientId.split("@")[1]!);
      await sim.run(shared.shutdown());
      expect([shared.state, other.state, consumer.state]).toEqual(["closed", "closed", "closed"]);
      expect(shared.stats()).toMatchObject({ connections: 0, inFlight: 0 });
    }
    expect(ids).toEqual(new Set(["one"]));
  }),
);

test(
  "connection-22: a consumer that ended can be followed by another of its group on the same client",
  inCluster(async (world) => {
    const { sim } = world;
    const shared = client(world);
    const sender = shared.createProducer({ codec: text });
    for (let round = 0; round < 3; round++) {
      const consumer = shared.createPushConsumer(CONSUMER);
      expect(() => shared.createPushConsumer(CONSUMER)).toThrow(ArgumentError);
      const seen = collect(consumer);
      await sim.run(sendAll(sender, 5, round * 5));
      await sim.run(() => seen.length === 5);
      expect(sorted(seen.map(({ body }) => body))).toEqual(numbers(5, round * 5));
      await sim.run(consumer.shutdown());
    }
    await sim.run(shared.shutdown());
  }),
);

test(
  "members share the connections",
  inCluster(async (world) => {
    const { sim } = world;
    const shared = client(world);
    const producers = numbers(5).map(() => shared.createProducer({ codec: text }));
    await sim.run(Promise.all(producers.map((producer) => sendAll(producer, 3))));
    expect(shared.stats().connections).toBe(2);
    await sim.run(shared.shutdown());
    expect(() => shared.createProducer()).toThrow(ClosedError);
  }),
);

test(
  "a shared client shuts down inside one of its handlers",
  inCluster(async (world) => {
    const { sim } = world;
    const shared = client(world);
    const consumer = shared.createPushConsumer(CONSUMER);
    const running = consumer.run({ eachMessage: () => shared.shutdown() });
    await sim.run(sendAll(shared.createProducer({ codec: text }), 1));
    const started = sim.now;
    await sim.run(running);
    expect(sim.now - started).toBeLessThan(1_000);
    await sim.run(() => shared.state === "closed");
  }),
);

test(
  "connection-20: the brokers are gone for a minute: few attempts, then traffic goes on by itself",
  inCluster(async (world) => {
    const { sim, producer, consumer } = world;
    const sender = producer(), member = consumer();
    const seen = collect(member);
    await sim.run(sendAll(sender, 10));
    await sim.run(() => seen.length === 10);
    sim.faults.refuse = 1;
    sim.network.cut();
    const before = sim.counts.refusals;
    const failed = failure(sender.send({ topic: TOPIC, body: "lost" }));
    expect((await sim.run(failed)).retryable).toBe(true);
    await sim.run(60_000);
    expect(sim.counts.refusals - before).toBeLessThan(150);
    sim.faults.refuse = 0;
    const back = sim.now;
    let sent = false;
    const sending = (async () => {
      while (!sent) {
        await sender.send({ topic: TOPIC, body: "10" }).then(() => sent = true, () => {});
      }
    })();
    await sim.run(sending);
    await sim.run(() => seen.length === 11);
    expect(sim.now - back).toBeLessThan(40_000);
    await sim.run(sendAll(sender, 9, 11));
    await sim.run(() => seen.length === 20);
    expect(sorted(seen.map(({ body }) => body))).toEqual(numbers(20));
  }),
);

test(
  "a client hears what happens to it before it has started: its members start without it",
  inCluster(async (world) => {
    const { sim } = world;
    const shared = client(world), heard: string[] = [], sibling: string[] = [];
    for (const event of ["connect", "route", "disconnect"] as const) shared.on(event, () => heard.push(event));
    const sender = shared.createProducer({ codec: text }), other = shared.createProducer({ codec: text });
    other.on("connect", () => sibling.push("connect"));
    await sim.run(sendAll(sender, 3));
    expect(heard).toEqual(["connect", "route", "connect"]);
    expect([other.state, sibling]).toEqual(["created", ["connect", "connect"]]);
    await sim.run(shared.shutdown());
  }),
);
