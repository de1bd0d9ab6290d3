import { describe, expect, test } from "vitest";
import { ArgumentError } from "../../client/errors.ts";
import { Lease } from "../../client/lease.ts";
import type { MessageExt, MessageQueue } from "../../client/message.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { openCore } from "../support/core.ts";
import { concat } from "../support/frames.ts";
import { pulled, record, withScript } from "./scripted_consumer.ts";
import { collect, gate, inCluster, numbers, sendAll, sorted, TOPIC } from "./world.ts";

const LEASED = { leaseMessages: true } as const;
const FIELDS = [
  ...["topic", "tags", "keys", "properties", "msgId", "offsetMsgId", "body", "queueOffset", "commitLogOffset"],
  ...["sysFlag", "reconsumeTimes", "bornTimestamp", "bornHost", "storeTimestamp", "storeHost"],
  ...["preparedTransactionOffset", "delayTimeLevel", "deliverAt", "shardingKey", "waitStoreMsgOK", "transactionId"],
] as const;

const read = (message: MessageExt<string>, fields: readonly string[]): unknown[] =>
  fields.map((name) => message[name as keyof MessageExt<string>]);

describe("a settled message", () => {
  test(
    "gives what was read of it, and for every other field an ArgumentError that names retain()",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer(LEASED), seen: MessageExt<string>[] = [], before: unknown[][] = [];
      void member.run({
        eachMessage(message) {
          const place = seen.push(message) - 1;
          // The first is read whole, the others one field each.
          if (place === 0) message.rawBody();
          before[place] = read(message, place === 0 ? FIELDS : [FIELDS[place - 1]!]);
        },
      });
      const sender = producer();
      for (let i = 0; i <= FIELDS.length; i++) {
        await sim.run(
          sender.send({ topic: TOPIC, body: `body ${i}`, tags: "paid", keys: ["k"], properties: { a: "1" } }),
        );
      }
      await sim.run(() => seen.length === FIELDS.length + 1);
      await sim.run(100);
      expect(read(seen[0]!, FIELDS)).toEqual(before[0]);
      expect(new TextDecoder().decode(seen[0]!.rawBody())).toBe(seen[0]!.body);
      expect(seen[0]!.tags).toBe("paid");
      for (const [index, name] of FIELDS.entries()) {
        const message = seen[index + 1]!;
        expect(read(message, [name]), name).toEqual(before[index + 1]);
        expect(message.brokerName).toBe("broker-a");
        const other = name === "storeHost" ? "bornHost" : "storeHost";
        expect(() => message[other], name).toThrow(ArgumentError);
        expect(() => message[other], name).toThrow("retain()");
        expect(() => message.rawBody(), name).toThrow(ArgumentError);
        expect(() => message.retain(), name).toThrow(ArgumentError);
      }
    }),
  );

  test(
    "that was retained before stands alone, also when its consumer is gone",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer(LEASED), kept: MessageExt<string>[] = [];
      const running = member.run({ eachMessage: (message) => void kept.push(message.retain()) });
      await sim.run(sendAll(producer(), 50));
      await sim.run(() => kept.length === 50);
      await sim.run(Promise.all([member.shutdown(), running]));
      expect(sorted(kept.map(({ body }) => body))).toEqual(numbers(50));
      for (const message of kept) expect(read(message, FIELDS).length).toBe(FIELDS.length);
    }),
  );
});

describe("the blocks of leased batches are freed", () => {
  test(
    "when their messages are consumed, sent back, or handled again here",
    inCluster(async ({ sim, cluster, producer, consumer, errors }) => {
      const member = consumer(LEASED), done = new Set<string>(), failed = new Set<string>();
      let opened = Promise.resolve();
      void member.run({
        async eachMessage({ body }) {
          await opened;
          if (Number(body) % 3 === 0 && !failed.has(body)) {
            failed.add(body);
            throw new Error("not yet");
          }
          done.add(body);
        },
      });
      await sim.run(() => member.assignment().length === 5);
      await sim.run(1_000);
      const before = member.stats().coreBytesInUse;
      await sim.run(sendAll(producer(), 60));
      await sim.run(() => done.size === 60, 60_000);
      await sim.run(1_000);
      expect(member.stats().coreBytesInUse).toBe(before);

      // Now nobody takes a failed message back.
      failed.clear();
      done.clear();
      const last = gate();
      opened = last.opened;
      await sim.run(sendAll(producer(), 6));
      for (const code of [RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2]) {
        cluster.fault({ code, action: { answer: 1, remark: "no" } });
      }
      last.open();
      await sim.run(() => done.size === 6, 60_000);
      await sim.run(1_000);
      expect(member.stats().coreBytesInUse).toBe(before);
      expect(errors.length).toBeGreaterThan(0);
    }),
  );

  test(
    "as soon as a message that no broker takes back waits to be handled again here",
    inCluster(async ({ sim, cluster, producer, consumer, errors }) => {
      const member = consumer(LEASED), hosts: string[] = [];
      const { opened, open } = gate();
      void member.run({
        async eachMessage({ storeHost }) {
          hosts.push(storeHost);
          await opened;
          if (hosts.length === 1) throw new Error("not yet");
        },
      });
      await sim.run(() => member.assignment().length === 5);
      await sim.run(1_000);
      const before = member.stats().coreBytesInUse;
      await sim.run(sendAll(producer(), 1));
      await sim.run(() => hosts.length === 1);
      await sim.run(1_000);
      expect(member.stats().coreBytesInUse).toBeGreaterThan(before);
      for (const code of [RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE_V2]) {
        cluster.fault({ code, action: { answer: 1, remark: "no" } });
      }
      open();
      await sim.run(() => errors.length === 2);
      await sim.run(1_000);
      expect(hosts.length).toBe(1);
      expect(member.stats().coreBytesInUse).toBe(before);
      await sim.run(() => hosts.length === 2);
      expect(hosts[1]).toBe(hosts[0]);
    }),
  );

  test.each([0, 2, 1_500])(
    "when whoever hears of a damaged record unsubscribes: %i records before it",
    (before) => {
      const damaged = record(before, "damaged"), behind = [1, 2, 3].map((i) => record(before + i, "behind"));
      damaged[8]! ^= 1;
      const body = concat([...numbers(before).map((offset) => record(offset, "before")), damaged, ...behind]);
      const answers = [pulled(before + 4, 0, body)];
      return withScript({ pull: () => answers.pop() }, async ({ sim, errors, consumer }) => {
        const member = consumer({ ...LEASED, consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" });
        member.on("error", () => void member.unsubscribe(TOPIC));
        collect(member);
        await sim.run(() => errors.length > 0);
        await sim.run(1_000);
        expect(errors.map(({ code }) => code)).toEqual(["ROCKETMQ_FRAME"]);
        await sim.run(member.shutdown());
        expect(member.stats().coreBytesInUse).toBe(0);
      })();
    },
  );

  test(
    "when their queue goes to another member, and what a handler still has stays readable until it ends",
    inCluster(async ({ sim, producer, consumer }) => {
      const first = consumer({ ...LEASED, concurrency: 2 }), held: MessageExt<string>[] = [];
      const { opened, open } = gate();
      void first.run({
        async eachMessage(message) {
          held.push(message);
          await opened;
        },
      });
      await sim.run(() => first.assignment().length === 5);
      await sim.run(1_000);
      const before = first.stats().coreBytesInUse;
      await sim.run(sendAll(producer(), 80));
      await sim.run(() => held.length === 2);
      await sim.run(1_000);
      const leased = first.stats().coreBytesInUse;
      expect(leased).toBeGreaterThan(before);
      const second = consumer(LEASED);
      collect(second);
      await sim.run(() => first.assignment().length < 5, 60_000);
      expect(first.stats().coreBytesInUse).toBeLessThan(leased);
      for (const message of held) expect(message.storeHost).toContain(":");
      const running = held.length;
      open();
      await sim.run(() => held.length > running, 60_000);
      await sim.run(5_000);
      // Those of the queues it has given up took their trees with them.
      expect(first.stats().coreBytesInUse).toBeLessThan(before);
      expect(() => held[0]!.bornHost).toThrow(ArgumentError);
    }),
  );

  test(
    "at shutdown, with messages that wait, and a handler that never ends keeps only its own batch",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer({ ...LEASED, concurrency: 1 }), held: MessageExt<string>[] = [];
      void member.run({
        eachMessage(message) {
          held.push(message);
          return new Promise(() => undefined);
        },
      });
      await sim.run(() => member.assignment().length === 5);
      await sim.run(sendAll(producer(), 80));
      await sim.run(2_000);
      const leased = member.stats().coreBytesInUse;
      await sim.run(member.shutdown({ timeout: 500 }));
      expect(member.stats().coreBytesInUse).toBeLessThan(leased);
      expect(held.length).toBe(1);
      expect(held[0]!.bornHost).toContain(":");
    }),
  );
});

test(
  "the credit of a pull is out until the last message of its batch is settled",
  withScript({
    pull: (_, count) =>
      pulled(2 * count + 2, 0, concat([0, 1].map((i) => record(2 * count + i, String(2 * count + i))))),
  }, async ({ sim, consumer, pulls }) => {
    // 2 MiB lend four credits; the pull of the retry topic has one.
    const ends: (() => void)[] = [];
    void consumer({ ...LEASED, coreMemory: 2, consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }).run({
      eachMessage: () => new Promise<void>((resolve) => ends.push(resolve)),
    });
    await sim.run(() => ends.length === 6);
    await sim.run(5_000);
    expect(pulls.length).toBe(3);
    ends[0]!();
    await sim.run(1_000);
    expect(pulls.length).toBe(3);
    ends[1]!();
    await sim.run(1_000);
    expect(pulls.length).toBe(4);
    for (let i = 2; i < 20_000 && pulls.length < 100; i++) {
      ends[i]?.();
      await sim.run(1);
    }
    expect(pulls.length).toBe(100);
  }),
);

test(
  "paused queues give their room back: the others' messages come, and theirs when they are resumed",
  inCluster(async ({ sim, producer, consumer }) => {
    const sender = producer(), [first, second, ...others] = await sim.run(sender.fetchPublishMessageQueues(TOPIC));
    const send = (body: number, queue: MessageQueue) =>
      sim.run(sender.send({ topic: TOPIC, body: String(body) }, { queue }));
    for (let i = 0; i < 40; i++) await send(i, i % 2 === 0 ? first! : second!);
    // Four credits, and five queues with the retry topic's.
    const member = consumer({ ...LEASED, coreMemory: 2, pullBatchSize: 4, concurrency: 1 });
    const seen: string[] = [];
    let end: (() => void) | undefined;
    void member.run({
      eachMessage({ body }) {
        seen.push(body);
        return end ? undefined : new Promise<void>((resolve) => end = resolve);
      },
    });
    await sim.run(() => seen.length === 1);
    // By then no pull waits at the broker any more: all room is theirs.
    await sim.run(60_000);
    member.pause([first!, second!]);
    end!();
    await sim.run(100);
    for (let i = 40; i < 44; i++) await send(i, i % 2 === 0 ? first! : second!);
    for (let i = 44; i < 52; i++) await send(i, others[i % others.length]!);
    await sim.run(() => seen.length === 9, 60_000);
    expect(sorted(seen.slice(1))).toEqual(numbers(8, 44));
    member.resume();
    await sim.run(() => seen.length === 52, 60_000);
    expect(sorted(seen)).toEqual(numbers(52));
  }),
);

test(
  "a batch that leaves the arena reads the same",
  withScript({
    pull: (_, count) =>
      count > 0 ? undefined : pulled(3, 0, concat(numbers(3).map((offset) => record(offset, `body ${offset}`)))),
  }, async ({ sim, consumer }) => {
    const member = consumer({ ...LEASED, concurrency: 1, consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" });
    const seen: MessageExt<string>[] = [];
    let end = (): void => undefined;
    void member.run({
      eachMessage(message) {
        if (seen.push(message) === 1) return new Promise<void>((resolve) => end = resolve);
      },
    });
    await sim.run(() => seen.length === 1);
    const { storeHost, topic } = seen[0]!, inUse = member.stats().coreBytesInUse;
    member.pause();
    expect(member.stats().coreBytesInUse).toBeLessThan(inUse);
    expect([seen[0]!.storeHost, seen[0]!.topic, seen[0]!.body]).toEqual([storeHost, topic, "body 0"]);
    expect([seen[0]!.bornHost, seen[0]!.queueOffset]).toEqual(["10.0.0.9:40000", 0n]);
    member.resume();
    end();
    await sim.run(() => seen.length === 3);
    await sim.run(100);
    expect(seen.map(({ topic, body, storeHost }) => [topic, body, storeHost])).toEqual(
      numbers(3).map((offset) => [TOPIC, `body ${offset}`, "10.8.0.1:10911"]),
    );
  }),
);

test(
  "where no block is free the messages are the user's",
  withScript({
    pull: (_, count) => count > 0 ? undefined : pulled(3, 0, concat(numbers(3).map((offset) => record(offset, "x")))),
  }, async ({ sim, consumer }) => {
    const member = consumer({ ...LEASED, consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" });
    const { core } = (member as unknown as { instance: { core: ReturnType<typeof openCore> } }).instance;
    core.lease = () => 0;
    const seen = collect(member);
    await sim.run(() => seen.length === 3);
    await sim.run(100);
    expect(seen.map(({ storeHost, body }) => [storeHost, body])).toEqual(numbers(3).map(() => ["10.8.0.1:10911", "x"]));
  }),
);

test("a lease ends once, when all of its messages are settled, or when it has none", () => {
  const core = openCore(), before = core.bytesInUse;
  let ended = 0;
  const empty = new Lease(core, () => ended++);
  empty.grant();
  expect(ended).toBe(1);
  const lease = new Lease(core, () => ended++);
  lease.hold(core.allocateBlock(1));
  lease.hold(core.allocateBlock(100_000));
  lease.add(1);
  lease.add(2);
  lease.settled();
  lease.grant();
  lease.settled();
  expect([ended, lease.generation]).toEqual([1, 0]);
  expect(core.bytesInUse).toBeGreaterThan(before);
  lease.settled();
  expect([ended, lease.generation, core.bytesInUse]).toEqual([2, 1, before]);
});
