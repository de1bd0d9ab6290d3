// A consumer that runs until it is told to stop: by a signal of yours, here after twenty messages, or by Ctrl-C. What has
// been pulled and not handled comes again after the next start, what has been handled does not.
//   node examples/stop.mjs
import process from "node:process";
import { createProducer, createPushConsumer, text } from "rocketmq-wasm";
import { startCluster } from "rocketmq-wasm/broker";

const cluster = await startCluster();
const { namesrvAddr } = cluster;
const producer = createProducer({ namesrvAddr, codec: text });
await Promise.all(Array.from({ length: 40 }, (_, i) => producer.send({ topic: "work", body: `task ${i}` })));
await producer.shutdown();

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
const done = new Set();

/** Runs until `signal`; returns how many tasks it has done. */
async function work(signal) {
  const consumer = createPushConsumer({
    namesrvAddr,
    codec: text,
    consumerGroup: "workers",
    consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
    subscriptions: { work: "*" },
    concurrency: 5,
    signal,
  });
  let count = 0;
  // Settles when the consumer has shut down: handlers have ended, offsets are at the broker.
  await consumer.run({
    async eachMessage({ body }) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      done.add(body);
      count++;
      if (done.size === 20 || done.size === 40) stopNow();
    },
  });
  return count;
}

let stopNow = () => stop.abort();
const first = await work(stop.signal);
const again = new AbortController();
stopNow = () => again.abort();
const second = await work(again.signal);
console.log(`${done.size} tasks done, ${first + second - done.size} of them twice, in two runs`);
await cluster.close();
