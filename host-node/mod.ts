import type {
  ClientOptions,
  Producer,
  ProducerOptions,
  PushConsumer,
  PushConsumerOptions,
  SharedClient,
} from "../client/mod.ts";
import { createClientOn, createProducerOn, createPushConsumerOn } from "../client/shared_client.ts";
import { host } from "./host.ts";

export * from "../client/mod.ts";

/** Several producers and consumers on one core, one set of connections and one client id. */
export function createClient(options: ClientOptions): SharedClient {
  return createClientOn(host, options);
}

/** Creates a producer. Nothing is connected before the first call that needs it. */
export function createProducer<T = Uint8Array>(options: ProducerOptions<T>): Producer<T> {
  return createProducerOn(host, options);
}

/** Creates a push consumer. Nothing is connected before `run()` or `start()`. */
export function createPushConsumer<T = Uint8Array>(options: PushConsumerOptions<T>): PushConsumer<T> {
  return createPushConsumerOn(host, options);
}
