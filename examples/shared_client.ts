// One client for several producers and consumers: one set of connections, one heartbeat, one memory.
//   deno run --allow-net examples/shared_client.ts        bun examples/shared_client.ts
import { createClient, text } from "rocketmq-wasm";
import { startCluster } from "rocketmq-wasm/broker";

await using cluster = await startCluster({ topics: { questions: {}, answers: {} } });
await using client = createClient({
  namesrvAddr: cluster.namesrvAddr,
  onError: (error) => console.error(error.code, error.message),
});
const consumeFromWhere = "CONSUME_FROM_FIRST_OFFSET";

const producer = client.createProducer({ codec: text });
const solver = client.createPushConsumer({
  codec: text,
  consumerGroup: "solvers",
  consumeFromWhere,
  subscriptions: { questions: "*" },
  concurrency: 4,
});
const reader = client.createPushConsumer({
  codec: text,
  consumerGroup: "readers",
  consumeFromWhere,
  subscriptions: { answers: "*" },
});
solver.on("rebalance", ({ topic, assigned }) => {
  if (topic === "questions") console.log(`${assigned.length} queues of ${topic} are ours`);
});

const solving = solver.run({
  async eachMessage({ body }) {
    const [one = 0, other = 0] = body.split("+").map(Number);
    await producer.send({ topic: "answers", body: `${body}=${one + other}` });
  },
});
await producer.send({ topic: "questions", body: "1+1" });
const answer = await new Promise<string>((resolve, reject) => {
  solving.catch(reject);
  reader.run({ eachMessage: ({ body }) => resolve(body) }).catch(reject);
});
console.log(answer);
console.log(`${client.stats().connections} connections for all of them`);
