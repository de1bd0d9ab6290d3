import type { Producer, ProducerOptions, PushConsumer, PushConsumerOptions } from "../../client/mod.ts";
import { createProducer, createPushConsumer } from "./doors.ts";
import type { JavaClient } from "./java_client.ts";
import type { RealCluster } from "./real_cluster.ts";

export type SerializeType = "JSON" | "ROCKETMQ";

/** One thing that must hold, tried against one cluster with one kind of header. */
export interface Scenario {
  readonly name: string;
  /** Longer than this is a failure; all that the scenario started is ended then. */
  readonly deadlineMs: number;
  /**
   * How it gets along with others on one cluster: `alone` ends processes of the cluster; `idle` mostly waits, and runs
   * beside the rest.
   */
  readonly manner?: "alone" | "idle";
  run(trial: Trial): Promise<void>;
}

/** What a scenario works with. Everything made through it is ended after it, in reverse order. */
export class Trial {
  readonly version: string;
  readonly serializeType: SerializeType;
  readonly namesrvAddr: string;
  /** Fires at the deadline, or when the whole run is interrupted. */
  readonly signal: AbortSignal;
  /** Failures that had no caller (`onError` of every client). */
  readonly background: Error[] = [];
  readonly #cluster: RealCluster | undefined;
  readonly #java: JavaClient | undefined;
  readonly #ends: (() => unknown)[] = [];

  constructor({ version, serializeType, namesrvAddr, signal, cluster, java }: TrialParts) {
    this.version = version;
    this.serializeType = serializeType;
    this.namesrvAddr = namesrvAddr;
    this.signal = signal;
    this.#cluster = cluster;
    this.#java = java;
  }

  get cluster(): RealCluster {
    if (this.#cluster === undefined) throw new Error("this scenario needs a real cluster");
    return this.#cluster;
  }

  get java(): JavaClient {
    if (this.#java === undefined) throw new Error("this scenario needs the Java client");
    return this.#java;
  }

  /** A name no other scenario uses, for a topic or a group. */
  name(word: string): string {
    return `${word}-${this.serializeType}-${crypto.randomUUID().slice(0, 8)}`;
  }

  producer(options: Partial<ProducerOptions<Uint8Array>> = {}): Producer {
    const producer = createProducer({ ...this.#common(), ...options });
    this.atEnd(() => producer.shutdown({ timeout: 3_000 }));
    return producer;
  }

  consumer(options: Partial<PushConsumerOptions<Uint8Array>> & { consumerGroup: string }): PushConsumer {
    const consumer = createPushConsumer({
      ...this.#common(),
      consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
      ...options,
    });
    this.atEnd(() => consumer.shutdown({ timeout: 3_000 }));
    return consumer;
  }

  atEnd(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Ends all that was started; returns what went wrong doing so. */
  async end(): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (const end of this.#ends.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }

  #common() {
    return {
      namesrvAddr: this.namesrvAddr,
      serializeType: this.serializeType,
      pollNameServerInterval: 1_000,
      heartbeatBrokerInterval: 2_000,
      onError: (error: Error) => void this.background.push(error),
    };
  }
}

export interface TrialParts {
  readonly version: string;
  readonly serializeType: SerializeType;
  readonly namesrvAddr: string;
  readonly signal: AbortSignal;
  readonly cluster?: RealCluster;
  readonly java?: JavaClient;
}
