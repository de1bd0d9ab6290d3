// A whole client inside a worker, started while the main thread is busy: it must need nothing from the main thread but
// its start, and leave nothing behind. Prints what the worker says, then the worker's exit code.
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { createProducer, createPushConsumer, text } from "rocketmq-wasm";

const MESSAGES = 50;

if (isMainThread) await main(globalThis.Deno?.args[0] ?? process.argv[2]);
else await roundTrip(workerData);

async function main(namesrvAddr) {
  const worker = new Worker(new URL(import.meta.url), { workerData: namesrvAddr });
  const ended = new Promise((resolve, reject) => worker.once("exit", resolve).once("error", reject));
  worker.on("message", (count) => console.log(`${count} there and back`));
  for (const busyUntil = performance.now() + 300; performance.now() < busyUntil;);
  console.log(`exit ${await ended}`);
}

async function roundTrip(namesrvAddr) {
  const topic = "InAWorker";
  const producer = createProducer({ namesrvAddr, codec: text });
  const consumer = createPushConsumer({
    namesrvAddr,
    codec: text,
    consumerGroup: topic,
    consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
    subscriptions: { [topic]: "*" },
  });
  const bodies = Array.from({ length: MESSAGES }, (_, index) => `message ${index}`);
  await Promise.all(bodies.map((body) => producer.send({ topic, body })));
  const seen = new Set();
  const running = consumer.run({
    eachMessage(message, context) {
      seen.add(message.body);
      if (seen.size === MESSAGES) context.shutdown();
    },
  });
  await Promise.all([running, producer.shutdown()]);
  parentPort.postMessage(bodies.filter((body) => seen.has(body)).length);
}
