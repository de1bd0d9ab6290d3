// Sends ten greetings and consumes them. With the address of a name server it uses that one, otherwise an embedded cluster.
//   node examples/send_and_consume.mjs [NAMESRV_ADDR]        deno run --allow-net … and bun … run it too
import process from "node:process";
import { createProducer, createPushConsumer, text } from "rocketmq-wasm";
import { startCluster } from "rocketmq-wasm/broker";

const cluster = process.argv[2] ? undefined : await startCluster();
const namesrvAddr = process.argv[2] ?? cluster.namesrvAddr;

const producer = createProducer({ namesrvAddr, codec: text });
const consumer = createPushConsumer({
  namesrvAddr,
  codec: text,
  consumerGroup: "readers",
  consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
  subscriptions: { greetings: "*" },
});
try {
  for (let i = 1; i <= 10; i++) {
    const { queue, queueOffset } = await producer.send({
      topic: "greetings",
      keys: `greeting-${i}`,
      body: `Hello ${i}`,
    });
    console.log(`sent ${i} to queue ${queue.queueId} at offset ${queueOffset}`);
  }
  await new Promise((resolve, reject) => {
    let consumed = 0;
    consumer.run({
      eachMessage(message) {
        console.log(`consumed ${message.keys[0]}: ${message.body}`);
        if (++consumed === 10) resolve();
      },
    }).catch(reject);
  });
} finally {
  await Promise.all([producer.shutdown(), consumer.shutdown()]);
  await cluster?.close();
}
