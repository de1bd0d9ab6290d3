import type { MessageExt, MessageQueue } from "../message.ts";

export type ConsumeConcurrentlyStatus = "CONSUME_SUCCESS" | "RECONSUME_LATER";

export interface ConsumeContext {
  readonly queue: MessageQueue;
  /** Fires on shutdown and when the queue is revoked. */
  readonly signal: AbortSignal;
  /** For a message that fails: 0 the broker decides, -1 the dead letter queue, 1..18 a delay level. */
  delayLevelWhenNextConsume: number;
  /** Not supported yet. */
  reply(body: Uint8Array): Promise<void>;
}

export type Later<Status> = Status | void | Promise<Status | void>;

/** Nothing returned is success; a throw is RECONSUME_LATER. Other listeners of the public API are not supported yet. */
export interface MessageListener<T> {
  eachMessage(message: MessageExt<T>, context: ConsumeContext): Later<ConsumeConcurrentlyStatus>;
}
