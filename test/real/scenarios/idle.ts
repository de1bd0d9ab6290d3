import { equal, holds } from "../check.ts";
import { consume, keyOf, queuesOf } from "../consuming.ts";
import { numbered, sendAll } from "../messages.ts";
import type { Scenario } from "../trial.ts";
import { pause, poll } from "../watch.ts";

/** The broker holds a pull for 15 seconds and then answers that there is nothing. */
const LONGER_THAN_THE_BROKER_HOLDS_MS = 18_000;

export const idle: Scenario = {
  name: "an idle long poll",
  deadlineMs: 90_000,
  manner: "idle",
  async run(trial) {
    const topic = trial.name("idle");
    const producer = trial.producer();
    const warm = numbered(topic, "warm", 4);
    await sendAll(producer, warm);
    const { consumer, seen } = await consume(trial, {
      consumerGroup: trial.name("idle"),
      subscriptions: { [topic]: "*" },
    });
    const lost: string[] = [];
    consumer.on("disconnect", ({ addr }) => void lost.push(addr));
    await seen.until(({ length }) => length >= 4, "4 messages");
    await poll(trial.signal, "all queues", () => queuesOf(consumer, topic) === 4);

    const before = consumer.stats();
    await pause(LONGER_THAN_THE_BROKER_HOLDS_MS);
    const after = consumer.stats();
    const sent = after.bytesOut - before.bytesOut;
    holds(sent > 0n && sent < 50_000n, `a quiet client says little, it sent ${sent} bytes`);
    equal(after.connections, before.connections, "connections");
    equal(lost, [], "lost connections");

    // Held pulls are answered as soon as something comes.
    const started = performance.now();
    const late = numbered(topic, "late", 4);
    await sendAll(producer, late, 1);
    await seen.until(({ length }) => length >= 8, "4 late messages");
    const elapsed = performance.now() - started;
    holds(elapsed < 2_000, `the held pulls were answered at once, in ${elapsed.toFixed(0)} ms`);
    equal(seen.items.slice(4).map(keyOf).sort(), late.map(({ keys }) => keys).sort(), "late messages");
    equal(trial.background, [], "background errors");
  },
};
