import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { json, text } from "../../client/body_codec.ts";
import { ArgumentError, CodecError, HandlerError, type RocketMQError } from "../../client/errors.ts";
import type { ConsumerEvents } from "../../client/events.ts";
import type { Logger } from "../../client/options.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { BLOCK_MIN } from "../../core-as/abi.ts";
import { collect, failure, inCluster, sendAll, TOPIC } from "./world.ts";

const circle: Record<string, unknown> = {};
circle["itself"] = circle;
const throwing = {
  toString() {
    throw new Error("no text");
  },
  toJSON() {
    throw new Error("no JSON");
  },
};

/** What says nothing good about itself when it is printed. */
const HOSTILE: readonly [what: string, value: unknown][] = [
  ["a bigint", 5n],
  ["a symbol", Symbol("s")],
  ["a function", () => "SUCCESS"],
  ["a circle", circle],
  ["an object without a prototype", Object.create(null)],
  ["an object whose toString throws", throwing],
];

describe("whatever a handler does, its messages come again and the consumer goes on", () => {
  test.each(HOSTILE)("it returns %s", (_, value) => fails(() => value, ArgumentError)());
  test.each(HOSTILE)("it resolves to %s", (_, value) => fails(() => Promise.resolve(value), ArgumentError)());
  test.each(HOSTILE)("it throws %s", (_, value) =>
    fails(() => {
      throw value;
    }, HandlerError)());
  test.each(HOSTILE)("it rejects with %s", (_, value) => fails(() => Promise.reject(value), HandlerError)());
  test("it returns a promise of its own that throws", () =>
    fails(() => ({
      then() {
        throw new Error("no then");
      },
    }), HandlerError)());
  test("it returns an object whose then cannot be read", () =>
    fails(() => ({
      get then() {
        throw new Error("no then");
      },
    }), HandlerError)());
});

/** Four messages, one handler at a time, each fails at first; then a shutdown that has nothing to wait for. */
function fails(fail: () => unknown, errorClass: typeof HandlerError | typeof ArgumentError): () => Promise<void> {
  return inCluster(async ({ sim, producer, consumer, errors }) => {
    const member = consumer({ concurrency: 1 });
    const times = new Map<string, number>();
    const running = member.run({
      eachMessage(message) {
        const before = times.get(message.body) ?? 0;
        times.set(message.body, before + 1);
        if (before === 0) return fail() as void;
      },
    });
    await sim.run(sendAll(producer(), 4));
    await sim.run(() => [...times.values()].join() === "2,2,2,2");
    expect(errors.length).toBe(4);
    for (const error of errors) expect(error).toBeInstanceOf(errorClass);
    const started = sim.now;
    await sim.run(member.shutdown());
    await sim.run(running);
    expect(sim.now - started).toBeLessThan(1_000);
    for (const error of errors) expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: error.code });
  });
}

test.each([false, true])(
  "whoever hears that no broker takes a message back may unsubscribe (leased: %s)",
  (leaseMessages) =>
    inCluster(async ({ sim, cluster, producer, consumer, errors }) => {
      await sim.run(sendAll(producer(), 1));
      for (const code of [RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE_V2]) {
        cluster.fault({ code, action: { answer: 1, remark: "no" } });
      }
      const member = consumer({ leaseMessages }), handled: string[] = [];
      let leased = 0;
      member.on("error", ({ code }) => {
        if (code !== "ROCKETMQ_BROKER") return;
        leased = member.stats().coreBytesInUse;
        void member.unsubscribe(TOPIC);
      });
      void member.run({
        eachMessage({ body }) {
          handled.push(body);
          throw new Error("no");
        },
      });
      await sim.run(() => leased > 0);
      await sim.run(30_000);
      expect(handled).toEqual(["0"]);
      expect(errors.map(({ code }) => code)).toEqual(["ROCKETMQ_HANDLER", "ROCKETMQ_BROKER"]);
      // The trees and the headers of four queues; the batch has left the core before.
      const freed = leased - member.stats().coreBytesInUse;
      expect(freed).toBeGreaterThanOrEqual(8 * BLOCK_MIN);
    })(),
);

describe("what a handler failed with is told", () => {
  test(
    "to onError and to error listeners, with the message's id and queue, the thrown error as its cause; to the logger with its stack",
    inCluster(async ({ sim, producer, consumer, errors }) => {
      const logged: { err?: unknown }[] = [];
      const log = (fields: object) => void logged.push(fields);
      const member = consumer({ logger: { debug() {}, info() {}, warn: log, error: log } });
      const events: RocketMQError[] = [];
      member.on("error", (error) => void events.push(error));
      const cause = new RangeError("too far");
      let calls = 0;
      void member.run({
        eachMessage() {
          if (++calls === 1) throw cause;
        },
      });
      const { msgId } = await sim.run(producer().send({ topic: TOPIC, body: "x" }));
      await sim.run(() => calls === 2);
      expect(errors).toEqual(events);
      expect(errors.length).toBe(1);
      expect(errors[0]).toMatchObject({ code: "ROCKETMQ_HANDLER", retryable: false, cause });
      for (const part of [msgId, TOPIC, "too far"]) expect(errors[0]!.message).toContain(part);
      const { err } = logged.find((fields) => fields.err !== undefined)!;
      expect((err as Error).stack).toContain("HandlerError");
      expect((err as Error).cause).toBe(cause);
    }),
  );

  test(
    "a body that its codec cannot read is told as what it is",
    inCluster(async ({ sim, producer, consumer, errors }) => {
      await sim.run(producer().send({ topic: TOPIC, body: "{no json" }));
      const member = consumer({ codec: json<string>(), maxReconsumeTimes: 0 });
      void member.run({ eachMessage: ({ body }) => void body });
      await sim.run(() => errors.length === 1);
      expect(errors[0]).toBeInstanceOf(CodecError);
      expect(errors[0]!.cause).toBeInstanceOf(SyntaxError);
    }),
  );
});

describe("what is told may itself fail", () => {
  const throws = (): never => {
    throw new Error("cannot write");
  };
  const rejects = (): Promise<never> => Promise.reject(new Error("cannot write"));
  const logger = (log: () => unknown): Logger => {
    const method = log as Logger["warn"];
    return { debug: method, info: method, warn: method, error: method };
  };

  test.each([
    ["a logger that throws", { logger: logger(throws) }],
    ["a logger that rejects", { logger: logger(rejects) }],
    ["an onError that throws", { onError: throws }],
    ["an onError that rejects", { onError: rejects as () => void }],
    ["both, throwing", { logger: logger(throws), onError: throws }],
    ["both, rejecting", { logger: logger(rejects), onError: rejects as () => void }],
  ])("%s hurts nobody", (_, options) =>
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer(options);
      for (const event of ["error", "rebalance", "connect"] as const) {
        member.on(event, throws);
        member.on(event, rejects as () => void);
      }
      const seen: number[] = [];
      const running = member.run({
        eachMessage({ reconsumeTimes }) {
          seen.push(reconsumeTimes);
          if (reconsumeTimes === 0) throw new Error("not yet");
        },
      });
      await sim.run(sendAll(producer(), 4));
      await sim.run(() => seen.length === 8);
      await sim.run(30_000);
      await sim.run(member.shutdown());
      await sim.run(running);
      expect(seen.sort()).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    })());

  test(
    "a logger or a listener that fails is told to onError, an onError that fails to the logger",
    inCluster(async ({ sim, consumer, errors }) => {
      const first = consumer({ logger: logger(throws) });
      first.on("rebalance", throws);
      collect(first);
      await sim.run(first.start());
      const messages = errors.map(({ message }) => message);
      expect(messages).toContain(`A listener of "rebalance" failed: cannot write`);
      expect(messages).toContain("logger.error failed: cannot write");
      const logged: string[] = [];
      const second = consumer({
        consumerGroup: "other",
        onError: throws,
        logger: { debug() {}, info() {}, warn() {}, error: (_, message) => void logged.push(message) },
      });
      second.on("rebalance", throws);
      await sim.run(second.start());
      expect(logged).toContain("onError failed: cannot write");
    }),
  );

  test(
    "an unknown event or what is no listener is refused",
    inCluster(({ consumer, producer }) => {
      const member = consumer();
      expect(() => member.on("mesage" as keyof ConsumerEvents, () => {})).toThrow(ArgumentError);
      expect(() => member.on("error", "print" as never)).toThrow(ArgumentError);
      expect(() => member.on("error", () => {}, { singal: undefined, once: true } as never)).toThrow(ArgumentError);
      expect(() => producer().on("rebalance" as never, () => {})).toThrow(ArgumentError);
      return Promise.resolve();
    }),
  );
});

test(
  "a value that its codec has no bytes for is refused before anything is sent",
  inCluster(async ({ producer }) => {
    for (const body of [5, null, undefined, Uint8Array.of(1), { a: 1 }, 5n]) {
      const error = await failure(producer({ codec: text }).send({ topic: TOPIC, body: body as never }));
      expect(error).toBeInstanceOf(CodecError);
      expect(error.cause).toBeInstanceOf(TypeError);
    }
    for (const body of [undefined, () => {}, Symbol("s"), 5n]) {
      const error = await failure(producer({ codec: json<never>() }).send({ topic: TOPIC, body: body as never }));
      expect(error).toBeInstanceOf(CodecError);
    }
  }),
);

test(
  "clients and what they count print and serialize",
  inCluster(async ({ sim, producer, consumer }) => {
    const sender = producer(), member = consumer();
    await sim.run(sendAll(sender, 1));
    for (const [client, group] of [[sender, "DEFAULT_PRODUCER"], [member, "billing"]] as const) {
      expect(inspect(client)).toContain(group);
      expect(inspect(client).length).toBeLessThan(300);
      expect(JSON.parse(JSON.stringify(client))).toMatchObject({ state: client.state, clientId: client.clientId });
    }
    const stats = sender.stats();
    expect(JSON.parse(JSON.stringify(stats))).toMatchObject({ bytesIn: String(stats.bytesIn), connections: 2 });
  }),
);
