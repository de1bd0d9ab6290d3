// Sends a greeting and consumes it, on Node 20 and later:
//   node examples/quick_start.mjs [name server]
import process from "node:process";
import { createProducer, createPushConsumer, text } from "rocketmq-wasm";

const namesrvAddr = process.argv[2] ?? "127.0.0.1:9876";
const producer = createProducer({ namesrvAddr, codec: text });
const consumer = createPushConsumer({
  namesrvAddr,
  codec: text,
  consumerGroup: "readers",
  consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
  subscriptions: { greetings: "hello" },
});
try {
  const { msgId } = await producer.send({ topic: "greetings", tags: "hello", body: "Hello, RocketMQ" });
  const greeting = await new Promise((resolve, reject) => {
    consumer.run({ eachMessage: (message) => resolve(message.body) }).catch(reject);
  });
  console.log(msgId, greeting);
} finally {
  await Promise.all([producer.shutdown(), consumer.shutdown()]);
}
