// Our client, end to end: ours.ts send|push|through name=value…, one line of JSON. What it uses is what users get.
import process from "node:process";
import type * as client from "../../host-node/mod.ts";
import { Counter, measurementOf, print } from "./meter.ts";
import { Arrivals, bodyOf, limitTime, newRun, sendAtRate, sendInWindow } from "./paced.ts";
import { ownSettings, type Settings } from "./settings.ts";

const door: typeof client = "Deno" in globalThis
  ? await import("../../host-deno/mod.ts")
  : await import("../../host-node/mod.ts");

const CLIENT = "ours";
/** As the peers: nothing compressed, no retries, and a busy broker is waited for. */
const SENDING = {
  producerGroup: "bench_p",
  compression: false,
  retryTimesWhenSendFailed: 0,
  sendMsgTimeout: 20_000,
} as const;
const TAGS = "TagA";

const kinds: Readonly<Record<string, (settings: Settings) => Promise<void>>> = { send, push, through };
const settings = ownSettings();
const run = kinds[settings.kind];
if (!run) throw new Error(`There is no case "${settings.kind}"`);
const inTime = limitTime(settings.number("timeout"), () => {
  console.error(`"${settings.kind}" took more than ${settings.number("timeout")} s`);
  process.exit(3);
});
await run(settings);
inTime();
process.exit(0);

async function send(given: Settings): Promise<void> {
  const { createProducer } = door;
  const producer = createProducer({ namesrvAddr: given.text("nameServer"), ...SENDING, ...serialize(given) });
  const topic = given.text("topic"), body = bodyOf(given.number("bodyBytes")), messages = given.number("messages");
  const { marks, latencies, errors } = await sendInWindow(() => producer.send({ topic, tags: TAGS, body }), {
    window: given.number("window"),
    warmUp: given.number("warmUp"),
    messages,
  });
  print(measurementOf(CLIENT, messages, marks, latencies, errors));
  await producer.shutdown();
}

async function push(given: Settings): Promise<void> {
  const counter = new Counter(given.number("warmUp"), given.number("messages"));
  const consumer = door.createPushConsumer({
    namesrvAddr: given.text("nameServer"),
    consumerGroup: given.text("group"),
    consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
    subscriptions: { [given.text("topic")]: "*" },
    ...serialize(given),
  });
  const running = consumer.run({ eachMessage: () => counter.add(1) });
  const marks = await Promise.race([counter.done, running.then(() => Promise.reject(new Error("It ended too soon")))]);
  print(measurementOf(CLIENT, counter.counted, marks));
  await consumer.shutdown();
}

async function through(given: Settings): Promise<void> {
  const topic = given.text("topic"), messages = given.number("messages"), number = newRun();
  const shared = door.createClient({ namesrvAddr: given.text("nameServer"), ...serialize(given) });
  const arrivals = new Arrivals(number, messages);
  const consumer = shared.createPushConsumer({ consumerGroup: given.text("group"), subscriptions: { [topic]: "*" } });
  const assigned = new Promise<void>((resolve) => {
    consumer.on("rebalance", () => {
      if (consumer.assignment().length > 0) resolve();
    });
  });
  const running = consumer.run({ eachMessage: (message) => arrivals.take(message.body) });
  await Promise.race([assigned, running]);
  const producer = shared.createProducer(SENDING);
  const plan = {
    bodyBytes: given.number("bodyBytes"),
    warmUp: given.number("warmUp"),
    messages,
    perSecond: given.number("rate"),
  };
  const sent = await sendAtRate((body) => producer.send({ topic, tags: TAGS, body }), plan, arrivals, number);
  print(measurementOf(CLIENT, messages, sent.marks, sent.latencies, sent.errors));
  await shared.shutdown();
}

function serialize(given: Settings): { readonly serializeType: "JSON" | "ROCKETMQ" } {
  return { serializeType: given.number("binary", 0) === 1 ? "ROCKETMQ" : "JSON" };
}
