import { createProducer, createPushConsumer, text } from "rocketmq-wasm";

const namesrvAddr = "127.0.0.1:9876";
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
