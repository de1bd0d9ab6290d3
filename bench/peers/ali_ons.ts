// ali-ons, end to end: ali_ons.ts send|push|through name=value…, one line of JSON. `folder` is where the benchmark installed it.
import { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { Counter, measurementOf, print } from "../e2e/meter.ts";
import { Arrivals, bodyOf, limitTime, newRun, sendAtRate, sendInWindow } from "../e2e/paced.ts";
import { ownSettings, type Settings } from "../e2e/settings.ts";

interface AliOns {
  readonly Producer: new (
    options: object,
  ) => {
    on(event: string, listener: (error: Error) => void): void;
    ready(): Promise<void>;
    send(message: object): Promise<unknown>;
  };
  readonly Consumer: new (options: object) => {
    on(event: string, listener: (error: Error) => void): void;
    ready(): Promise<void>;
    subscribe(topic: string, tags: string, handler: (message: { readonly body: Buffer }) => Promise<void>): void;
  };
  readonly Message: new (topic: string, tags: string, body: Buffer) => object;
}

const CLIENT = "ali-ons";
const TAGS = "TagA";
const ASSIGNED_AFTER_MS = 5_000;
/** It takes nothing but async functions for handlers. */
const taken = Promise.resolve();
const settings = ownSettings();
const load = createRequire(join(settings.text("folder"), "x.js"));
const { Producer, Consumer, Message } = load("ali-ons") as AliOns;
const quiet = { info() {}, warn() {}, debug() {}, error: (...args: unknown[]) => console.error(...args) };
const base = { httpclient: load("urllib"), nameSrv: settings.text("nameServer"), logger: quiet };

const kinds: Readonly<Record<string, (given: Settings) => Promise<void>>> = { send, push, through };
const run = kinds[settings.kind];
if (!run) throw new Error(`There is no case "${settings.kind}"`);
await run(settings);
process.exit(0);

async function newProducer() {
  const producer = new Producer({
    ...base,
    producerGroup: "bench_p",
    sendMsgTimeout: 20_000,
    retryTimesWhenSendFailed: 0,
    compressMsgBodyOverHowmuch: 1 << 30,
  });
  producer.on("error", (error) => console.error(error));
  await producer.ready();
  return producer;
}

function newConsumer(given: Settings, options: object = {}) {
  const consumer = new Consumer({ ...base, consumerGroup: given.text("group"), ...options });
  consumer.on("error", (error) => console.error(error));
  return consumer;
}

async function send(given: Settings): Promise<void> {
  const producer = await newProducer();
  const topic = given.text("topic"), body = Buffer.from(bodyOf(given.number("bodyBytes")));
  const messages = given.number("messages");
  const { marks, latencies, errors } = await sendInWindow(() => producer.send(new Message(topic, TAGS, body)), {
    window: given.number("window"),
    warmUp: given.number("warmUp"),
    messages,
  });
  print(measurementOf(CLIENT, messages, marks, latencies, errors));
}

/** What has come when the time is over is reported: it may be much slower than the others. */
async function push(given: Settings): Promise<void> {
  const counter = new Counter(given.number("warmUp"), given.number("messages"));
  const consumer = newConsumer(given, { consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" });
  consumer.subscribe(given.text("topic"), "*", async () => {
    counter.add(1);
    await taken;
  });
  const inTime = limitTime(Math.min(40, given.number("timeout")), () => counter.cut());
  const marks = await counter.done;
  inTime();
  print(measurementOf(CLIENT, counter.counted, marks));
}

async function through(given: Settings): Promise<void> {
  const topic = given.text("topic"), messages = given.number("messages"), number = newRun();
  const arrivals = new Arrivals(number, messages);
  newConsumer(given).subscribe(topic, "*", async ({ body }) => {
    arrivals.take(body);
    await taken;
  });
  await new Promise((resolve) => setTimeout(resolve, ASSIGNED_AFTER_MS));
  const producer = await newProducer();
  const plan = {
    bodyBytes: given.number("bodyBytes"),
    warmUp: given.number("warmUp"),
    messages,
    perSecond: given.number("rate"),
  };
  limitTime(given.number("timeout"), () => process.exit(3));
  const sent = await sendAtRate(
    (body) => producer.send(new Message(topic, TAGS, Buffer.from(body.buffer as ArrayBuffer))),
    plan,
    arrivals,
    number,
  );
  print(measurementOf(CLIENT, messages, sent.marks, sent.latencies, sent.errors));
}
