// A handler that fails gets its message again, later. The broker keeps it until then; it counts how often it came back.
//   deno run --allow-net examples/retry.ts        bun examples/retry.ts
import { createProducer, createPushConsumer, text } from "rocketmq-wasm";
import { startCluster } from "rocketmq-wasm/broker";

// A real broker waits 10 s before the first retry; level by level up to 2 h.
await using cluster = await startCluster({ messageDelayLevel: "1s" });
const { namesrvAddr } = cluster;

await using producer = createProducer({ namesrvAddr, codec: text });
const { msgId } = await producer.send({ topic: "mails", body: "Dear reader" });

await using consumer = createPushConsumer({
  namesrvAddr,
  codec: text,
  consumerGroup: "mailer",
  consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
  subscriptions: { mails: "*" },
  // After so many retries the broker moves a message to the dead letter queue "%DLQ%mailer".
  maxReconsumeTimes: 3,
});
await new Promise<void>((resolve, reject) => {
  consumer.run({
    eachMessage(message, context) {
      console.log(`try ${message.reconsumeTimes + 1} of a message to ${message.topic}`);
      if (message.reconsumeTimes === 0) {
        context.delayLevelWhenNextConsume = 1;
        throw new Error("the mail server is down");
      }
      console.log(`sent "${message.body}", ${message.msgId === msgId ? "the same message" : "another message"}`);
      resolve();
    },
  }).catch(reject);
});
