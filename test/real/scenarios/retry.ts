import { equal, holds, onceEach } from "../check.ts";
import { consume, keyOf } from "../consuming.ts";
import { keysOf, numbered, sendAll } from "../messages.ts";
import type { Scenario } from "../trial.ts";

export const retry: Scenario = {
  name: "a handler that throws: reconsumeTimes 1, original topic and id",
  deadlineMs: 90_000,
  async run(trial) {
    const topic = trial.name("retry");
    const producer = trial.producer();
    const throwing = numbered(topic, "throwing", 5, "throws");
    const asking = numbered(topic, "asking", 5, "asks");
    const good = numbered(topic, "good", 20, "good");
    const messages = [...throwing, ...asking, ...good];
    const results = await sendAll(producer, messages);

    const { consumer, seen } = await consume(
      trial,
      { consumerGroup: trial.name("retry"), subscriptions: { [topic]: "*" } },
      (message) => {
        if (message.reconsumeTimes > 0) return;
        if (message.tags === "throws") throw new Error("this handler fails on purpose");
        if (message.tags === "asks") return "RECONSUME_LATER";
      },
    );
    const again = [...throwing, ...asking];
    await seen.until(
      (items) => items.filter(({ reconsumeTimes }) => reconsumeTimes > 0).length >= again.length,
      `${again.length} messages to come again`,
    );
    await consumer.shutdown();
    const [first, second] = [
      seen.items.filter((each) => each.reconsumeTimes === 0),
      seen.items.filter((each) => each.reconsumeTimes > 0),
    ];
    onceEach(first.map(keyOf), keysOf(messages), "delivered");
    onceEach(second.map(keyOf), keysOf(again), "delivered again");
    for (const message of second) {
      const key = keyOf(message);
      const index = messages.findIndex(({ keys }) => keys === key);
      const before = first.find((each) => keyOf(each) === key);
      equal(message.reconsumeTimes, 1, `reconsumeTimes of ${key}`);
      equal(
        [message.topic, message.msgId, message.tags],
        [topic, results[index]?.msgId, messages[index]?.tags],
        `identity of ${key}`,
      );
      equal(message.body, messages[index]?.body, `body of ${key}`);
      equal(message.bornTimestamp, before?.bornTimestamp, `bornTimestamp of ${key}`);
      holds(message.offsetMsgId !== before?.offsetMsgId, `${key} was stored anew`);
    }
  },
};
