import type { Client } from "../client.ts";
import { ArgumentError, ClosedError, RouteError, UnsupportedError } from "../errors.ts";
import type { ConsumerEvents } from "../events.ts";
import type { Timer } from "../host.ts";
import type { Instance } from "../instance.ts";
import { Slabs } from "../message_batch.ts";
import type { MessageQueue } from "../message.ts";
import { type MessageSelector, type ResolvedPushConsumerOptions, tagExpression } from "../options.ts";
import type { ConsumerData } from "../protocol/heartbeat.ts";
import { checkTopic, isRetryTopic, retryTopic } from "../protocol/names.ts";
import { buildSubscription, type SubscriptionData } from "../protocol/subscription.ts";
import { type Reading, readingWith } from "../pulled_message.ts";
import { QueryingClient } from "../queries.ts";
import type { TopicRoute } from "../route/topic_route.ts";
import { ConsumeConcurrently } from "./consume_concurrently.ts";
import { Credits } from "./credits.ts";
import type { MessageListener } from "./listener.ts";
import { BrokerOffsetStore } from "./offset_store.ts";
import { ProcessQueue } from "./process_queue.ts";
import { type PullContext, PullLoop } from "./pull_loop.ts";
import { allocate, groupMembers } from "./rebalance.ts";
import { startOffset } from "./start_offset.ts";

/** Consumes the topics of a group, together with the group's other members. */
export interface PushConsumer<T = Uint8Array> extends Client<ConsumerEvents> {
  /** May be changed while running. */
  concurrency: number;
  subscribe(topic: string, selector?: MessageSelector): Promise<void>;
  unsubscribe(topic: string): Promise<void>;
  /** Rejects if the start fails, otherwise settles after `shutdown()`. `start()` settles after the first rebalance. */
  run(listener: MessageListener<T>): Promise<void>;
  /** No queues named: all. */
  pause(queues?: Iterable<MessageQueue>): void;
  resume(queues?: Iterable<MessageQueue>): void;
  assignment(): readonly MessageQueue[];
}

/** Rebalancing, ms: when all is as it should be, and when it is not. */
const REBALANCE_INTERVAL = 20_000;
const REBALANCE_SOON = 1_000;
/** A queue whose pulls have stopped for so long is given up and taken again. */
const PULL_EXPIRES = 120_000;

export class DefaultPushConsumer<T> extends QueryingClient<ConsumerEvents> implements PushConsumer<T>, PullContext<T> {
  readonly options: ResolvedPushConsumerOptions<T>;
  readonly store: BrokerOffsetStore;
  readonly credits: Credits;
  readonly slabs = new Slabs();
  readonly reading: Reading<T>;
  readonly #consuming: ConsumeConcurrently<T>;
  readonly #subscriptions = new Map<string, SubscriptionData>();
  readonly #queues = new Map<MessageQueue, ProcessQueue<T>>();
  readonly #loops = new WeakMap<ProcessQueue<T>, PullLoop<T>>();
  /** Topics whose new subscription the brokers have not heard of yet: they are not pulled. */
  readonly #unannounced = new Set<string>();
  #listener: MessageListener<T> | undefined;
  #isPaused = false;
  #isActive = false;
  #rebalancing: Promise<void> | undefined;
  #rebalanceAgain = false;
  /** The next run of rebalancing, and when it is due. */
  #timer: Timer | undefined;
  #due = 0;
  #ended: (() => void)[] = [];

  constructor(instance: Instance, ownsInstance: boolean, options: ResolvedPushConsumerOptions<T>) {
    super(instance, ownsInstance);
    this.options = options;
    this.store = new BrokerOffsetStore(instance, options.consumerGroup);
    this.credits = new Credits(instance.options.coreMemory);
    this.reading = readingWith(instance, options.codec);
    this.#consuming = new ConsumeConcurrently(
      instance,
      options,
      this.store,
      (how) => this.shutdown(how),
    );
    for (const [topic, expression] of Object.entries(options.subscriptions)) this.#subscribe(topic, expression);
  }

  get concurrency(): number {
    return this.#consuming.concurrency;
  }

  set concurrency(value: number) {
    this.#consuming.concurrency = value;
  }

  async run(listener: MessageListener<T>): Promise<void> {
    if (typeof (listener as { eachMessage?: unknown } | undefined)?.eachMessage !== "function") {
      const other = listener !== null && typeof listener === "object" &&
        ("eachBatch" in listener || "orderly" in listener);
      if (other) throw new UnsupportedError("Only eachMessage listeners are supported yet");
      throw new ArgumentError("run() needs a listener with eachMessage");
    }
    if (this.#listener) throw new UnsupportedError("run() was called before: a consumer has one listener");
    this.#listener = listener;
    const ended = new Promise<void>((resolve) => this.#ended.push(resolve));
    try {
      await this.start();
    } catch (error) {
      if (!(error instanceof ClosedError)) this.#listener = undefined;
      throw error;
    }
    this.#consuming.listen(listener);
    await ended;
  }

  async subscribe(topic: string, selector?: MessageSelector): Promise<void> {
    if (this.state === "draining" || this.state === "closed") throw this.closedError();
    this.#subscribe(topic, tagExpression(topic, selector));
    if (!this.#isActive) return;
    // A pull that waits at the broker is for the old subscription, and would pass by what only the new one wants.
    this.#unannounced.add(topic);
    const held = [...this.#queues.values()].filter(({ queue }) => queue.topic === topic);
    for (const queue of held) this.#loops.get(queue)?.end();
    await this.#findRoutes();
    await this.instance.heartbeat();
    this.#unannounced.delete(topic);
    for (const queue of held) if (!queue.isDropped) this.#pull(queue);
    await this.#rebalance();
  }

  async unsubscribe(topic: string): Promise<void> {
    if (!this.#subscriptions.delete(topic) || !this.#isActive) return;
    await this.instance.heartbeat();
    await this.#rebalance();
  }

  #subscribe(topic: string, expression: string): void {
    checkTopic(topic);
    this.#subscriptions.set(topic, buildSubscription(topic, expression, this.instance.host.clock.now()));
  }

  pause(queues?: Iterable<MessageQueue>): void {
    if (queues === undefined) this.#isPaused = true;
    else for (const queue of queues) this.#setPaused(queue, true);
  }

  resume(queues?: Iterable<MessageQueue>): void {
    if (queues !== undefined) return [...queues].forEach((queue) => this.#setPaused(queue, false));
    this.#isPaused = false;
    for (const queue of this.#queues.keys()) this.#setPaused(queue, false);
  }

  #setPaused(queue: MessageQueue, isPaused: boolean): void {
    const processQueue = this.#queues.get(queue);
    if (processQueue) processQueue.isPaused = isPaused;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  assignment(): readonly MessageQueue[] {
    return [...this.#queues.keys()];
  }

  // ── what the instance asks ─────────────────────────────────────────────────────────────────────────────────────────

  consumerData(): ConsumerData | undefined {
    if (!this.#isActive) return undefined;
    const { consumeFromWhere, consumerGroup } = this.options;
    return {
      groupName: consumerGroup,
      consumeType: "CONSUME_PASSIVELY",
      messageModel: "CLUSTERING",
      consumeFromWhere: typeof consumeFromWhere === "string" ? consumeFromWhere : "CONSUME_FROM_TIMESTAMP",
      subscriptionDataSet: [...this.#subscriptions.values()],
      unitMode: false,
    };
  }

  topics(): Iterable<string> {
    return this.#subscriptions.keys();
  }

  routeChanged({ topic }: TopicRoute): void {
    if (this.state === "running" && this.#subscriptions.has(topic)) this.#rebalanceSoon(0);
  }

  membersChanged(consumerGroup: string): void {
    if (consumerGroup === this.options.consumerGroup && this.#isActive) this.#rebalanceSoon(0);
  }

  brokerConnected(): void {
    // Perhaps it was away, and has forgotten what it had not written down.
    this.store.sayAgain();
    if (this.state === "running") this.#rebalanceSoon(0);
  }

  // ── what the pull loops ask ────────────────────────────────────────────────────────────────────────────────────────

  subscription(topic: string): SubscriptionData | undefined {
    return this.#unannounced.has(topic) ? undefined : this.#subscriptions.get(topic);
  }

  arrived(queue: ProcessQueue<T>): void {
    this.#consuming.arrived(queue);
  }

  heldBack(queue: ProcessQueue<T>): void {
    const { count, bytes } = queue.state;
    this.emit("backpressure", { queue: queue.queue, cachedMessages: count, cachedBytes: bytes });
  }

  /** The broker says where the queue begins or ends now: it is given up with that offset, and taken again. */
  offsetMoved(queue: ProcessQueue<T>, offset: number): void {
    this.instance.log("warn", "The broker does not have the offset", {
      queue: queue.queue,
      asked: queue.nextOffset,
      offset,
    });
    this.#queues.delete(queue.queue);
    queue.drop(new ClosedError("The offset of the queue has moved"));
    this.store.update(queue.queue, offset, false);
    void this.store.persist([queue.queue]).then(() => {
      if (!this.#queues.has(queue.queue)) this.store.remove(queue.queue);
      this.#rebalanceSoon(0);
    });
  }

  // ── start, rebalance, stop ─────────────────────────────────────────────────────────────────────────────────────────

  protected async started(): Promise<void> {
    const { consumerGroup, persistConsumerOffsetInterval } = this.options;
    this.#subscribe(retryTopic(consumerGroup), "*");
    this.#isActive = true;
    try {
      await this.#findRoutes();
      await this.instance.heartbeat();
      await this.#rebalance();
    } catch (error) {
      this.#isActive = false;
      throw error;
    }
    // Shut down meanwhile: nothing may start any more.
    if (!this.#isActive) return;
    this.#rebalanceSoon(REBALANCE_INTERVAL);
    this.#persisting = this.instance.every(
      persistConsumerOffsetInterval,
      () => this.store.persist(this.#queues.keys()),
    );
  }

  #persisting: Timer | undefined;

  /** A topic that nobody knows yet may come: its route is asked for again with every refresh. */
  async #findRoutes(): Promise<void> {
    await this.instance.routes.refresh(this.#subscriptions.keys());
  }

  readonly #tick = (): void => {
    this.#timer = undefined;
    void this.#rebalance();
  };

  /** A run that is planned earlier stays: somebody has asked for it while another one was under way. */
  #rebalanceSoon(delay: number): void {
    if (!this.#isActive) return;
    const { clock } = this.instance.host;
    const due = clock.monotonic() + delay;
    if (this.#timer && this.#due <= due) return;
    this.#timer?.cancel();
    this.#due = due;
    this.#timer = clock.setTimer(delay, this.#tick);
  }

  /** One run at a time; a call during a run makes another one follow. Never rejects. */
  #rebalance(): Promise<void> {
    if (this.#rebalancing) {
      this.#rebalanceAgain = true;
      return this.#rebalancing;
    }
    this.#rebalancing = this.#rebalanceAll().finally(() => this.#rebalancing = undefined);
    return this.#rebalancing;
  }

  async #rebalanceAll(): Promise<void> {
    let isBalanced: boolean;
    do {
      this.#rebalanceAgain = false;
      isBalanced = true;
      for (const topic of [...this.#subscriptions.keys()]) {
        if (!this.#isActive) return;
        try {
          if (!await this.#rebalanceTopic(topic)) isBalanced = false;
        } catch (error) {
          isBalanced = false;
          this.instance.report(error);
        }
      }
      for (const queue of [...this.#queues.keys()]) {
        if (!this.#subscriptions.has(queue.topic)) await this.#giveUp(queue);
      }
    } while (this.#rebalanceAgain && this.#isActive);
    if (this.#isActive) this.#rebalanceSoon(isBalanced ? REBALANCE_INTERVAL : REBALANCE_SOON);
  }

  /** False when it should be tried again soon. */
  async #rebalanceTopic(topic: string): Promise<boolean> {
    const { instance } = this;
    const route = instance.routes.known(topic) ?? await this.#askRoute(topic);
    // A broker makes the retry topic when it hears of the group; any other topic may take its time.
    if (!route) return !isRetryTopic(topic);
    const members = await groupMembers(instance, this.options.consumerGroup, route);
    if (!members || !this.#isActive || !this.#subscriptions.has(topic)) return false;
    const { allocateMessageQueueStrategy: strategy, consumerGroup } = this.options;
    const wanted = new Set(allocate(instance, strategy, consumerGroup, route.subscribeQueues, members));
    const now = instance.host.clock.monotonic();
    const held = [...this.#queues.values()].filter(({ queue }) => queue.topic === topic);
    const revoked = held.filter((each) => !wanted.has(each.queue) || now - each.lastPull > PULL_EXPIRES).map((
      { queue },
    ) => queue);
    for (const queue of revoked) await this.#giveUp(queue);
    const added = [...wanted].filter((queue) => !this.#queues.has(queue));
    const results = await Promise.all(added.map((queue) => this.#take(queue)));
    const assigned = added.filter((_, index) => results[index]);
    if (revoked.length > 0 || assigned.length > 0) this.emit("rebalance", { topic, assigned, revoked });
    return assigned.length === added.length && members.includes(instance.clientId);
  }

  async #askRoute(topic: string): Promise<TopicRoute | undefined> {
    try {
      return await this.instance.routes.update(topic);
    } catch (error) {
      if (error instanceof RouteError) return undefined;
      throw error;
    }
  }

  async #take(queue: MessageQueue): Promise<boolean> {
    const { instance } = this;
    this.store.remove(queue);
    let offset: number;
    try {
      offset = await startOffset(instance, this.store, queue, this.options.consumeFromWhere);
    } catch (error) {
      instance.report(error);
      return false;
    }
    if (!this.#isActive || this.#queues.has(queue)) return false;
    const processQueue = new ProcessQueue<T>(instance.core, queue, offset);
    processQueue.lastPull = instance.host.clock.monotonic();
    this.#queues.set(queue, processQueue);
    this.#pull(processQueue);
    return true;
  }

  #pull(queue: ProcessQueue<T>): void {
    this.#loops.get(queue)?.end();
    const loop = new PullLoop(this, queue);
    this.#loops.set(queue, loop);
    this.instance.host.defer(loop.pull);
  }

  /** What is finished is committed; what runs is somebody else's to do again. */
  async #giveUp(queue: MessageQueue): Promise<void> {
    const processQueue = this.#queues.get(queue);
    if (!processQueue) return;
    this.#queues.delete(queue);
    processQueue.drop(new ClosedError("The queue was given to another member of the group"));
    await this.store.persist([queue]);
    if (!this.#queues.has(queue)) this.store.remove(queue);
  }

  protected async stopped(timeLeft: () => number): Promise<void> {
    this.#isActive = false;
    this.#timer?.cancel();
    this.#persisting?.cancel();
    this.#isPaused = true;
    await this.within(timeLeft() * DRAIN_SHARE, this.#consuming.stop());
    const queues = [...this.#queues.values()];
    for (const queue of queues) queue.drop(new ClosedError("The consumer was shut down"));
    await this.store.persist(queues.map(({ queue }) => queue), timeLeft());
    this.#queues.clear();
    await this.instance.unregister({ consumerGroup: this.options.consumerGroup }, timeLeft());
  }

  override async shutdown(options?: { timeout?: number }): Promise<void> {
    this.#consuming.excuseCaller();
    await super.shutdown(options);
    for (const ended of this.#ended.splice(0)) ended();
  }

  // ── not built yet ──────────────────────────────────────────────────────────────────────────────────────────────────

  messages(): never {
    throw new UnsupportedError("messages() is not supported yet");
  }

  [Symbol.asyncIterator](): never {
    throw new UnsupportedError("for await is not supported yet");
  }
}

/** Of the time a shutdown has, so much may pass until the handlers have ended. */
const DRAIN_SHARE = 0.8;
