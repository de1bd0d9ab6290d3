import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { FrameError } from "../../client/errors.ts";
import type { MessageExt } from "../../client/message.ts";
import { encodeBatch } from "../../client/protocol/batch.ts";
import { encodeProperties } from "../../client/protocol/properties.ts";
import { COMPRESSED, INNER_BATCH, NEED_UNWRAP } from "../../client/protocol/sys_flag.ts";
import { concat } from "../support/frames.ts";
import type { PulledMessage } from "../../client/pulled_message.ts";
import { pulled, record, withScript } from "./scripted_consumer.ts";
import { collect, numbers } from "./world.ts";

const FIRST = { consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" } as const;
const encoder = new TextEncoder();

interface Element {
  readonly body: Uint8Array;
  readonly properties?: string;
  readonly flag?: number;
}

const elementsOf = (elements: readonly Element[]): Uint8Array =>
  encodeBatch(elements.map(({ body, properties = "", flag = 0 }) => ({ body, properties, flag })));

/** An inner batch as a broker stores it, with a body that may be anything. */
const batchRecord = (offset: number, body: Uint8Array, sysFlag = COMPRESSED): Uint8Array =>
  record(offset, "", { body, sysFlag: sysFlag | INNER_BATCH | NEED_UNWRAP });

const texts = (count: number, first = 0): Element[] =>
  numbers(count, first).map((number) => ({ body: encoder.encode(String(number)) }));

describe("a compressed inner batch", () => {
  test("of very many small messages is consumed whole, and its queue goes on", () => {
    const count = 130_000, body = deflateSync(elementsOf(texts(count)));
    return withScript({
      pull: (pull, calls) => {
        if (pull.queueOffset > count) return undefined;
        if (pull.queueOffset === count) return pulled(count + 1, 0, record(count, "last"));
        expect(calls).toBeLessThan(20);
        return pulled(count, 0, batchRecord(0, body));
      },
    }, async ({ sim, consumer, errors, commits }) => {
      let sum = 0, last = "";
      void consumer({ ...FIRST, coreMemory: 32, concurrency: 1_000 }).run({
        eachMessage({ body }) {
          if (body === "last") last = body;
          else sum += Number(body);
        },
      });
      await sim.run(() => last === "last");
      expect(sum).toBe(count * (count - 1) / 2);
      await sim.run(() => commits.at(-1) === count + 1);
      expect(errors).toEqual([]);
    })();
  });

  test("gives each message its own offset, flag and properties, and a retained one stands alone", () => {
    const elements = ["a", "bb", ""].map((tag, index) => ({
      body: encoder.encode(`body ${index}`),
      flag: 100 + index,
      properties: tag === ""
        ? ""
        : encodeProperties({ TAGS: tag, KEYS: `k${index}`, UNIQ_KEY: `id${index}`, own: "x" }),
    }));
    const body = deflateSync(elementsOf(elements)), plain = elementsOf(elements);
    return withScript({
      pull: (_, count) =>
        count > 0
          ? undefined
          : pulled(17, 0, concat([batchRecord(10, body), batchRecord(13, plain, 0), record(16, "z")])),
    }, async ({ sim, consumer, errors }) => {
      const seen = collect(consumer(FIRST));
      await sim.run(() => seen.length === 7);
      const inside = (message: MessageExt<string>) => message as unknown as PulledMessage<string>;
      const read = (message: MessageExt<string>) => [
        ...[message.body, message.queueOffset, message.tags, message.keys],
        message.msgId === message.offsetMsgId || message.msgId,
        ...[message.properties["own"], message.storeHost, message.topic, inside(message).flag],
      ];
      expect(seen.map((message) => inside(message).flag)).toEqual([100, 101, 102, 100, 101, 102, 0]);
      for (const [at, message] of seen.entries()) {
        const alone = message.retain();
        expect(read(alone)).toEqual(read(message));
        expect(read(alone.retain())).toEqual(read(message));
        if (at === 6) continue;
        const tag = ["a", "bb", undefined][at % 3];
        expect(read(message).slice(0, 7)).toEqual([
          ...[`body ${at % 3}`, BigInt(10 + at), tag, tag ? [`k${at % 3}`] : [], tag ? `id${at % 3}` : true],
          ...[tag && "x", "10.8.0.1:10911"],
        ]);
        // Nothing of its neighbours.
        expect(inside(alone).storedBody().buffer.byteLength).toBeLessThan(300);
      }
      expect(errors).toEqual([]);
    })();
  });
});

describe("bombs of inner batches", () => {
  const MIB = 1_048_576;

  test("an answer is inflated up to a bound, the rest is pulled again when the queue has room", () => {
    const element = new Uint8Array(8 * MIB), body = deflateSync(elementsOf([{ body: element }]));
    const count = 40;
    const asked: number[] = [];
    return withScript({
      pull: ({ queueOffset }) => {
        asked.push(queueOffset);
        if (queueOffset >= count) return undefined;
        const records = numbers(count - queueOffset, queueOffset).map((offset) => batchRecord(offset, body));
        return pulled(count, 0, concat(records));
      },
    }, async ({ sim, consumer, errors }) => {
      const seen: bigint[] = [], ends: (() => void)[] = [];
      let isOpen = false;
      void consumer({ ...FIRST, concurrency: 1 }).run({
        eachMessage({ queueOffset }) {
          seen.push(queueOffset);
          return isOpen ? undefined : new Promise<void>((resolve) => ends.push(resolve));
        },
      });
      await sim.run(() => seen.length === 1);
      await sim.run(2_000);
      // 100 MiB may wait, and one answer more.
      expect(asked).toEqual([0, 4, 8, 12]);
      isOpen = true;
      ends[0]!();
      await sim.run(() => seen.length === count, 60_000);
      expect(seen).toEqual(numbers(count).map(BigInt));
      expect(errors).toEqual([]);
      expect(asked.every((offset, index) => index === 0 || offset - asked[index - 1]! <= 4)).toBe(true);
    })();
  });

  test("one with more messages than any sender writes is unreadable, and the next message is delivered", () => {
    const body = deflateSync(elementsOf(Array.from({ length: 262_145 }, () => ({ body: new Uint8Array(0) }))));
    return withScript({
      pull: (_, count) => count > 0 ? undefined : pulled(2, 0, concat([batchRecord(0, body), record(1, "next")])),
    }, async ({ sim, consumer, errors }) => {
      const seen = collect(consumer(FIRST));
      await sim.run(() => seen.length === 2);
      expect(() => seen[0]!.body).toThrow(FrameError);
      expect(seen[1]!.body).toBe("next");
      expect(errors.map(({ message }) => message)).toEqual([
        expect.stringContaining("Cannot unwrap a batch of messages in queue"),
      ]);
    })();
  });
});

describe("an inner batch that cannot be unwrapped", () => {
  const broken: [string, Uint8Array, number][] = [
    ["bits that mean nothing", encoder.encode("no zlib at all"), COMPRESSED],
    ["a compression that nobody knows", encoder.encode("something"), COMPRESSED | 0x700],
  ];

  test.each(broken)(
    "%s: comes as one message, is sent back when its handler fails, and is not copied",
    (_, body, sysFlag) =>
      withScript({
        pull: (_, count) =>
          count > 0 ? undefined : pulled(5, 0, concat([batchRecord(0, body, sysFlag), record(4, "next")])),
      }, async ({ sim, consumer, errors, commits, backs }) => {
        const seen: string[] = [];
        void consumer({ ...FIRST, subscriptions: { Orders: "*" } }).run({
          eachMessage: ({ body }) => void seen.push(body),
        });
        await sim.run(() => backs.length === 1);
        await sim.run(() => commits.at(-1) === 5);
        expect(seen).toEqual(["next"]);
        expect(backs).toEqual([{ offset: 0n, group: "billing" }]);
        expect(errors.every((error) => error instanceof FrameError)).toBe(true);
      })(),
  );

  test("is handled again here when the broker does not take it back: a copy would have a sound checksum", () => {
    const bad = record(0, "damaged", { bodyCRC: 7 });
    return withScript({
      sendBack: 1,
      pull: (_, count) =>
        count > 0 ? undefined : pulled(5, 0, concat([bad, batchRecord(1, ...broken[0]!.slice(1) as [Uint8Array])])),
    }, async ({ sim, consumer, backs, sent }) => {
      const tries: bigint[] = [];
      void consumer(FIRST).run({
        eachMessage(message) {
          tries.push(message.queueOffset);
          void message.body;
        },
      });
      await sim.run(() => tries.length === 6);
      expect(tries.filter((offset) => offset === 0n).length).toBe(3);
      expect(backs.length).toBeGreaterThanOrEqual(4);
      expect(sent).toEqual([]);
    })();
  });

  test("a broken element is reported, those before it are delivered", () => {
    const whole = elementsOf(texts(3));
    const body = deflateSync(whole.subarray(0, whole.length - 1));
    return withScript({
      pull: (_, count) => [pulled(3, 0, batchRecord(0, body)), pulled(3, 19)][count],
    }, async ({ sim, consumer, errors, commits }) => {
      const seen = collect(consumer(FIRST));
      await sim.run(() => commits.at(-1) === 3);
      expect(seen.map(({ body }) => body)).toEqual(["0", "1"]);
      expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining("cannot be read")]);
    })();
  });
});
