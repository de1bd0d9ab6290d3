import process from "node:process";
import type { Producer, PushConsumer } from "../../host-node/mod.ts";
import { BODY_BYTES, checksum, CRC_PROPERTY, fillBody, keyOf } from "./payload.ts";
import { quantile, Tally } from "./tally.ts";

/** Without a new message for so long, what is missing is lost. */
const PATIENCE_MS = 30_000;

export interface Traffic {
  readonly producer: Producer;
  readonly consumer: PushConsumer;
  readonly topic: string;
  readonly messages: number;
  /** Sends that wait for their answer at one time. */
  readonly inFlight: number;
  /** Shows how far it is until the returned function is called. */
  watch(progress: () => Progress): () => void;
  /** Rejects when the cluster is gone. */
  readonly ended: Promise<never>;
}

export interface Progress {
  readonly messages: number;
  readonly sent: number;
  readonly consumed: number;
}

export interface Report {
  readonly sent: number;
  readonly consumed: number;
  readonly seconds: number;
  /** From the call of `send` to the handler. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** From the call of `send` to its result. */
  readonly sendP50Ms: number;
  readonly sendP99Ms: number;
  /** Of this process: producer, consumer and the checking. */
  readonly cpuSeconds: number;
  readonly checksumsVerified: number;
  readonly lost: number;
  readonly duplicate: number;
  readonly bad: number;
}

/** Sends all messages, consumes them at the same time, and ends both clients. */
export async function runTraffic(traffic: Traffic): Promise<Report> {
  const { producer, consumer, messages, ended } = traffic;
  const tally = new Tally(messages);
  const sendLatencies: number[] = [];
  const { arrived, received } = waitForAll(tally, messages);
  const running = consumer.run({ eachMessage: received });
  const failed = Promise.race([ended, running.then(() => arrived)]);
  try {
    await Promise.race([consumer.start(), failed]);
    const stopWatching = traffic.watch(() => ({ messages, sent: sendLatencies.length, consumed: tally.distinct }));
    const started = performance.now();
    const cpu = process.cpuUsage();
    try {
      await Promise.race([sendAll(traffic, tally, sendLatencies), failed]);
      await Promise.race([arrived, failed]);
    } finally {
      stopWatching();
    }
    const seconds = (performance.now() - started) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    // What the consumer still holds is handled before it ends, so a late duplicate is counted.
    await consumer.shutdown();
    return {
      sent: sendLatencies.length,
      consumed: tally.consumed,
      seconds,
      p50Ms: tally.latency(0.5),
      p99Ms: tally.latency(0.99),
      sendP50Ms: quantile(sendLatencies, 0.5),
      sendP99Ms: quantile(sendLatencies, 0.99),
      cpuSeconds: (user + system) / 1e6,
      checksumsVerified: tally.checksumsVerified,
      lost: tally.lost,
      duplicate: tally.duplicate,
      bad: tally.bad,
    };
  } finally {
    await Promise.all([producer.shutdown(), consumer.shutdown()]);
  }
}

/** The handler, and a promise that settles when every message is there or none has come for long. */
function waitForAll(
  tally: Tally,
  messages: number,
): { arrived: Promise<void>; received: (message: Parameters<Tally["received"]>[0]) => void } {
  let settle = (): void => undefined;
  const arrived = new Promise<void>((resolve) => settle = resolve);
  let seen = 0;
  const watchdog = setInterval(() => {
    if (tally.consumed === seen) settle();
    seen = tally.consumed;
  }, PATIENCE_MS);
  watchdog.unref();
  arrived.then(() => clearInterval(watchdog), () => undefined);
  return {
    arrived,
    received(message): void {
      tally.received(message);
      if (tally.distinct === messages) settle();
    },
  };
}

/** A bounded number of senders, each with one message in flight and a body of its own. */
async function sendAll(
  { producer, topic, messages, inFlight }: Traffic,
  tally: Tally,
  latencies: number[],
): Promise<void> {
  let next = 0;
  const sender = async (): Promise<void> => {
    const words = new Uint32Array(BODY_BYTES / 4);
    const body = new Uint8Array(words.buffer);
    while (next < messages) {
      const index = next++;
      fillBody(words, index);
      tally.sending(index);
      const started = performance.now();
      await producer.send({
        topic,
        body,
        tags: "demo",
        keys: keyOf(index),
        properties: { [CRC_PROPERTY]: checksum(body) },
      });
      latencies.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, messages) }, sender));
}
