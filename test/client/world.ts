import { type ClusterOptions, type EmbeddedCluster, startClusterWith } from "../../broker/mod.ts";
import { text } from "../../client/body_codec.ts";
import type { PushConsumer } from "../../client/consumer/push_consumer.ts";
import type { RocketMQError } from "../../client/errors.ts";
import type { MessageExt } from "../../client/message.ts";
import type { ProducerOptions, PushConsumerOptions } from "../../client/options.ts";
import type { Producer } from "../../client/producer/producer.ts";
import { createProducerOn, createPushConsumerOn } from "../../client/shared_client.ts";
import { rethrowAssertions } from "../support/assertions.ts";
import { Simulation } from "../support/sim.ts";

export const TOPIC = "Orders";
export const GROUP = "billing";

/** A cluster, and clients that are shut down at the end of the test. */
export interface World {
  readonly sim: Simulation;
  readonly cluster: EmbeddedCluster;
  /** What had no caller. */
  readonly errors: RocketMQError[];
  producer(options?: Partial<ProducerOptions<string>>): Producer<string>;
  consumer(options?: Partial<PushConsumerOptions<string>>): PushConsumer<string>;
}

/** Short delay levels, so that a retry takes a second. */
const DELAYS = "1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s";
const SEED = 7;

/** Runs a test in a world of its own: one broker with one topic of four queues unless told otherwise. */
export function inCluster(test: (world: World) => Promise<void>, options: ClusterOptions = {}): () => Promise<void> {
  return async () => {
    using sim = new Simulation(SEED);
    const cluster = await sim.run(startClusterWith(sim.host("cluster"), sim.listener, {
      listenHost: "10.0.0.1",
      messageDelayLevel: DELAYS,
      topics: { [TOPIC]: { queues: 4 } },
      ...options,
    }));
    const clients: (() => Promise<void>)[] = [], errors: RocketMQError[] = [];
    const base = () => ({
      namesrvAddr: cluster.namesrvAddr,
      codec: text,
      coreMemory: 16,
      onError: (error: RocketMQError) => void errors.push(error),
    });
    const kept = <C extends { shutdown(options: { timeout: number }): Promise<void> }>(client: C): C => {
      clients.push(() => client.shutdown({ timeout: 5_000 }));
      return client;
    };
    await test({
      sim,
      cluster,
      errors,
      producer: (more) => kept(createProducerOn(sim.host("producer"), { ...base(), ...more })),
      consumer: (more) =>
        kept(createPushConsumerOn(sim.host("consumer"), {
          ...base(),
          consumerGroup: GROUP,
          consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
          subscriptions: { [TOPIC]: "*" },
          ...more,
        })),
    });
    await sim.run(Promise.all(clients.map((shutdown) => shutdown())));
    await sim.run(cluster.close());
    rethrowAssertions(errors);
  };
}

/** Sends bodies "0", "1", … to the topic, one after the other. */
export async function sendAll(producer: Producer<string>, count: number, first = 0, topic = TOPIC): Promise<void> {
  for (let i = first; i < first + count; i++) await producer.send({ topic, body: String(i) });
}

/** Bodies as numbers, in order of size. */
export const sorted = (bodies: Iterable<string>): number[] => [...bodies].map(Number).sort((one, other) => one - other);

export const numbers = (count: number, first = 0): number[] => Array.from({ length: count }, (_, i) => first + i);

/** Consumes into a list; `run()`'s promise must not fail unseen. */
export function collect(consumer: PushConsumer<string>, errors: unknown[] = []): MessageExt<string>[] {
  const messages: MessageExt<string>[] = [];
  consumer.run({ eachMessage: (message) => void messages.push(message) }).catch((error) => errors.push(error));
  return messages;
}

/** What a promise was rejected with. */
export const failure = <E = RocketMQError>(promise: Promise<unknown>): Promise<E> =>
  promise.then(
    (value) => {
      throw new Error(`It should have failed, but gave ${String(value)}`);
    },
    (error: E) => error,
  );

/** A promise that the test settles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => open = resolve);
  return { opened, open: () => open() };
}
