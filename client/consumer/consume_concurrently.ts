import { ArgumentError, HandlerError, isRocketMQError, type RocketMQError, UnsupportedError } from "../errors.ts";
import type { Instance } from "../instance.ts";
import type { MessageQueue } from "../message.ts";
import type { ResolvedPushConsumerOptions } from "../options.ts";
import type { PulledMessage } from "../pulled_message.ts";
import { DELAY_LEVEL_MAX } from "../protocol/property_names.ts";
import { isThenable, reasonOf, show } from "../show.ts";
import type { ConsumeContext, MessageListener } from "./listener.ts";
import type { BrokerOffsetStore } from "./offset_store.ts";
import type { ProcessQueue } from "./process_queue.ts";
import { nameOf } from "./queue_broker.ts";
import { sendBack } from "./send_back.ts";

/** A failed message that no broker takes back is handled again after so many ms. */
const AGAIN_PAUSE = 5_000;

/** Runs handlers: at most `concurrency` at once, queues in turn, the messages of one queue in order of their start. */
export class ConsumeConcurrently<T> {
  readonly #instance: Instance;
  readonly #options: ResolvedPushConsumerOptions<T>;
  readonly #store: BrokerOffsetStore;
  /** Queues with messages that wait. */
  readonly #ready: ProcessQueue<T>[] = [];
  #listener: MessageListener<T> | undefined;
  #concurrency: number;
  #running = 0;
  #isStopped = false;
  readonly #isPaused: (queue: MessageQueue) => boolean;
  readonly #shutdown: Shutdown;
  /** Of the handler that is on the stack. */
  #current: Context | undefined;
  /** Running handlers that shut their consumer down: nobody waits for them. */
  #excused = 0;
  #idle: (() => void) | undefined;

  constructor(
    instance: Instance,
    options: ResolvedPushConsumerOptions<T>,
    store: BrokerOffsetStore,
    isPaused: (queue: MessageQueue) => boolean,
    shutdown: Shutdown,
  ) {
    this.#instance = instance;
    this.#options = options;
    this.#store = store;
    this.#isPaused = isPaused;
    this.#shutdown = shutdown;
    this.#concurrency = options.concurrency;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  set concurrency(value: number) {
    if (!Number.isInteger(value) || value < 1) {
      throw new ArgumentError(`concurrency must be a whole number from 1 on, got ${value}`);
    }
    this.#concurrency = value;
    this.#dispatch();
  }

  listen(listener: MessageListener<T>): void {
    this.#listener = listener;
    this.#dispatch();
  }

  /** Messages of a queue wait, or what waited in it may be handled again. */
  arrived(queue: ProcessQueue<T>): void {
    if (!this.#ready.includes(queue)) this.#ready.push(queue);
    this.#dispatch();
  }

  /** No handler is started from now on. Resolves when those that run have ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#ready.length = 0;
    if (this.#running === this.#excused) return Promise.resolve();
    return new Promise((resolve) => this.#idle = resolve);
  }

  /** The handler on the stack, if there is one, shuts the consumer down: waiting for it would be waiting for oneself. */
  excuseCaller(): void {
    if (this.#current) this.#excuse(this.#current);
  }

  #excuse(context: Context): void {
    if (context.isExcused || context.hasEnded) return;
    context.isExcused = true;
    this.#excused++;
    if (this.#isStopped && this.#running === this.#excused) this.#idle?.();
  }

  #dispatch(): void {
    const listener = this.#listener;
    while (listener && !this.#isStopped && this.#running < this.#concurrency) {
      const queue = this.#ready.shift();
      if (!queue) return;
      // Whoever resumes it says that it has messages.
      if (this.#isPaused(queue.queue)) continue;
      const message = queue.take();
      if (!message) continue;
      if (queue.hasPending) this.#ready.push(queue);
      this.#start(listener, queue, message);
    }
  }

  #start(listener: MessageListener<T>, queue: ProcessQueue<T>, message: PulledMessage<T>): void {
    this.#running++;
    let work: unknown;
    const context: Context = new Context(queue, (options) => {
      this.#excuse(context);
      return this.#shutdown(options);
    });
    try {
      const preparing = message.prepare();
      if (preparing) work = preparing.then(() => this.#callUnlessPaused(listener, queue, message, context));
      else work = this.#call(listener, message, context);
      if (isThenable(work)) work = Promise.resolve(work);
    } catch (error) {
      this.#ended(queue, message, context, { error });
      return;
    }
    if (work instanceof Promise) {
      work.then(
        (status) => this.#ended(queue, message, context, undefined, status),
        (error: unknown) => this.#ended(queue, message, context, { error }),
      );
    } else {
      // A synchronous handler ends in a later turn: a thousand of them must not nest.
      this.#instance.host.defer(() => this.#ended(queue, message, context, undefined, work));
    }
  }

  /** A pause that came while the body was inflated holds this message back too. */
  #callUnlessPaused(
    listener: MessageListener<T>,
    queue: ProcessQueue<T>,
    message: PulledMessage<T>,
    context: Context,
  ): unknown {
    return this.#isPaused(queue.queue) ? HELD_BACK : this.#call(listener, message, context);
  }

  #call(listener: MessageListener<T>, message: PulledMessage<T>, context: Context): unknown {
    const before = this.#current;
    this.#current = context;
    try {
      return listener.eachMessage(message, context);
    } finally {
      this.#current = before;
    }
  }

  /** Whatever the handler did, it has left when this is over, or when its message has been given back. */
  #ended(
    queue: ProcessQueue<T>,
    message: PulledMessage<T>,
    context: Context,
    thrown: Thrown | undefined,
    status?: unknown,
  ): void {
    if (!thrown && (status === undefined || status === "CONSUME_SUCCESS")) {
      this.#done(queue, message);
      return this.#left(context);
    }
    if (status === HELD_BACK) {
      if (!queue.isDropped) queue.putBack(message);
      return this.#left(context);
    }
    if (thrown || status !== "RECONSUME_LATER") {
      this.#instance.report(handlerError(`message ${message.msgId} of queue ${nameOf(queue.queue)}`, thrown, status));
    }
    void this.#giveBack(queue, message, context);
  }

  /** A handler still counts as running until its message has been given back. */
  async #giveBack(queue: ProcessQueue<T>, message: PulledMessage<T>, context: Context): Promise<void> {
    const { consumerGroup, maxReconsumeTimes } = this.#options;
    const { delayLevelWhenNextConsume: delayLevel } = context;
    try {
      // Whoever has the queue now gets the message from the broker anyway.
      if (!queue.isDropped) {
        const level = isDelayLevel(delayLevel) ? delayLevel : 0;
        await sendBack(this.#instance, consumerGroup, queue.queue, message, level, maxReconsumeTimes);
        this.#done(queue, message);
      }
    } catch (error) {
      if (!queue.isDropped) this.#again(queue, message, error);
    } finally {
      this.#left(context);
    }
  }

  #again(queue: ProcessQueue<T>, message: PulledMessage<T>, error: unknown): void {
    this.#instance.report(error);
    message.failedLocally();
    const timer = this.#instance.host.clock.setTimer(AGAIN_PAUSE, () => {
      forget();
      queue.putBack(message);
      if (!this.#isStopped) this.arrived(queue);
    });
    const forget = queue.whenDropped(() => timer.cancel());
  }

  #done(queue: ProcessQueue<T>, message: PulledMessage<T>): void {
    try {
      const offset = queue.remove(Number(message.queueOffset));
      if (offset >= 0) this.#store.update(queue.queue, offset, true);
    } catch (error) {
      this.#instance.report(error);
    }
  }

  #left(context: Context): void {
    this.#running--;
    context.hasEnded = true;
    if (context.isExcused) this.#excused--;
    if (this.#isStopped) {
      if (this.#running === this.#excused) this.#idle?.();
    } else {
      this.#dispatch();
    }
  }
}

type Shutdown = (options?: { timeout?: number }) => Promise<void>;

class Context implements ConsumeContext {
  readonly #queue: ProcessQueue<never>;
  readonly shutdown: Shutdown;
  delayLevelWhenNextConsume = 0;
  isExcused = false;
  hasEnded = false;

  constructor(queue: ProcessQueue<unknown>, shutdown: Shutdown) {
    this.#queue = queue as ProcessQueue<never>;
    this.shutdown = shutdown;
  }

  get queue(): ConsumeContext["queue"] {
    return this.#queue.queue;
  }

  get signal(): AbortSignal {
    return this.#queue.signal;
  }

  reply(): Promise<never> {
    return Promise.reject(new UnsupportedError("reply() is not supported yet"));
  }
}

const isDelayLevel = (level: number): boolean => Number.isInteger(level) && level >= -1 && level <= DELAY_LEVEL_MAX;

/** In the place of a status: no handler has been called. */
const HELD_BACK = Symbol();

/** What a handler threw, which may be nothing at all. */
interface Thrown {
  readonly error: unknown;
}

/** The body could not be read: such an error says all by itself. */
const BODY_ERRORS: readonly string[] = ["ROCKETMQ_CODEC", "ROCKETMQ_FRAME"];

function handlerError(what: string, thrown: Thrown | undefined, status: unknown): RocketMQError {
  if (!thrown) return new ArgumentError(`The handler of ${what} returned ${show(status)}, which is not a status`);
  const { error } = thrown;
  if (isRocketMQError(error) && BODY_ERRORS.includes(error.code)) return error;
  return new HandlerError(`The handler of ${what} failed: ${reasonOf(error)}`, { cause: error });
}
