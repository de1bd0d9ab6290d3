import type { ConsumeContext, MessageExt, PushConsumer, PushConsumerOptions } from "../../client/mod.ts";
import type { Trial } from "./trial.ts";
import { Watch } from "./watch.ts";

/** A push consumer at work; every delivery is noted before the handler decides about it. */
export interface Consuming {
  readonly consumer: PushConsumer;
  readonly seen: Watch<MessageExt>;
}

export type Handler = (message: MessageExt, context: ConsumeContext) => void | "RECONSUME_LATER" | Promise<void>;

/** Starts a consumer and waits for its first rebalance. */
export async function consume(
  trial: Trial,
  options: Partial<PushConsumerOptions<Uint8Array>> & { consumerGroup: string },
  handler: Handler = () => {},
): Promise<Consuming> {
  const consumer = trial.consumer(options);
  const seen = new Watch<MessageExt>(trial.signal);
  const run = consumer.run({
    eachMessage(message, context) {
      seen.add(message);
      return handler(message, context);
    },
  });
  trial.atEnd(async () => {
    await consumer.shutdown({ timeout: 3_000 });
    await run;
  });
  await Promise.race([run, consumer.start()]);
  return { consumer, seen };
}

/** Our queues of the topic; the retry topic has some of its own. */
export const queuesOf = (consumer: PushConsumer, topic: string): number =>
  consumer.assignment().filter((queue) => queue.topic === topic).length;

/** The first key: the name by which scenarios know a message. */
export const keyOf = (message: MessageExt): string => message.keys[0] ?? "";
