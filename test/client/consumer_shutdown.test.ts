import { describe, expect, test } from "vitest";
import { text } from "../../client/body_codec.ts";
import type { ConsumeContext } from "../../client/consumer/listener.ts";
import { ArgumentError, ClosedError } from "../../client/errors.ts";
import type { MessageExt } from "../../client/message.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import { Simulation } from "../support/sim.ts";
import { collect, failure, GROUP, inCluster, numbers, sendAll, sorted, TOPIC, type World } from "./world.ts";

/** Waits in virtual time. */
const after = ({ sim }: World, ms: number): Promise<void> =>
  new Promise((resolve) => sim.clock.setTimer(ms, () => resolve()));

describe("shutdown()", () => {
  test(
    "waits for the handlers that run, and what they finish is not delivered again",
    inCluster(async (world) => {
      const { sim, producer, consumer } = world;
      const member = consumer({ concurrency: 4 });
      const done: string[] = [], signals: AbortSignal[] = [];
      const running = member.run({
        async eachMessage(message, { signal }) {
          signals.push(signal);
          await after(world, 2_000);
          done.push(message.body);
        },
      });
      await sim.run(sendAll(producer(), 20));
      await sim.run(() => signals.length === 4);
      const started = sim.now;
      const closing = member.shutdown();
      expect(member.state).toBe("draining");
      await sim.run(closing);
      expect(sim.now - started).toBeLessThan(2_500);
      expect(done.length).toBe(4);
      // It has waited for all of them, so that none had to be told.
      expect(signals.some(({ aborted }) => aborted)).toBe(false);
      await sim.run(running);
      const again = collect(consumer());
      await sim.run(() => again.length === 16);
      await sim.run(30_000);
      expect(sorted([...done, ...again.map(({ body }) => body)])).toEqual(numbers(20));
    }),
  );

  test(
    "consumer-11: five restarts in the middle of the work multiply nothing",
    inCluster(async (world) => {
      const { sim, producer, consumer } = world;
      await sim.run(sendAll(producer(), 40));
      const done: string[] = [];
      for (let restart = 0; restart < 5; restart++) {
        const member = consumer({ concurrency: 4 });
        let running = 0;
        void member.run({
          async eachMessage(message) {
            running++;
            await after(world, 2_000);
            done.push(message.body);
          },
        });
        await sim.run(() => running === 4);
        await sim.run(member.shutdown());
      }
      const rest = collect(consumer());
      await sim.run(() => rest.length === 20);
      await sim.run(60_000);
      expect(sorted([...done, ...rest.map(({ body }) => body)])).toEqual(numbers(40));
    }),
  );

  test(
    "its timeout wins over handlers that hang; their messages come again",
    inCluster(async (world) => {
      const { sim, producer, consumer } = world;
      const member = consumer();
      let signal: AbortSignal | undefined;
      void member.run({
        eachMessage(_, context) {
          signal = context.signal;
          return new Promise(() => {});
        },
      });
      await sim.run(sendAll(producer(), 1));
      await sim.run(() => signal !== undefined);
      const started = sim.now;
      await sim.run(member.shutdown({ timeout: 1_000 }));
      expect(sim.now - started).toBeLessThan(1_050);
      expect(signal!.reason).toBeInstanceOf(ClosedError);
      const again = collect(consumer());
      await sim.run(() => again.length === 1);
      expect(again[0]!.reconsumeTimes).toBe(0);
    }),
  );

  type Handler = (message: MessageExt<string>, context: ConsumeContext, shutdown: () => Promise<void>) => Promise<void>;

  const INSIDE: readonly [string, (world: World) => Handler][] = [
    ["at once", () => (_, __, shutdown) => shutdown()],
    ["at once, by the context", () => (_, context) => context.shutdown()],
    ["after an await, by the context", (world) => async (_, context) => {
      await after(world, 100);
      await context.shutdown();
    }],
    ["after an await, not waiting for it", (world) => async (_, __, shutdown) => {
      await after(world, 100);
      void shutdown();
    }],
  ];

  test.each(INSIDE)("works inside a handler, %s", (_, make) =>
    inCluster(async (world) => {
      const { sim, producer, consumer } = world;
      const member = consumer();
      const handler = make(world);
      let calls = 0;
      const running = member.run({
        eachMessage(message, context) {
          calls++;
          return handler(message, context, () => member.shutdown());
        },
      });
      await sim.run(sendAll(producer(), 1));
      await sim.run(() => calls === 1);
      const started = sim.now;
      await sim.run(running);
      expect(sim.now - started).toBeLessThan(1_000);
      expect(member.state).toBe("closed");
    })());

  test(
    "inside a handler it waits for the other handlers",
    inCluster(async (world) => {
      const { sim, producer, consumer } = world;
      const member = consumer({ concurrency: 5 });
      let done = 0, calls = 0;
      const running = member.run({
        async eachMessage() {
          if (++calls === 5) return await member.shutdown();
          await after(world, 2_000);
          done++;
        },
      });
      const started = sim.now;
      await sim.run(sendAll(producer(), 5));
      await sim.run(running);
      expect(done).toBe(4);
      expect(sim.now - started).toBeLessThan(3_000);
    }),
  );

  test(
    "in all running handlers at once, by their contexts, waits for none",
    inCluster(async (world) => {
      const { sim, producer, consumer } = world;
      const member = consumer({ concurrency: 5 });
      let calls = 0;
      const running = member.run({
        async eachMessage(_, context) {
          calls++;
          await after(world, 100);
          await context.shutdown();
        },
      });
      await sim.run(sendAll(producer(), 5));
      await sim.run(() => calls === 5);
      const started = sim.now;
      await sim.run(running);
      expect(sim.now - started).toBeLessThan(1_000);
    }),
  );

  test(
    "is idempotent, and settles for all callers",
    inCluster(async ({ sim, consumer }) => {
      const member = consumer();
      void member.run({ eachMessage() {} });
      await sim.run(() => member.state === "running");
      await sim.run(Promise.all([member.shutdown(), member.shutdown(), member[Symbol.asyncDispose]()]));
      await sim.run(member.shutdown());
      expect(member.state).toBe("closed");
      expect(await failure(member.subscribe("More"))).toBeInstanceOf(ClosedError);
      expect(await failure(member.start())).toBeInstanceOf(ClosedError);
    }),
  );

  test.each([-1, NaN, "1"])("refuses a timeout of %j", (timeout) =>
    inCluster(async ({ consumer }) => {
      const member = consumer();
      expect(await failure(member.shutdown({ timeout: timeout as number }))).toBeInstanceOf(ArgumentError);
      expect(member.state).toBe("created");
    })());

  test(
    "during start ends both, at whatever moment",
    inCluster(async ({ sim, consumer }) => {
      for (let ms = 0; ms < 8; ms += 0.5) {
        const member = consumer();
        const running = member.run({ eachMessage() {} });
        await sim.run(ms);
        await sim.run(member.shutdown());
        await sim.run(running);
        expect([member.state, member.assignment()]).toEqual(["closed", []]);
        expect(member.stats()).toMatchObject({ connections: 0, inFlight: 0 });
      }
    }),
  );

  test("during a start that hangs ends both, and nothing is left", async () => {
    using sim = new Simulation(1);
    sim.network.swallow("10.7.0.1:9876");
    const consumer = createPushConsumerOn(sim.host(), {
      namesrvAddr: "10.7.0.1:9876",
      consumerGroup: GROUP,
      codec: text,
      coreMemory: 8,
      subscriptions: { [TOPIC]: "*" },
    });
    const running = consumer.run({ eachMessage() {} });
    await sim.run(100);
    await sim.run(consumer.shutdown({ timeout: 1_000 }));
    await sim.run(running);
    expect(await failure(consumer.run({ eachMessage() {} }))).toBeInstanceOf(ClosedError);
    expect(sim.planned).toBe(0);
  });

  test(
    "with the broker gone ends in time",
    inCluster(async ({ sim, cluster, producer, consumer }) => {
      const member = consumer();
      const seen = collect(member);
      await sim.run(sendAll(producer(), 5));
      await sim.run(() => seen.length === 5);
      await sim.run(cluster.close());
      const started = sim.now;
      await sim.run(member.shutdown({ timeout: 2_000 }));
      expect(sim.now - started).toBeLessThan(2_050);
    }),
  );

  test(
    "comes by the signal of the options too",
    inCluster(async ({ sim, consumer }) => {
      const controller = new AbortController();
      const running = consumer({ signal: controller.signal }).run({ eachMessage() {} });
      await sim.run(1_000);
      controller.abort();
      await sim.run(running);
    }),
  );

  test(
    "leaves no timer, no connection and no memory behind",
    inCluster(async ({ sim, producer, consumer }) => {
      const member = consumer();
      const empty = member.stats().coreBytesInUse;
      const seen = collect(member);
      const sender = producer();
      await sim.run(sendAll(sender, 50));
      await sim.run(() => seen.length === 50);
      await sim.run(Promise.all([member.shutdown(), sender.shutdown()]));
      expect(member.stats()).toMatchObject({ connections: 0, inFlight: 0, coreBytesInUse: empty });
    }),
  );
});
