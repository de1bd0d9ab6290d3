import { expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import type { BaseClient } from "../../client/client.ts";
import { text } from "../../client/body_codec.ts";
import { ClosedError, CoreError } from "../../client/errors.ts";
import { createClientOn } from "../../client/shared_client.ts";
import { coreModule } from "../support/core.ts";
import { failure, GROUP, inCluster, sendAll, TOPIC } from "./world.ts";

/** Its next command panics: the ring of submissions says what cannot be. */
function breakCore(client: object): void {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 64 });
  const { exports } = new WebAssembly.Instance(coreModule, { env: { memory } });
  const control = (exports["control"] as WebAssembly.Global).value as number;
  (client as BaseClient).instance.core.write(control + abi.SQ_TAIL, Uint8Array.of(0xff, 0xff, 0xff, 0x7f));
}

test(
  "a consumer whose core breaks down is closed, and run() rejects with what happened, told once",
  inCluster(async ({ sim, producer, consumer, errors }) => {
    const member = consumer();
    const outcome = failure<CoreError>(member.run({ eachMessage() {} }));
    await sim.run(member.start());
    await sim.run(sendAll(producer(), 4));
    await sim.run(1_000);
    breakCore(member);
    await sim.run(60_000);
    expect(await sim.run(outcome)).toBeInstanceOf(CoreError);
    expect(errors.map(({ code }) => code)).toEqual(["ROCKETMQ_CORE"]);
    expect(member.state).toBe("closed");
    expect(member.assignment()).toEqual([]);
    const refused = await failure(member.start());
    expect(refused).toBeInstanceOf(ClosedError);
    expect(refused.cause).toBeInstanceOf(CoreError);
    await sim.run(member.shutdown());
  }),
);

test(
  "so it is while handlers run, while messages wait, and while the consumer is paused",
  inCluster(async ({ sim, producer, consumer, errors }) => {
    for (const how of ["running", "waiting", "paused"]) {
      errors.length = 0;
      const member = consumer({ concurrency: 1, pullThresholdForQueue: 1, consumerGroup: how });
      let end = (): void => {};
      let calls = 0;
      const outcome = failure<CoreError>(member.run({
        eachMessage() {
          calls++;
          return new Promise<void>((resolve) => end = resolve);
        },
      }));
      await sim.run(member.start());
      if (how === "paused") member.pause();
      else {
        await sim.run(sendAll(producer(), 20));
        await sim.run(() => calls === 1);
      }
      breakCore(member);
      if (how === "running") end();
      if (how === "paused") member.resume();
      expect(await sim.run(outcome), how).toBeInstanceOf(CoreError);
      await sim.run(60_000);
      end();
      await sim.run(60_000);
      expect(errors.map(({ code }) => code), how).toEqual(["ROCKETMQ_CORE"]);
      expect(member.state).toBe("closed");
    }
  }),
);

test(
  "a producer's sends fail with it, later ones because the client is closed",
  inCluster(async ({ sim, producer, errors }) => {
    const sender = producer();
    await sim.run(sendAll(sender, 1));
    breakCore(sender);
    const sends = await sim.run(Promise.allSettled(
      [1, 2, 3].map(() => sender.send({ topic: TOPIC, body: "x" })),
    ));
    for (const each of sends) expect((each as PromiseRejectedResult).reason).toBeInstanceOf(CoreError);
    await sim.run(() => sender.state === "closed");
    expect(await failure(sender.send({ topic: TOPIC, body: "x" }))).toBeInstanceOf(ClosedError);
    expect(errors.map(({ code }) => code)).toEqual(["ROCKETMQ_CORE"]);
  }),
);

test(
  "members of one client end together",
  inCluster(async ({ sim, cluster }) => {
    const errors: string[] = [];
    const shared = createClientOn(sim.host("client"), {
      namesrvAddr: cluster.namesrvAddr,
      coreMemory: 16,
      onError: ({ code }) => void errors.push(code),
    });
    const sender = shared.createProducer({ codec: text });
    const idle = shared.createProducer();
    const member = shared.createPushConsumer({ consumerGroup: GROUP, subscriptions: { [TOPIC]: "*" } });
    const outcome = failure<CoreError>(member.run({ eachMessage() {} }));
    await sim.run(sendAll(sender, 1));
    await sim.run(member.start());
    breakCore(shared);
    const send = failure(sender.send({ topic: TOPIC, body: "x" }));
    expect(await sim.run(send)).toBeInstanceOf(CoreError);
    expect(await sim.run(outcome)).toBeInstanceOf(CoreError);
    await sim.run(1_000);
    expect([shared, sender, idle, member].map(({ state }) => state)).toEqual(["closed", "closed", "closed", "closed"]);
    expect(errors).toEqual(["ROCKETMQ_CORE"]);
    expect(() => shared.createProducer()).toThrow(ClosedError);
  }),
);
