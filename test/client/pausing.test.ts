import { describe, expect, test } from "vitest";
import { ArgumentError } from "../../client/errors.ts";
import type { Instance } from "../../client/instance.ts";
import type { MessageQueue } from "../../client/message.ts";
import { concat } from "../support/frames.ts";
import { pulled, record, withScript } from "./scripted_consumer.ts";
import { collect, inCluster, sendAll, sorted, TOPIC, type World } from "./world.ts";

const queue = (queueId: number): MessageQueue => ({ topic: TOPIC, brokerName: "broker-a", queueId });

/** A consumer with the four queues of the topic, and one message sent to each of them. */
const withQueues = (
  run: (world: World & { queues: readonly MessageQueue[]; seen: number[]; send(): Promise<void> }) => Promise<void>,
  act: (member: ReturnType<World["consumer"]>, queues: readonly MessageQueue[]) => void,
) =>
  inCluster(async (world) => {
    const { sim, consumer, producer } = world;
    const member = consumer(), sender = producer();
    const seen: number[] = [];
    void member.run({ eachMessage: ({ queueId }) => void seen.push(queueId) });
    await sim.run(member.start());
    const queues = member.assignment().filter(({ topic }) => topic === TOPIC);
    // Pulls of all queues wait at the broker.
    await sim.run(500);
    const send = async () => {
      for (const queue of queues) await sender.send({ topic: TOPIC, body: "x" }, { queue });
    };
    act(member, queues);
    await run({ ...world, queues, seen, send });
  });

describe("pause and resume", () => {
  test.each<[string, (queues: readonly MessageQueue[]) => Iterable<MessageQueue> | undefined, number[]]>([
    ["all", () => undefined, []],
    ["its own queue objects", (queues) => queues, []],
    ["equal queues", (queues) => queues.map((each) => ({ ...each })), []],
    ["one queue", () => [queue(2)], [0, 1, 3]],
    ["a set of queues", () => new Set([queue(0), queue(3)]), [1, 2]],
  ])(
    "after a pause of %s, messages of pulls that waited start no handler; resumed they come at once",
    (_, which, open) =>
      withQueues(async ({ sim, seen, send }) => {
        await sim.run(send());
        await sim.run(60_000);
        expect(sorted(seen.map(String))).toEqual(open);
      }, (member, queues) => member.pause(which(queues)))(),
  );

  test(
    "resumed, queues hand out what waited and pull again at once",
    inCluster(async ({ sim, consumer, producer }) => {
      const member = consumer(), sender = producer();
      const seen = collect(member);
      await sim.run(member.start());
      await sim.run(500);
      member.pause();
      await sim.run(sendAll(sender, 8));
      await sim.run(60_000);
      expect(seen).toEqual([]);
      await sim.run(sendAll(sender, 8, 8));
      const resumed = sim.now;
      member.resume();
      await sim.run(() => seen.length === 16);
      expect(sim.now - resumed).toBeLessThan(50);
    }),
  );

  test(
    "a paused queue is not pulled, and no timer runs for it",
    withScript({ pull: (_, count) => count === 0 ? pulled(1, 0, record(0, "one")) : undefined }, async (world) => {
      const { sim, consumer, pulls } = world;
      const member = consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" });
      member.pause();
      const seen = collect(member);
      await sim.run(member.start());
      await sim.run(100_000);
      expect([pulls.length, seen.length]).toEqual([0, 0]);
      member.resume();
      await sim.run(() => seen.length === 1);
      expect(pulls[0]!.queueOffset).toBe(0);
    }),
  );

  test(
    "messages that wait for a handler wait on while paused; one that runs goes on and is settled",
    withScript({
      pull: (_, count) =>
        count === 0 ? pulled(3, 0, concat(["a", "b", "c"].map((body, offset) => record(offset, body)))) : undefined,
    }, async ({ sim, consumer, commits }) => {
      const member = consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET", concurrency: 1 });
      const started: string[] = [];
      let end = (): void => {};
      void member.run({
        eachMessage({ body }) {
          started.push(body);
          return new Promise<void>((resolve) => end = resolve);
        },
      });
      await sim.run(() => started.length === 1);
      member.pause(member.assignment());
      end();
      await sim.run(() => commits.at(-1) === 1);
      await sim.run(10_000);
      expect(started).toEqual(["a"]);
      member.resume();
      await sim.run(() => started.length === 2);
      end();
      await sim.run(() => started.length === 3);
      end();
      await sim.run(() => commits.at(-1) === 3);
    }),
  );

  test(
    "after a pause of all some can be resumed, and after a resume of all some be paused",
    withQueues(async ({ sim, seen, send }) => {
      await sim.run(send());
      await sim.run(1_000);
      expect(seen).toEqual([1]);
    }, (member) => {
      member.pause();
      member.resume([queue(1), queue(3)]);
      member.pause([queue(3)]);
    }),
  );

  test(
    "a queue stays paused when it is given up and taken again, and so does one that comes later",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer();
      const seen = collect(member);
      await sim.run(member.start());
      member.pause([0, 1, 2].map(queue));
      const other = consumer();
      const others = collect(other);
      await sim.run(other.start());
      await sim.run(() => member.assignment().filter(({ topic }) => topic === TOPIC).length === 2);
      await sim.run(other.shutdown());
      await sim.run(() => member.assignment().filter(({ topic }) => topic === TOPIC).length === 4);
      const sender = producer();
      const queues = await sim.run(sender.fetchPublishMessageQueues(TOPIC));
      for (const each of queues) {
        await sim.run(sender.send({ topic: TOPIC, body: String(each.queueId) }, { queue: each }));
      }
      await sim.run(30_000);
      expect([seen.map(({ body }) => body), others]).toEqual([["3"], []]);
      member.resume([queue(1)]);
      await sim.run(() => seen.length === 2);
      expect(seen[1]!.body).toBe("1");
    }),
  );

  test(
    "a message whose body is still being inflated is held back too",
    inCluster(async ({ sim, consumer, producer }) => {
      // It stays large when it is compressed.
      const body = Array.from({ length: 25_000 }, () => sim.random.next().toString(36)).join("");
      const member = consumer();
      const seen = collect(member);
      await sim.run(member.start());
      await sim.run(500);
      const { host } = (member as unknown as { instance: Instance }).instance;
      const inflate = host.inflate.bind(host);
      let inflating = 0;
      host.inflate = (...args) => {
        if (inflating++ === 0) member.pause();
        return inflate(...args);
      };
      await sim.run(producer().send({ topic: TOPIC, body }));
      await sim.run(30_000);
      expect([inflating, seen.length]).toEqual([1, 0]);
      member.resume();
      await sim.run(() => seen.length === 1);
      expect(seen[0]!.body).toBe(body);
    }),
  );

  test(
    "a consumer that was paused shuts down at once",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer();
      const seen = collect(member);
      await sim.run(member.start());
      await sim.run(500);
      member.pause();
      await sim.run(sendAll(producer(), 4));
      await sim.run(1_000);
      const started = sim.now;
      await sim.run(member.shutdown());
      expect(sim.now - started).toBeLessThan(1_000);
      const again = collect(consumer());
      await sim.run(() => again.length === 4);
      expect(seen).toEqual([]);
    }),
  );

  test.each([["a topic", TOPIC], ["no queue", [{ topic: TOPIC }]], ["nothing", [null]], ["a number", 7]])(
    "%s is refused, and nothing has changed",
    (_, bad) =>
      inCluster(async ({ sim, producer, consumer }) => {
        const member = consumer();
        const seen = collect(member);
        await sim.run(member.start());
        expect(() => member.pause(bad as never)).toThrow(ArgumentError);
        expect(() => member.resume(bad as never)).toThrow(ArgumentError);
        await sim.run(sendAll(producer(), 4));
        await sim.run(() => seen.length === 4);
      })(),
  );
});
