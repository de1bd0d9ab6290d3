import { describe, expect, test } from "vitest";
import { ArgumentError, ClosedError, ConnectError, TimeoutError, UnsupportedError } from "../../client/errors.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { collect, failure, inCluster, sendAll, TOPIC, type World } from "./world.ts";

/** Steps of a start that a broker may not answer, besides the name server's. */
const STEPS = [
  ["the route", RequestCode.GET_ROUTEINFO_BY_TOPIC],
  ["the heartbeat", RequestCode.HEART_BEAT],
  ["the members", RequestCode.GET_CONSUMER_LIST_BY_GROUP],
  ["the offsets", RequestCode.QUERY_CONSUMER_OFFSET],
] as const;

describe("start() of a consumer", () => {
  test.each(STEPS)(
    "ends with its timeout while %s hangs, leaves nothing, and may be tried again",
    (what, code) =>
      inCluster(async ({ sim, cluster, producer, consumer, errors }) => {
        // A start asks for a route to find out whether a name server answers; that is bounded anyway.
        if (what === "the route") await sim.run(sendAll(producer(), 1));
        const member = consumer();
        const undo = cluster.fault({ code, action: "drop" });
        const started = sim.now;
        const error = await sim.run(failure(member.start({ timeout: 700 })));
        if (what === "the route") expect(error).toBeInstanceOf(ConnectError);
        else expect(error).toBeInstanceOf(TimeoutError);
        expect(sim.now - started).toBeLessThan(750);
        expect([member.state, member.assignment()]).toEqual(["created", []]);
        await sim.run(10_000);
        expect([member.state, member.assignment(), member.stats().inFlight]).toEqual(["created", [], 0]);
        undo();
        errors.length = 0;
        await sim.run(member.start({ timeout: 700 }));
        const seen = collect(member);
        await sim.run(sendAll(producer(), 8));
        await sim.run(() => seen.length >= 8);
        expect(errors).toEqual([]);
      })(),
  );

  test.each(STEPS)("ends with its signal while %s hangs", (_, code) =>
    inCluster(async ({ sim, cluster, consumer }) => {
      cluster.fault({ code, action: "drop" });
      const controller = new AbortController();
      const reason = new Error("mine");
      const started = sim.now;
      const member = consumer();
      const start = failure<Error>(member.start({ signal: controller.signal }));
      await sim.run(100);
      controller.abort(reason);
      expect(await sim.run(start)).toBe(reason);
      expect(sim.now - started).toBeLessThan(110);
      expect(member.assignment()).toEqual([]);
    })());

  test(
    "that was given up leaves its queues to the others",
    inCluster(async ({ sim, cluster, producer, consumer }) => {
      const first = consumer();
      const seen = collect(first);
      await sim.run(first.start());
      const undo = cluster.fault({ code: RequestCode.QUERY_CONSUMER_OFFSET, action: "drop" });
      const second = consumer();
      expect(await sim.run(failure(second.start({ timeout: 300 })))).toBeInstanceOf(TimeoutError);
      undo();
      await sim.run(5_000);
      await sim.run(sendAll(producer(), 8));
      await sim.run(() => seen.length === 8);
      expect(first.assignment().filter(({ topic }) => topic === TOPIC).length).toBe(4);
    }),
  );

  test(
    "without a timeout outlasts a broker that is slow",
    inCluster(async ({ sim, cluster, producer, consumer }) => {
      for (const [, code] of STEPS) cluster.fault({ code, action: { delay: 1_500 } });
      const member = consumer();
      const seen = collect(member);
      await sim.run(member.start());
      await sim.run(sendAll(producer({ sendMsgTimeout: 10_000 }), 1));
      await sim.run(() => seen.length === 1);
    }),
  );

  test(
    "refuses options that make no sense",
    inCluster(async ({ consumer }) => {
      const member = consumer();
      for (const bad of [{ timout: 1 }, { timeout: 0 }, { timeout: NaN }, { timeout: "1" }, { signal: {} }]) {
        expect(await failure(member.start(bad as never))).toBeInstanceOf(ArgumentError);
      }
      expect(await failure(member.shutdown({ timout: 1 } as never))).toBeInstanceOf(ArgumentError);
      expect(member.state).toBe("created");
    }),
  );
});

describe("run()", () => {
  test.each([
    ["an orderly listener", { orderly() {} }, UnsupportedError],
    ["an eachBatch listener", { eachBatch() {} }, UnsupportedError],
    ["both at once", { eachMessage() {}, orderly: true }, UnsupportedError],
    ["a misspelt member", { eachMessage() {}, concurency: 3 }, ArgumentError],
    ["a function", () => {}, ArgumentError],
    ["nothing", undefined, ArgumentError],
  ])("refuses %s", (_, listener, errorClass) =>
    inCluster(async ({ consumer }) => {
      const member = consumer();
      expect(await failure(member.run(listener as never))).toBeInstanceOf(errorClass);
      expect(member.state).toBe("created");
    })());

  test(
    "takes a class's listener with members of its own",
    inCluster(async ({ sim, producer, consumer }) => {
      class Billing {
        readonly seen: string[] = [];
        eachMessage({ body }: { body: string }): void {
          this.seen.push(body);
        }
      }
      const billing = new Billing();
      void consumer().run(billing);
      await sim.run(sendAll(producer(), 1));
      await sim.run(() => billing.seen.length === 1);
    }),
  );

  const ENDS: readonly [string, (member: ReturnType<World["consumer"]>, abort: AbortController) => void][] = [
    ["shutdown()", (member) => void member.shutdown()],
    ["the client's signal", (_, controller) => controller.abort()],
  ];

  test.each(ENDS)(
    "resolves when %s comes during its start",
    (_, end) =>
      inCluster(async ({ sim, cluster, consumer, errors }) => {
        for (const [, code] of STEPS) cluster.fault({ code, action: { delay: 100 } });
        for (const ms of [0, 50, 150, 250, 350, 450, 550]) {
          const controller = new AbortController();
          const member = consumer({ signal: controller.signal, consumerGroup: `after-${ms}` });
          const running = member.run({ eachMessage() {} });
          await sim.run(ms);
          end(member, controller);
          await sim.run(running);
          await sim.run(() => member.state === "closed");
          expect(member.assignment()).toEqual([]);
          expect(await failure(member.run({ eachMessage() {} }))).toBeInstanceOf(ClosedError);
        }
        expect(errors).toEqual([]);
      })(),
  );
});
