import type { Client } from "../client.ts";
import { ClosedError, RouteError, TimeoutError, UnsupportedError } from "../errors.ts";
import { CONSUMER_EVENTS, type ConsumerEvents } from "../events.ts";
import type { Timer } from "../host.ts";
import type { Instance } from "../instance.ts";
import { orGiveUp } from "../limit.ts";
import { Slabs } from "../message_batch.ts";
import type { MessageQueue } from "../message.ts";
import { type MessageSelector, type ResolvedPushConsumerOptions, tagExpression } from "../options.ts";
import type { ConsumerData } from "../protocol/heartbeat.ts";
import { checkTopic, isRetryTopic, retryTopic } from "../protocol/names.ts";
import { buildSubscription, type SubscriptionData } from "../protocol/subscription.ts";
import { type Reading, readingWith } from "../reading.ts";
import { QueryingClient } from "../queries.ts";
import type { TopicRoute } from "../route/topic_route.ts";
import { ConsumeConcurrently } from "./consume_concurrently.ts";
import { Credits } from "./credits.ts";
import { checkListener, type MessageListener } from "./listener.ts";
import { BrokerOffsetStore } from "./offset_store.ts";
import { PausedQueues } from "./paused_queues.ts";
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
  /**
   * Rejects if the start fails, or with the `CoreError` when the core breaks down; otherwise settles after `shutdown()`, also
   * when that is called during the start. `start()` settles after the first rebalance.
   */
  run(listener: MessageListener<T>): Promise<void>;
  /**
   * Starts no further handler for messages of these queues until they are resumed; no queues named: all, those that come
   * later too. What has been pulled, or comes from a pull that waits at its broker, stays here meanwhile. Handlers that run
   * go on. A queue stays paused when it is given up and taken again. Any object with the queue's topic, broker name and id
   * will do.
   */
  pause(queues?: Iterable<MessageQueue>): void;
  /** After a `pause()` of all, `resume(queues)` resumes these alone. */
  resume(queues?: Iterable<MessageQueue>): void;
  assignment(): readonly MessageQueue[];
}

/** Rebalancing, ms: when all is as it should be, and when it is not. */
const REBALANCE_INTERVAL = 20_000;
const REBALANCE_SOON = 1_000;
/** A queue whose offset the broker corrects rests, ms: twice as long every time that it brings nothing in between. */
const MOVED_PAUSE = 1_000;
const MOVED_PAUSE_MAX = 10_000;
/** A queue whose pulls have stopped for so long is given up and taken again. */
const PULL_EXPIRES = 120_000;

export class DefaultPushConsumer<T> extends QueryingClient<ConsumerEvents> implements PushConsumer<T>, PullContext<T> {
  readonly options: ResolvedPushConsumerOptions<T>;
  readonly store: BrokerOffsetStore;
  readonly credits: Credits;
  readonly slabs: Slabs;
  readonly reading: Reading<T>;
  readonly #consuming: ConsumeConcurrently<T>;
  readonly #subscriptions = new Map<string, SubscriptionData>();
  readonly #queues = new Map<MessageQueue, ProcessQueue<T>>();
  readonly #loops = new WeakMap<ProcessQueue<T>, PullLoop<T>>();
  /** Topics whose new subscription the brokers have not heard of yet: they are not pulled. */
  readonly #unannounced = new Set<string>();
  readonly #paused: PausedQueues;
  /** Queues whose offset was corrected and that have brought nothing since: how long they rest, and until when. */
  readonly #resting = new Map<MessageQueue, { readonly pause: number; readonly until: number }>();
  /** Queues that were given up, until their offsets are committed. */
  readonly #givingUp = new Map<MessageQueue, Promise<void>>();
  #listener: MessageListener<T> | undefined;
  #isActive = false;
  /** What a start that failed had done is being undone. */
  #undoing: Promise<void> | undefined;
  /** Of the newest subscription. */
  #subVersion = 0;
  #rebalancing: Promise<void> | undefined;
  #rebalanceAgain = false;
  /** The next run of rebalancing, and when it is due. */
  #timer: Timer | undefined;
  #due = 0;
  #persisting: Timer | undefined;
  #ended: (() => void)[] = [];

  constructor(instance: Instance, ownsInstance: boolean, options: ResolvedPushConsumerOptions<T>) {
    super(instance, ownsInstance, CONSUMER_EVENTS);
    this.options = options;
    this.store = new BrokerOffsetStore(instance, options.consumerGroup);
    this.credits = new Credits(instance.options.coreMemory);
    this.slabs = new Slabs(instance.host);
    this.reading = readingWith(instance, options.codec);
    this.#paused = new PausedQueues(instance.routes.queueNames);
    this.#consuming = new ConsumeConcurrently(
      instance,
      options,
      this.store,
      (queue) => this.#paused.has(queue),
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
    checkListener(listener);
    if (this.#isEnding) throw this.closedError();
    if (this.#listener) throw new UnsupportedError("run() was called before: a consumer has one listener");
    this.#listener = listener;
    const ended = new Promise<void>((resolve) => this.#ended.push(resolve));
    try {
      await this.start();
      this.#consuming.listen(listener);
    } catch (error) {
      // A shutdown meanwhile is no failure, whatever it made the start fail with.
      if (!this.#isEnding) {
        this.#listener = undefined;
        throw error;
      }
    }
    await ended;
    if (this.failure) throw this.failure;
  }

  get #isEnding(): boolean {
    return this.state === "draining" || this.state === "closed";
  }

  async subscribe(topic: string, selector?: MessageSelector): Promise<void> {
    if (this.#isEnding) throw this.closedError();
    this.#subscribe(topic, tagExpression(topic, selector));
    if (!this.#isActive) return;
    // A pull that waits at the broker is for the old subscription, and would pass by what only the new one wants.
    this.#unannounced.add(topic);
    const held = this.#heldOf(topic);
    for (const queue of held) this.#loops.get(queue)?.end();
    await this.#findRoutes();
    await this.instance.heartbeat();
    this.#unannounced.delete(topic);
    for (const queue of held) if (!queue.isDropped) this.#pull(queue);
    await this.#rebalance();
  }

  async unsubscribe(topic: string): Promise<void> {
    if (!this.#subscriptions.delete(topic) || !this.#isActive) return;
    // At once: what a pull brings that is under way is not wanted any more.
    const revoked = this.#heldOf(topic).map(({ queue }) => queue);
    const committed = this.#giveUp(revoked, "The topic was unsubscribed");
    if (revoked.length > 0) this.emit("rebalance", { topic, assigned: [], revoked });
    await this.instance.heartbeat();
    await this.#rebalance();
    await committed;
  }

  /** A broker takes a subscription that is newer than the one it has; a clock that was set back makes none older. */
  #subscribe(topic: string, expression: string): void {
    checkTopic(topic);
    const subVersion = Math.max(this.instance.host.clock.now(), this.#subVersion + 1);
    this.#subscriptions.set(topic, buildSubscription(topic, expression, subVersion));
    this.#subVersion = subVersion;
  }

  pause(queues?: Iterable<MessageQueue>): void {
    this.#paused.set(true, queues);
    for (const queue of this.#queues.values()) if (this.#paused.has(queue.queue)) queue.unlease();
  }

  resume(queues?: Iterable<MessageQueue>): void {
    this.#paused.set(false, queues);
    for (const queue of this.#queues.values()) {
      if (this.#paused.has(queue.queue)) continue;
      this.#loops.get(queue)?.wake();
      if (queue.hasPending) this.#consuming.arrived(queue);
    }
  }

  #heldOf(topic: string): ProcessQueue<T>[] {
    return [...this.#queues.values()].filter(({ queue }) => queue.topic === topic);
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

  /** A consumer that ends pulls no more. */
  isPaused(queue: MessageQueue): boolean {
    return this.#isEnding || this.#paused.has(queue);
  }

  subscription(topic: string): SubscriptionData | undefined {
    return this.#unannounced.has(topic) ? undefined : this.#subscriptions.get(topic);
  }

  arrived(queue: ProcessQueue<T>): void {
    if (this.#resting.size > 0) this.#resting.delete(queue.queue);
    this.#consuming.arrived(queue);
  }

  heldBack(queue: ProcessQueue<T>): void {
    const { count, bytes } = queue.state;
    this.emit("backpressure", { queue: queue.queue, cachedMessages: count, cachedBytes: bytes });
  }

  /** The broker says where the queue begins or ends now: it is given up with that offset, and taken again after a while. */
  offsetMoved(queue: ProcessQueue<T>, offset: number): void {
    this.instance.log("warn", "The broker does not have the offset", {
      queue: queue.queue,
      asked: queue.nextOffset,
      offset,
    });
    this.store.update(queue.queue, offset, false);
    const pause = Math.min(MOVED_PAUSE_MAX, 2 * (this.#resting.get(queue.queue)?.pause ?? MOVED_PAUSE / 2));
    this.#resting.set(queue.queue, { pause, until: this.instance.host.clock.monotonic() + pause });
    void this.#giveUp([queue.queue], "The offset of the queue has moved").then(() => this.#rebalanceSoon(pause));
    this.emit("rebalance", { topic: queue.queue.topic, assigned: [], revoked: [queue.queue] });
  }

  // ── start, rebalance, stop ─────────────────────────────────────────────────────────────────────────────────────────

  protected async started(timeLeft: number, signal: AbortSignal | undefined): Promise<void> {
    const { persistConsumerOffsetInterval } = this.options;
    const { host: { clock }, signals } = this.instance;
    const late = () => new TimeoutError("The consumer did not start in time");
    let isGivenUp = false;
    const starting = this.#begin(() => isGivenUp || this.#isEnding);
    try {
      await orGiveUp(clock, signals, starting, { timeout: timeLeft, signal, late });
    } catch (error) {
      isGivenUp = true;
      if (!this.#isEnding) this.#undoing = this.#undo();
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

  async #begin(isOver: () => boolean): Promise<void> {
    await this.#undoing;
    if (isOver()) return;
    this.#subscribe(retryTopic(this.options.consumerGroup), "*");
    this.#isActive = true;
    await this.#findRoutes();
    if (isOver()) return;
    await this.instance.heartbeat();
    if (isOver()) return;
    await this.#rebalance();
  }

  /** The group's other members must not wait for one that has given its start up. Nothing has been consumed yet. */
  async #undo(): Promise<void> {
    this.#isActive = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const queue of this.#queues.values()) {
      queue.drop(new ClosedError("The consumer did not start"));
      this.store.remove(queue.queue);
    }
    this.#queues.clear();
    await this.instance.unregister({ consumerGroup: this.options.consumerGroup }, UNDO_TIMEOUT);
  }

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
      // No topic waits for another one's broker.
      const results = await Promise.all([...this.#subscriptions.keys()].map((topic) => this.#tryRebalanceTopic(topic)));
      isBalanced = results.every((each) => each);
    } while (this.#rebalanceAgain && this.#isActive);
    if (!this.#isActive) return;
    this.#rebalanceSoon(isBalanced ? REBALANCE_INTERVAL : REBALANCE_SOON);
    const now = this.instance.host.clock.monotonic();
    for (const { until } of this.#resting.values()) if (until > now) this.#rebalanceSoon(until - now);
  }

  async #tryRebalanceTopic(topic: string): Promise<boolean> {
    try {
      return await this.#rebalanceTopic(topic);
    } catch (error) {
      this.instance.report(error);
      return false;
    }
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
    const revoked = this.#heldOf(topic)
      .filter((each) => !wanted.has(each.queue) || this.#hasStopped(each))
      .map(({ queue }) => queue);
    void this.#giveUp(revoked, "The queue was given to another member of the group");
    const now = instance.host.clock.monotonic();
    const added = [...wanted].filter((queue) =>
      !this.#queues.has(queue) && !((this.#resting.get(queue)?.until ?? 0) > now)
    );
    const results = await Promise.all(added.map((queue) => this.#take(queue)));
    const assigned = added.filter((_, index) => results[index]);
    if (revoked.length > 0 || assigned.length > 0) this.emit("rebalance", { topic, assigned, revoked });
    return assigned.length === added.length && members.includes(instance.clientId);
  }

  #hasStopped(queue: ProcessQueue<T>): boolean {
    const isWaiting = this.#loops.get(queue)?.isWaiting ?? false;
    return !isWaiting && this.instance.host.clock.monotonic() - queue.lastPull > PULL_EXPIRES;
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
    // It was ours a moment ago: where it begins is what is just being committed.
    await this.#givingUp.get(queue);
    let offset: number;
    try {
      offset = await startOffset(instance, this.store, queue, this.options.consumeFromWhere);
    } catch (error) {
      instance.report(error);
      return false;
    }
    if (!this.#isActive || this.#queues.has(queue) || !this.#subscriptions.has(queue.topic)) return false;
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

  /**
   * Drops the queues at once; what is finished is committed, all together, what runs is somebody else's to do again. Settles
   * when the brokers have the offsets, or could not be told. Never rejects.
   */
  #giveUp(queues: readonly MessageQueue[], why: string): Promise<void> {
    for (const queue of queues) {
      const processQueue = this.#queues.get(queue);
      this.#queues.delete(queue);
      processQueue?.drop(new ClosedError(why));
    }
    const committed = this.store.persist(queues).then(() => {
      for (const queue of queues) {
        this.store.remove(queue);
        this.#givingUp.delete(queue);
      }
    });
    for (const queue of queues) this.#givingUp.set(queue, committed);
    return committed;
  }

  protected async stopped(timeLeft: () => number): Promise<void> {
    this.#isActive = false;
    this.#timer?.cancel();
    this.#persisting?.cancel();
    await this.within(timeLeft() * DRAIN_SHARE, this.#consuming.stop());
    const queues = [...this.#queues.values()];
    for (const queue of queues) queue.drop(new ClosedError("The consumer was shut down"));
    await this.store.persist(queues.map(({ queue }) => queue), timeLeft());
    this.#queues.clear();
    await Promise.all([...this.#givingUp.values(), this.#undoing]);
    await this.instance.unregister({ consumerGroup: this.options.consumerGroup }, timeLeft());
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), consumerGroup: this.options.consumerGroup, topics: [...this.#subscriptions.keys()] };
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

/** A broker that does not hear the farewell of a failed start finds out by itself, when the connection ends. */
const UNDO_TIMEOUT = 3_000;
/** Of the time a shutdown has, so much may pass until the handlers have ended. */
const DRAIN_SHARE = 0.8;
