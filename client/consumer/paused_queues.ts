import { ArgumentError } from "../errors.ts";
import type { MessageQueue } from "../message.ts";
import type { QueueNames } from "../route/topic_route.ts";
import { show } from "../show.ts";

/** Which queues are paused: all but some, or some alone. A queue stays paused when it is given up and taken again. */
export class PausedQueues {
  readonly #names: QueueNames;
  #all = false;
  /** Queues for which the opposite holds. */
  readonly #others = new Set<MessageQueue>();

  constructor(names: QueueNames) {
    this.#names = names;
  }

  has(queue: MessageQueue): boolean {
    return this.#all !== this.#others.has(queue);
  }

  /** No queues named: all, those that come later too. Throws `ArgumentError` for what is no queue; nothing has changed then. */
  set(isPaused: boolean, queues: Iterable<MessageQueue> | undefined): void {
    if (queues === undefined) {
      this.#all = isPaused;
      return this.#others.clear();
    }
    if (typeof queues !== "object" || typeof queues?.[Symbol.iterator] !== "function") {
      throw new ArgumentError(`Queues must be a list of message queues, got ${show(queues)}`);
    }
    for (const queue of [...queues].map((each) => this.#known(each))) {
      if (isPaused === this.#all) this.#others.delete(queue);
      else this.#others.add(queue);
    }
  }

  /** Queues are equal by what they say, not by which object says it. */
  #known(queue: MessageQueue): MessageQueue {
    const { topic, brokerName, queueId } = queue ?? {};
    if (typeof topic === "string" && typeof brokerName === "string" && Number.isInteger(queueId)) {
      return this.#names.of(topic, brokerName, queueId);
    }
    throw new ArgumentError(`${show(queue)} is not a message queue`);
  }
}
