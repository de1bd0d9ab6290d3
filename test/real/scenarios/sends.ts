import type { Message, MessageExt, SendResult } from "../../../client/mod.ts";
import { equal, holds, onceEach } from "../check.ts";
import { consume, keyOf } from "../consuming.ts";
import { keysOf, noise, randomOf, sendAll } from "../messages.ts";
import type { Scenario } from "../trial.ts";

const COUNT = 1_000;
const LARGE_BODY = 300 * 1024;
/** Everything text may hold on its way through properties: other alphabets, planes, JSON's own characters. */
const TEXTS = ["plain", "Größe €", "日本語 テスト", "🚀 𝄞", `"quoted" \\ back`, "tab\tnewline\n", "a=b;c", " spaces "];

export const sends: Scenario = {
  name: "1,000 sends with tags, keys, UTF-8 properties, one body of 300 KiB",
  deadlineMs: 60_000,
  async run(trial) {
    const topic = trial.name("sends");
    const messages = sample(topic);
    const producer = trial.producer();
    const before = Date.now();
    const results = await sendAll(producer, messages);
    const after = Date.now();
    checkResults(results, topic);

    const { consumer, seen } = await consume(trial, {
      consumerGroup: trial.name("sends"),
      subscriptions: { [topic]: "*" },
    });
    await seen.until(({ length }) => length >= COUNT, `${COUNT} messages`);
    await consumer.shutdown();
    onceEach(seen.items.map(keyOf), keysOf(messages), "consumed");
    const byKey = new Map(seen.items.map((message) => [keyOf(message), message]));
    for (const [index, message] of messages.entries()) {
      const received = byKey.get(`key-${index}`) as MessageExt;
      checkMessage(received, message, results[index] as SendResult);
      holds(
        received.bornTimestamp >= before - 5 && received.bornTimestamp <= after,
        `born at ${received.bornTimestamp}`,
      );
      holds(received.storeTimestamp >= before - 5, `stored at ${received.storeTimestamp}`);
      holds(received.bornHost.startsWith("127.0.0.1"), `bornHost ${received.bornHost}`);
      equal(received.storeHost, trial.cluster.brokerAddr, "storeHost");
    }
    equal(trial.background, [], "background errors");
  },
};

function sample(topic: string): Message[] {
  const random = randomOf(1);
  return Array.from({ length: COUNT }, (_, index) => ({
    topic,
    tags: `tag${index % 7}`,
    keys: [`key-${index}`, `also-${index % 10}`],
    properties: {
      note: TEXTS[index % TEXTS.length] as string,
      Größe: String(index),
      "with space": "x".repeat(index % 50 + 1),
    },
    body: noise(index === 500 ? LARGE_BODY : 1 + Math.floor(random() * 2_000), index),
  }));
}

/** Every result names a place of its own, and the places of a queue follow each other. */
function checkResults(results: readonly SendResult[], topic: string): void {
  equal(results.length, COUNT, "results");
  const offsets = new Map<number, bigint[]>();
  for (const { sendStatus, queue, queueOffset } of results) {
    equal(sendStatus, "SEND_OK", "sendStatus");
    equal([queue.topic, queue.brokerName], [topic, "broker-a"], "queue");
    offsets.set(queue.queueId, [...(offsets.get(queue.queueId) ?? []), queueOffset]);
  }
  holds(offsets.size > 1, "the messages are spread over the queues");
  for (const [queueId, list] of offsets) {
    const sorted = list.sort((one, other) => Number(one - other));
    equal(sorted, sorted.map((_, index) => BigInt(index)), `offsets of queue ${queueId}`);
  }
  equal(new Set(results.map(({ msgId }) => msgId)).size, COUNT, "different message ids");
  equal(new Set(results.map(({ offsetMsgId }) => offsetMsgId)).size, COUNT, "different offset ids");
}

function checkMessage(received: MessageExt, sent: Message, result: SendResult): void {
  const key = keyOf(received);
  equal(received.body, sent.body, `body of ${key}`);
  equal(received.rawBody(), sent.body, `raw body of ${key}`);
  equal([received.topic, received.tags, received.keys], [sent.topic, sent.tags, sent.keys], `words of ${key}`);
  for (const [name, value] of Object.entries(sent.properties ?? {})) {
    equal(received.properties[name], value, `property ${name} of ${key}`);
  }
  equal(
    [received.msgId, received.offsetMsgId, received.brokerName, received.queueId, received.queueOffset],
    [result.msgId, result.offsetMsgId, result.queue.brokerName, result.queue.queueId, result.queueOffset],
    `place of ${key}`,
  );
  equal(received.reconsumeTimes, 0, `reconsumeTimes of ${key}`);
}
