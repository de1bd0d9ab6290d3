import { BaseClient, type Client, type ClientState } from "./client.ts";
import { DefaultPushConsumer, type PushConsumer } from "./consumer/push_consumer.ts";
import { ArgumentError, UnsupportedError } from "./errors.ts";
import type { Host } from "./host.ts";
import { Instance } from "./instance.ts";
import {
  checkOptionNames,
  type ClientOptions,
  type ProducerOptions,
  type PushConsumerOptions,
  resolveClientOptions,
  resolveProducerOptions,
  resolvePushConsumerOptions,
} from "./options.ts";
import { DefaultProducer, type Producer } from "./producer/producer.ts";

/**
 * Several producers and consumers on one instance: one core, one set of connections, one client id. Its shutdown ends them
 * all; a member's own ends that member alone.
 */
export interface SharedClient extends Client {
  createProducer<T = Uint8Array>(options?: Omit<ProducerOptions<T>, keyof ClientOptions>): Producer<T>;
  createPushConsumer<T = Uint8Array>(options: Omit<PushConsumerOptions<T>, keyof ClientOptions>): PushConsumer<T>;
}

export function createClientOn(host: Host, options: ClientOptions): SharedClient {
  checkOptionNames(options, "client");
  return new DefaultSharedClient(new Instance(host, resolveClientOptions(options)));
}

export function createProducerOn<T>(host: Host, options: ProducerOptions<T>): Producer<T> {
  checkOptionNames(options, "client", "producer");
  const resolved = resolveProducerOptions(options);
  return new DefaultProducer(new Instance(host, resolveClientOptions(options)), true, resolved);
}

export function createPushConsumerOn<T>(host: Host, options: PushConsumerOptions<T>): PushConsumer<T> {
  checkOptionNames(options, "client", "consumer");
  const resolved = resolvePushConsumerOptions(options);
  return new DefaultPushConsumer(new Instance(host, resolveClientOptions(options)), true, resolved);
}

class DefaultSharedClient extends BaseClient implements SharedClient {
  readonly #members = new Set<Pick<Client, "shutdown" | "state">>();

  constructor(instance: Instance) {
    super(instance, true);
  }

  /** The first member that starts starts the client. */
  override get state(): ClientState {
    const state = super.state;
    return state === "created" && this.instance.isStarted ? "running" : state;
  }

  /** Members start without it. */
  protected override get mustStop(): boolean {
    return true;
  }

  createProducer<T = Uint8Array>(options: Omit<ProducerOptions<T>, keyof ClientOptions> = {}): Producer<T> {
    this.#checkOpen();
    checkOptionNames(options, "producer");
    const producer = new DefaultProducer(this.instance, false, resolveProducerOptions(options));
    this.#members.add(producer);
    return producer;
  }

  createPushConsumer<T = Uint8Array>(options: Omit<PushConsumerOptions<T>, keyof ClientOptions>): PushConsumer<T> {
    this.#checkOpen();
    checkOptionNames(options, "consumer");
    const resolved = resolvePushConsumerOptions(options);
    const { consumerGroup } = resolved;
    for (const member of this.#members) {
      // Both would have the same client id, and so the same queues.
      if (member instanceof DefaultPushConsumer && member.options.consumerGroup === consumerGroup) {
        throw new ArgumentError(`This client has a consumer of group "${consumerGroup}" already`);
      }
    }
    const consumer = new DefaultPushConsumer(this.instance, false, resolved);
    this.#members.add(consumer);
    return consumer;
  }

  createLitePullConsumer(): never {
    throw new UnsupportedError("createLitePullConsumer() is not supported yet");
  }

  createPullConsumer(): never {
    throw new UnsupportedError("createPullConsumer() is not supported yet");
  }

  createSimpleConsumer(): never {
    throw new UnsupportedError("createSimpleConsumer() is not supported yet");
  }

  #checkOpen(): void {
    if (this.state === "draining" || this.state === "closed") throw this.closedError();
    for (const member of this.#members) if (member.state === "closed") this.#members.delete(member);
  }

  protected started(): Promise<void> {
    return Promise.resolve();
  }

  protected async stopped(timeLeft: () => number): Promise<void> {
    await Promise.all([...this.#members].map((member) => member.shutdown({ timeout: timeLeft() })));
  }
}
