import { equal, onceEach } from "../check.ts";
import { consume, keyOf } from "../consuming.ts";
import { keysOf, numbered, sendAll } from "../messages.ts";
import type { Scenario } from "../trial.ts";

/** "Aa" and "BB" have the same hash in Java, so the broker lets both through: the client has to look at the text. */
export const tags: Scenario = {
  name: "a tag filter with a hash collision",
  deadlineMs: 60_000,
  async run(trial) {
    const topic = trial.name("tags");
    const producer = trial.producer();
    const wanted = numbered(topic, "wanted", 40, "Aa");
    const colliding = numbered(topic, "colliding", 40, "BB");
    const filtered = numbered(topic, "filtered", 40, "Cc");
    const untagged = numbered(topic, "untagged", 8);
    const mixed = wanted.flatMap((message, index) =>
      [message, colliding[index], filtered[index], untagged[index] ?? []].flat()
    );
    await sendAll(producer, mixed.filter((message) => message !== undefined));
    const last = numbered(topic, "last", 8, "Aa"); // behind all others, in every queue
    await sendAll(producer, last);

    const consumerGroup = trial.name("tags");
    const one = await consume(trial, { consumerGroup, subscriptions: { [topic]: "Aa" } });
    await one.seen.until(({ length }) => length >= 48, "48 messages with the tag Aa");
    await one.consumer.shutdown();
    onceEach(one.seen.items.map(keyOf), keysOf([...wanted, ...last]), `consumed with "Aa"`);

    const both = await consume(trial, { consumerGroup: trial.name("tags"), subscriptions: { [topic]: "Cc || BB" } });
    await both.seen.until(({ length }) => length >= 80, "80 messages with the tags BB and Cc");
    await both.consumer.shutdown();
    onceEach(both.seen.items.map(keyOf), keysOf([...colliding, ...filtered]), `consumed with "Cc || BB"`);

    // What was filtered is behind us: the group goes on after it, and it does not come again.
    const again = await consume(trial, { consumerGroup, subscriptions: { [topic]: "Aa" } });
    const more = numbered(topic, "more", 8, "Aa");
    await sendAll(producer, more);
    await again.seen.until(({ length }) => length >= 8, "8 more messages");
    await again.consumer.shutdown();
    onceEach(again.seen.items.map(keyOf), keysOf(more), "consumed after the restart");
    equal(trial.background, [], "background errors");
  },
};
