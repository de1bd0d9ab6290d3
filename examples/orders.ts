// Typed messages: a codec turns an order into JSON and back and checks it; a consumer takes the tags it is interested in.
//   deno run --allow-net examples/orders.ts        bun examples/orders.ts
import { createProducer, createPushConsumer, json } from "rocketmq-wasm";
import { startCluster } from "rocketmq-wasm/broker";

interface Order {
  readonly id: number;
  readonly amount: number;
}

/** Anything with `parse`, or a Standard Schema, will do: zod, valibot, arktype … */
const orderSchema = {
  parse(value: unknown): Order {
    const { id, amount } = value as Order;
    if (typeof id !== "number" || typeof amount !== "number") throw new TypeError("not an order");
    return { id, amount };
  },
};

await using cluster = await startCluster({ topics: { orders: { queues: 4 } } });
const { namesrvAddr } = cluster;
const codec = json(orderSchema);

await using producer = createProducer({ namesrvAddr, codec });
await Promise.all([
  producer.send({ topic: "orders", tags: "paid", keys: "1", body: { id: 1, amount: 30 } }),
  producer.send({ topic: "orders", tags: "cancelled", keys: "2", body: { id: 2, amount: 99 } }),
  producer.send({ topic: "orders", tags: "refunded", keys: "3", body: { id: 3, amount: -30 } }),
]);

await using consumer = createPushConsumer({
  namesrvAddr,
  codec,
  consumerGroup: "billing",
  consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
  subscriptions: { orders: "paid || refunded" },
});
const billed: Order[] = [];
await new Promise<void>((resolve, reject) => {
  consumer.run({
    eachMessage(message) {
      billed.push(message.body);
      if (billed.length === 2) resolve();
    },
  }).catch(reject);
});
billed.sort((one, other) => one.id - other.id);
console.log(`billed ${billed.map(({ id, amount }) => `order ${id} over ${amount}`).join(" and ")}`);
