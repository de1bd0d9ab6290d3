import { equal, holds } from "../check.ts";
import { consume, keyOf } from "../consuming.ts";
import { isRocketMQError } from "../../../client/errors.ts";
import type { Message } from "../../../client/mod.ts";
import { numbered } from "../messages.ts";
import type { Scenario } from "../trial.ts";
import { pause, poll } from "../watch.ts";

/** A sender goes on through it all. What its sends said decides what must arrive: at least once, when they resolved. */
export const brokerRestart: Scenario = {
  name: "the broker is killed and restarted",
  deadlineMs: 120_000,
  manner: "alone",
  async run(trial) {
    const topic = trial.name("broker");
    const producer = trial.producer({ sendMsgTimeout: 2_000 });
    const { consumer, seen } = await consume(trial, {
      consumerGroup: trial.name("broker"),
      subscriptions: { [topic]: "*" },
    });

    const stored: string[] = [];
    const failures: unknown[] = [];
    let going = true;
    const sender = async (word: string): Promise<void> => {
      for (const message of endless(topic, word)) {
        if (!going || trial.signal.aborted) return;
        try {
          await producer.send(message);
          stored.push(String(message.keys));
        } catch (error) {
          failures.push(error);
          await pause(50);
        }
        await pause(5);
      }
    };
    const senders = Promise.all(["one", "two", "three"].map(sender));
    trial.atEnd(() => {
      going = false;
      return senders;
    });

    await seen.until(({ length }) => length >= 100, "100 messages before the broker is killed");
    equal(failures, [], "failures before the broker is killed");
    await trial.cluster.kill("broker-a-0");
    await poll(trial.signal, "a send to fail while the broker is down", () => failures.length > 0);
    const storedBefore = stored.length;
    await trial.cluster.restart("broker-a-0");
    await poll(trial.signal, "100 sends after the restart", () => stored.length >= storedBefore + 100);
    going = false;
    await senders;

    await seen.until((items) => isSubset(stored, items.map(keyOf)), "every message whose send resolved");
    const strange = failures.filter((error) => !isRocketMQError(error) || !error.retryable);
    equal(strange.map(String), [], "failures that are no retryable error of ours");
    await consumer.shutdown();
    holds(trial.background.every(isRocketMQError), `background errors are ours: ${trial.background.map(String)}`);
  },
};

function isSubset(some: readonly string[], all: readonly string[]): boolean {
  const set = new Set(all);
  return some.every((each) => set.has(each));
}

function* endless(topic: string, word: string): Generator<Message> {
  for (let index = 0;; index++) yield* numbered(topic, `${word}-${index}`, 1);
}
