// Sends, consumes and shuts down. It must end by itself: nothing calls exit.
const isDeno = "Deno" in globalThis;
const { createProducer, createPushConsumer, text } = isDeno
  ? await import("../../../dist/host-deno/mod.js")
  : await import("../../../dist/host-node/mod.js");
const { startCluster } = isDeno
  ? await import("../../../dist/host-deno/broker.js")
  : await import("../../../dist/host-node/broker.js");

const cluster = await startCluster({ topics: { Orders: { queues: 4 } } });
const { namesrvAddr } = cluster;
const producer = createProducer({ namesrvAddr, codec: text });
const consumer = createPushConsumer({
  namesrvAddr,
  codec: text,
  consumerGroup: "billing",
  consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
  subscriptions: { Orders: "*" },
});
let seen = 0;
const running = consumer.run({
  async eachMessage(_, context) {
    await Promise.resolve();
    if (++seen === 20) await context.shutdown();
  },
});
await Promise.all(Array.from({ length: 20 }, (_, i) => producer.send({ topic: "Orders", body: `order ${i}` })));
await running;
await producer.shutdown();

// A client that never connects, and one whose name server is not there.
const idle = createProducer({ namesrvAddr });
await idle.shutdown();
await cluster.close();
const lost = createProducer({ namesrvAddr, codec: text });
const code = await lost.send({ topic: "Orders", body: "late" }).then(() => "sent", (error) => error.code);
await lost.shutdown();
console.log(`${seen} ${code}`);
