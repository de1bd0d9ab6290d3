import { equal, holds, onceEach } from "../check.ts";
import { consume, keyOf } from "../consuming.ts";
import { keysOf, numbered, sendAll } from "../messages.ts";
import type { Scenario } from "../trial.ts";
import { pause } from "../watch.ts";

const CONCURRENCY = 8;

export const restart: Scenario = {
  name: "a restarted consumer resumes at the committed offset",
  deadlineMs: 60_000,
  async run(trial) {
    const topic = trial.name("restart");
    const options = { consumerGroup: trial.name("restart"), subscriptions: { [topic]: "*" }, concurrency: CONCURRENCY };
    const producer = trial.producer();
    const first = numbered(topic, "first", 200);
    await sendAll(producer, first);

    const one = await consume(trial, options);
    await one.seen.until(({ length }) => length >= 200, "200 messages");
    await one.consumer.shutdown();
    onceEach(one.seen.items.map(keyOf), keysOf(first), "consumed at first");

    // Ended in the midst of its work: what it began it finishes and commits, the rest is for the next one.
    const second = numbered(topic, "second", 200);
    await sendAll(producer, second);
    const finished: string[] = [];
    const two = await consume(trial, options, async (message) => {
      await pause(5);
      finished.push(keyOf(message));
    });
    await two.seen.until(({ length }) => length >= 60, "60 messages");
    await two.consumer.shutdown();
    equal(finished.length, two.seen.items.length, "handlers that had begun and finished");
    holds(finished.length < 200, "the second consumer left some");

    const three = await consume(trial, options);
    await three.seen.until(
      (items) => new Set([...finished, ...items.map(keyOf)]).size >= 200,
      "the rest of the second 200",
    );
    await three.consumer.shutdown();
    const rest = three.seen.items.map(keyOf);
    holds([...finished, ...rest].every((key) => key.startsWith("second-")), "nothing of the first 200 came again");
    equal(new Set(rest).size, rest.length, "each once after the restart");
    const twice = rest.filter((key) => finished.includes(key));
    holds(twice.length <= CONCURRENCY * 4, `few came twice, ${twice.length} did`); // gaps behind an offset, per queue
    equal(trial.background, [], "background errors");
  },
};
