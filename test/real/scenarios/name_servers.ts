import { equal, onceEach } from "../check.ts";
import { consume, keyOf } from "../consuming.ts";
import { keysOf, numbered, sendAll } from "../messages.ts";
import type { Scenario } from "../trial.ts";

/**
 * Each name server is away once, so one of them is the one that the clients had chosen. Every time a topic comes that
 * nobody has asked for yet: its route can only be had from the other.
 */
export const nameServers: Scenario = {
  name: "name server fail-over with two name servers",
  deadlineMs: 120_000,
  manner: "alone",
  async run(trial) {
    const consumerGroup = trial.name("names");
    const topics = [0, 1, 2].map((index) => trial.name(`names-${index}`));
    const producer = trial.producer();
    const sent: string[] = [];
    const send = async (topic: string): Promise<void> => {
      const messages = numbered(topic, topic, 20);
      await sendAll(producer, messages);
      sent.push(...keysOf(messages));
    };
    await send(topics[0] as string);
    const { consumer, seen } = await consume(trial, {
      consumerGroup,
      subscriptions: Object.fromEntries(topics.map((topic) => [topic, "*"])),
    });
    await seen.until(({ length }) => length >= sent.length, "messages with both name servers");

    for (const [index, name] of ["namesrv-0", "namesrv-1"].entries()) {
      await trial.cluster.kill(name);
      await send(topics[index + 1] as string);
      await seen.until(({ length }) => length >= sent.length, `messages of a new topic without ${name}`);
      // Somebody who comes now meets the dead one as well.
      const late = trial.producer();
      const extra = numbered(topics[0] as string, `late-${name}`, 4);
      await sendAll(late, extra);
      sent.push(...keysOf(extra));
      await seen.until(({ length }) => length >= sent.length, `messages of a new producer without ${name}`);
      await late.shutdown();
      await trial.cluster.restart(name);
    }
    await consumer.shutdown();
    onceEach(seen.items.map(keyOf), sent, "consumed");
    equal(new Set(seen.items.map(({ topic }) => topic)).size, 3, "topics");
  },
};
