// Sends a greeting and consumes it, on Deno and Bun:
//   deno run --allow-net examples/quick_start.ts [name server]
//   bun examples/quick_start.ts [name server]
import process from "node:process";
import { createProducer, createPushConsumer, text } from "rocketmq-wasm";

const namesrvAddr = process.argv[2] ?? "127.0.0.1:9876";
await using producer = createProducer({ namesrvAddr, codec: text });
const { msgId } = await producer.send({ topic: "greetings", tags: "hello", body: "Hello, RocketMQ" });

await using consumer = createPushConsumer({
  namesrvAddr,
  codec: text,
  consumerGroup: "readers",
  consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
  subscriptions: { greetings: "hello" },
});
const greeting = await new Promise<string>((resolve, reject) => {
  consumer.run({ eachMessage: (message) => resolve(message.body) }).catch(reject);
});
console.log(msgId, greeting);
