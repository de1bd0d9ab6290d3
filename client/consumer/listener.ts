import { ArgumentError, UnsupportedError } from "../errors.ts";
import type { MessageExt, MessageQueue } from "../message.ts";
import { show } from "../show.ts";

export type ConsumeConcurrentlyStatus = "CONSUME_SUCCESS" | "RECONSUME_LATER";

export interface ConsumeContext {
  readonly queue: MessageQueue;
  /** This handler's own. Fires when the queue is revoked, and when a shutdown does not wait any longer. */
  readonly signal: AbortSignal;
  /** For a message that fails: 0 the broker decides, -1 the dead letter queue, 1..18 a delay level. */
  delayLevelWhenNextConsume: number;
  /**
   * Shuts the consumer down, without waiting for this handler: it may await that. The consumer's own `shutdown()` does the
   * same when it is called before the handler's first `await`; after that it cannot know who calls. A handler that
   * ends later than the shutdown has its message delivered again.
   */
  shutdown(options?: { timeout?: number }): Promise<void>;
  /** Not supported yet. */
  reply(body: Uint8Array): Promise<void>;
}

export type Later<Status> = Status | void | Promise<Status | void>;

/** Nothing returned is success; a throw is RECONSUME_LATER. Other listeners of the public API are not supported yet. */
export interface MessageListener<T> {
  eachMessage(message: MessageExt<T>, context: ConsumeContext): Later<ConsumeConcurrentlyStatus>;
}

const NOT_BUILT = ["eachBatch", "orderly"];

/**
 * Throws `UnsupportedError` for a listener that is not built yet, `ArgumentError` for anything else that is no listener. A
 * class's listener may have members of its own; an object literal that has others is misspelt.
 */
export function checkListener(listener: unknown): void {
  if (listener === null || typeof listener !== "object") {
    throw new ArgumentError(`run() needs a listener with eachMessage, got ${show(listener)}`);
  }
  const members = listener as Readonly<Record<string, unknown>>;
  for (const name of NOT_BUILT) {
    if (members[name]) throw new UnsupportedError(`Listener ${name} is not supported yet: only eachMessage`);
  }
  const prototype: unknown = Object.getPrototypeOf(listener);
  if (prototype === Object.prototype || prototype === null) {
    for (const name of Object.keys(members)) {
      if (name !== "eachMessage" && !NOT_BUILT.includes(name)) {
        throw new ArgumentError(`A listener has no ${show(name)}, only eachMessage`);
      }
    }
  }
  if (typeof members["eachMessage"] !== "function") throw new ArgumentError("run() needs a listener with eachMessage");
}
