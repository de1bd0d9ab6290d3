import type { Offset } from "../core.ts";
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
  /** Synchronous handlers that have returned in this turn. */
  #ending: Call<T>[] = [];
  #isStopped = false;
  readonly #isPaused: (queue: MessageQueue) => boolean;
  readonly #shutdown: Shutdown;
  /** Of the handler that is on the stack. */
  #current: Call<T> | undefined;
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

  #excuse(call: Call<T>): void {
    if (call.isExcused || call.hasEnded) return;
    call.isExcused = true;
    this.#excused++;
    if (this.#isStopped && this.#running === this.#excused) this.#idle?.();
  }

  #dispatch(): void {
    const listener = this.#listener;
    while (listener && !this.#isStopped && this.#running < this.#concurrency) {
      const queue = this.#ready.shift();
      if (!queue) return;
      // Whoever resumes it says that it has messages.
      if (this.#isPaused(queue.queue)) {
        queue.unlease();
        continue;
      }
      const message = queue.take();
      if (!message) continue;
      if (queue.hasPending) this.#ready.push(queue);
      this.#start(listener, queue, message);
    }
  }

  #start(listener: MessageListener<T>, queue: ProcessQueue<T>, message: PulledMessage<T>): void {
    this.#running++;
    let work: unknown;
    const call = new Call(queue, message, this.#shutDownFrom);
    try {
      const preparing = message.prepare();
      if (preparing) work = preparing.then(() => this.#callUnlessPaused(listener, call));
      else work = this.#call(listener, call);
      if (isThenable(work)) work = Promise.resolve(work);
    } catch (error) {
      this.#ended(call, { error });
      return;
    }
    if (work instanceof Promise) {
      work.then(
        (status) => this.#ended(call, undefined, status),
        (error: unknown) => this.#ended(call, { error }),
      );
    } else {
      // A synchronous handler ends in a later turn: a thousand of them must not nest.
      call.status = work;
      if (this.#ending.push(call) === 1) this.#instance.host.defer(this.#endAll);
    }
  }

  /** What has succeeded leaves its queue with one command for all. */
  readonly #endAll = (): void => {
    const ending = this.#ending, touched: ProcessQueue<T>[] = [];
    this.#ending = [];
    for (const { processQueue, message, status } of ending) {
      if (isSuccess(status) && processQueue.finish(message.offset)) touched.push(processQueue);
    }
    for (const queue of touched) this.#remove(queue, () => queue.removeFinished());
    for (const call of ending) {
      if (isSuccess(call.status)) this.#settled(call);
      else this.#ended(call, undefined, call.status);
    }
  };

  readonly #shutDownFrom = (call: Call<T>, options?: { timeout?: number }): Promise<void> => {
    this.#excuse(call);
    return this.#shutdown(options);
  };

  /** A pause that came while the body was inflated holds this message back too. */
  #callUnlessPaused(listener: MessageListener<T>, call: Call<T>): unknown {
    return this.#isPaused(call.queue) ? HELD_BACK : this.#call(listener, call);
  }

  #call(listener: MessageListener<T>, call: Call<T>): unknown {
    const before = this.#current;
    this.#current = call;
    try {
      return listener.eachMessage(call.message, call);
    } finally {
      this.#current = before;
    }
  }

  /** Whatever the handler did, it has left when this is over, or when its message has been given back. */
  #ended(call: Call<T>, thrown: Thrown | undefined, status?: unknown): void {
    const { processQueue, message } = call;
    call.returned();
    if (!thrown && isSuccess(status)) return this.#done(call);
    if (status === HELD_BACK) return this.#heldBack(call);
    if (thrown || status !== "RECONSUME_LATER") {
      const what = `message ${message.msgId} of queue ${nameOf(processQueue.queue)}`;
      this.#instance.report(handlerError(what, thrown, status));
    }
    void this.#giveBack(call);
  }

  /** A handler still counts as running until its message has been given back. */
  async #giveBack(call: Call<T>): Promise<void> {
    const { processQueue: queue, message } = call, { consumerGroup, maxReconsumeTimes } = this.#options;
    const { delayLevelWhenNextConsume: delayLevel } = call;
    try {
      // Whoever has the queue now gets the message from the broker anyway.
      if (!queue.isDropped) {
        const level = isDelayLevel(delayLevel) ? delayLevel : 0;
        await sendBack(this.#instance, consumerGroup, queue.queue, message, level, maxReconsumeTimes);
        return this.#done(call);
      }
    } catch (error) {
      if (!queue.isDropped) this.#again(queue, message, error);
    }
    if (queue.isDropped) message.settle();
    this.#left(call);
  }

  #again(queue: ProcessQueue<T>, message: PulledMessage<T>, error: unknown): void {
    message.failedLocally();
    message.unlease();
    const timer = this.#instance.host.clock.setTimer(AGAIN_PAUSE, () => {
      forget();
      queue.putBack(message);
      if (!this.#isStopped) this.arrived(queue);
    });
    const forget = queue.whenDropped(() => {
      timer.cancel();
      message.settle();
    });
    // At the end: whoever hears of it may give the queue up.
    this.#instance.report(error);
  }

  #done(call: Call<T>): void {
    const { processQueue, message } = call;
    this.#remove(processQueue, () => processQueue.remove(message.offset));
    this.#settled(call);
  }

  #heldBack(call: Call<T>): void {
    if (call.processQueue.isDropped) return this.#settled(call);
    call.processQueue.putBack(call.message);
    call.message.unlease();
    this.#left(call);
  }

  /** Even if the core cannot do that any more, the handlers have ended. */
  #remove(queue: ProcessQueue<T>, remove: () => Offset): void {
    try {
      const offset = remove();
      if (offset >= 0) this.#store.update(queue.queue, offset, true);
    } catch (error) {
      this.#instance.report(error);
    }
  }

  #settled(call: Call<T>): void {
    call.returned();
    call.message.settle();
    this.#left(call);
  }

  #left(call: Call<T>): void {
    this.#running--;
    call.hasEnded = true;
    if (call.isExcused) this.#excused--;
    if (this.#isStopped) {
      if (this.#running === this.#excused) this.#idle?.();
    } else {
      this.#dispatch();
    }
  }
}

type Shutdown = (options?: { timeout?: number }) => Promise<void>;

/** One message in the hands of a handler; what the handler is told about it. */
class Call<T> implements ConsumeContext {
  readonly processQueue: ProcessQueue<T>;
  readonly message: PulledMessage<T>;
  readonly #shutDown: (call: Call<T>, options?: { timeout?: number }) => Promise<void>;
  delayLevelWhenNextConsume = 0;
  /** What a synchronous handler has returned. */
  status: unknown;
  isExcused = false;
  hasEnded = false;
  hasReturned = false;
  #signal: AbortController | undefined;

  constructor(
    processQueue: ProcessQueue<T>,
    message: PulledMessage<T>,
    shutDown: (call: Call<T>, options?: { timeout?: number }) => Promise<void>,
  ) {
    this.processQueue = processQueue;
    this.message = message;
    this.#shutDown = shutDown;
  }

  get queue(): ConsumeContext["queue"] {
    return this.processQueue.queue;
  }

  /** Its own: a runtime warns of a leak when many handlers listen to one. Most never ask for it. */
  get signal(): AbortSignal {
    this.#signal ??= this.processQueue.openSignal();
    if (this.hasReturned) this.processQueue.closeSignal(this.#signal);
    return this.#signal.signal;
  }

  /** The handler has settled: its signal does not fire any more. */
  returned(): void {
    this.hasReturned = true;
    if (this.#signal) this.processQueue.closeSignal(this.#signal);
  }

  /** Works without its object too. */
  get shutdown(): Shutdown {
    return (options) => this.#shutDown(this, options);
  }

  reply(): Promise<never> {
    return Promise.reject(new UnsupportedError("reply() is not supported yet"));
  }
}

const isDelayLevel = (level: number): boolean => Number.isInteger(level) && level >= -1 && level <= DELAY_LEVEL_MAX;

const isSuccess = (status: unknown): boolean => status === undefined || status === "CONSUME_SUCCESS";

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
