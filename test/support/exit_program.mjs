// What must not keep a process alive: the case named on the command line runs, and the process ends by itself.
import { createClient, createProducer, createPushConsumer, isRocketMQError, text } from "rocketmq-wasm";

const [name, namesrvAddr] = globalThis.Deno?.args ?? process.argv.slice(2);
/** A topic and a group of its own for each case. */
const topic = name.replaceAll(" ", "_"), consumerGroup = topic, subscriptions = { [topic]: "*" };
const base = { namesrvAddr, codec: text };
const consuming = { ...base, consumerGroup, consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET", subscriptions };

const cases = {
  async "a round trip"() {
    const producer = createProducer(base);
    const consumer = createPushConsumer(consuming);
    await producer.send({ topic, body: "there and back" });
    const { promise, resolve } = withResolvers();
    const running = consumer.run({ eachMessage: (message) => resolve(message.body) });
    const body = await promise;
    await Promise.all([producer.shutdown(), consumer.shutdown()]);
    await running;
    return body;
  },
  async "a shared client"() {
    const client = createClient({ namesrvAddr });
    await client.createProducer({ codec: text }).send({ topic, body: "shared" });
    await client.createPushConsumer({ consumerGroup, subscriptions }).start();
    await client.shutdown();
    return client.state;
  },
  async "clients that were never started"() {
    createProducer(base);
    createPushConsumer(consuming);
    return await Promise.resolve("created");
  },
  async "a shutdown in a handler"() {
    const producer = createProducer(base);
    await producer.send({ topic, body: "last" });
    await producer.shutdown();
    const consumer = createPushConsumer(consuming);
    await consumer.run({ eachMessage: () => consumer.shutdown() });
    return consumer.state;
  },
  async "a handler that never ends"() {
    const producer = createProducer(base);
    await producer.send({ topic, body: "stuck" });
    await producer.shutdown();
    const consumer = createPushConsumer(consuming);
    const { promise, resolve } = withResolvers();
    const running = consumer.run({
      eachMessage() {
        resolve();
        return new Promise(() => {});
      },
    });
    await promise;
    await consumer.shutdown({ timeout: 300 });
    await running;
    return consumer.state;
  },
  async "a name server that is not there"() {
    const producer = createProducer({ ...base, namesrvAddr: "127.0.0.1:1", sendMsgTimeout: 500 });
    const error = await producer.send({ topic, body: "nowhere" }).catch((error) => error);
    await producer.shutdown();
    return isRocketMQError(error) ? error.code : String(error);
  },
};

function withResolvers() {
  let resolve;
  const promise = new Promise((resolved) => resolve = resolved);
  return { promise, resolve };
}

console.log(await cases[name]());
