// The official Java client against our embedded broker: as a pair, and each side with one of ours.
import { equal, holds, onceEach } from "../check.ts";
import { consume, keyOf } from "../consuming.ts";
import { JAVA_NOTE, javaBody, sha256 } from "../java_client.ts";
import { keysOf, numbered, sendAll } from "../messages.ts";
import type { Scenario } from "../trial.ts";
import { poll } from "../watch.ts";

export const javaPair: Scenario = {
  name: "embedded broker: Java producer to Java push consumer, tags, compressed bodies, a retry",
  deadlineMs: 90_000,
  async run(trial) {
    const topic = trial.name("pair");
    const group = trial.name("pair");
    const sent = await trial.java.produce(trial, {
      topic,
      count: 60,
      bodyLength: 5 * 1024,
      tags: "Aa,BB,Cc",
      prefix: "pair",
    });
    for (const { status, key } of sent) equal(status, "SEND_OK", `status of ${key}`);
    equal(new Set(sent.map(({ offsetMsgId }) => offsetMsgId)).size, 60, "different offset ids");

    const consumer = await trial.java.consume(trial, { topic, group, selector: "Aa || Cc", failTag: "Cc" });
    const received = await consumer.until(({ length }) => length >= 60, "40 messages, 20 of them twice");
    const wanted = sent.filter((_, index) => index % 3 !== 1);
    onceEach(
      received.filter((each) => each.reconsumeTimes === 0).map(({ key }) => key ?? ""),
      wanted.map(({ key }) => key),
      "delivered",
    );
    const again = received.filter((each) => each.reconsumeTimes > 0);
    onceEach(
      again.map(({ key }) => key ?? ""),
      sent.filter((_, index) => index % 3 === 2).map(({ key }) => key),
      "delivered again",
    );
    for (const message of received) {
      const key = message.key ?? "";
      const result = sent.find((each) => each.key === key);
      equal([message.topic, message.msgId], [topic, result?.msgId], `identity of ${key}`);
      equal([message.bodyLength, message.bodySha256], [5 * 1024, sha256(javaBody(key, 5 * 1024))], `body of ${key}`);
      equal(message.properties["note"], JAVA_NOTE, `property of ${key}`);
      if (message.reconsumeTimes === 0) {
        equal([message.queueId, message.queueOffset, message.offsetMsgId], [
          result?.queueId,
          result?.queueOffset,
          result?.offsetMsgId,
        ], `place of ${key}`);
      } else {
        equal(message.reconsumeTimes, 1, `reconsumeTimes of ${key}`);
      }
    }
    await consumer.close();

    // Its offsets are the broker's: the next one of the group gets only what is new.
    const next = await trial.java.consume(trial, { topic, group, selector: "Aa || Cc" });
    const more = await trial.java.produce(trial, { topic, count: 12, tags: "Aa", prefix: "more", mode: "async" });
    const fresh = await next.until(({ length }) => length >= 12, "12 more messages");
    onceEach(fresh.map(({ key }) => key ?? ""), more.map(({ key }) => key), "delivered after the restart");
    await next.close();
  },
};

export const javaProducer: Scenario = {
  name: "embedded broker: Java producer to our push consumer",
  deadlineMs: 60_000,
  async run(trial) {
    const topic = trial.name("from-java");
    const { seen } = await consume(trial, { consumerGroup: trial.name("from-java"), subscriptions: { [topic]: "*" } });
    const sent = [
      ...await trial.java.produce(trial, { topic, count: 200, bodyLength: 100, tags: "a,b", prefix: "sync" }),
      ...await trial.java.produce(trial, {
        topic,
        count: 300,
        bodyLength: 6_000,
        tags: "a,b",
        prefix: "async",
        mode: "async",
      }),
    ];
    await seen.until(({ length }) => length >= 500, "500 messages");
    onceEach(seen.items.map(keyOf), sent.map(({ key }) => key), "received from Java");
    for (const message of seen.items) {
      const key = keyOf(message);
      const result = sent.find((each) => each.key === key);
      equal(message.body, javaBody(key, key.startsWith("sync") ? 100 : 6_000), `body of ${key}`);
      equal([message.msgId, message.offsetMsgId, message.queueId], [
        result?.msgId,
        result?.offsetMsgId,
        result?.queueId,
      ], `place of ${key}`);
      equal(message.properties["note"], JAVA_NOTE, `property of ${key}`);
    }
  },
};

export const javaConsumers: Scenario = {
  name: "embedded broker: our producer to two Java push consumers, one is killed",
  deadlineMs: 90_000,
  async run(trial) {
    const topic = trial.name("to-java");
    const group = trial.name("to-java");
    const producer = trial.producer();
    await sendAll(producer, numbered(topic, "warm", 4));
    const [one, two] = [
      await trial.java.consume(trial, { topic, group, instanceName: "one" }),
      await trial.java.consume(trial, { topic, group, instanceName: "two" }),
    ];
    const keys = (): string[] => [...one.messages, ...two.messages].map(({ key }) => key ?? "");
    const all = (expected: readonly string[]): boolean => expected.every((key) => keys().includes(key));

    // Messages keep coming until both get some: nothing says from outside when Java has shared out its queues.
    const shared: string[] = [];
    const count = (messages: readonly { readonly key: string | null }[]): number =>
      messages.filter(({ key }) => key?.startsWith("shared")).length;
    for (let round = 0; count(one.messages) === 0 || count(two.messages) === 0; round++) {
      holds(!trial.signal.aborted, "both consumers get messages in time");
      const batch = numbered(topic, `shared-${round}`, 8);
      await sendAll(producer, batch);
      shared.push(...keysOf(batch));
      await poll(trial.signal, "all shared messages", () => all(shared));
    }

    await two.kill();
    const alone = numbered(topic, "alone", 40);
    await sendAll(producer, alone);
    const received = await one.until((messages) => {
      const had = new Set(messages.map(({ key }) => key));
      return alone.every(({ keys }) => had.has(String(keys)));
    }, "all messages at the one that is left");
    for (const message of received) {
      equal(message.bodySha256, sha256(new TextEncoder().encode(message.key ?? "")), `body of ${message.key}`);
    }
    await one.close();
  },
};
