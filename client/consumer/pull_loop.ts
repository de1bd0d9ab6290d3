import type { Frame, Offset } from "../core.ts";
import { isRocketMQError, OverloadError, type RocketMQError } from "../errors.ts";
import type { Timer } from "../host.ts";
import { brokerError } from "../instance.ts";
import { Lease } from "../lease.ts";
import type { MessageBatch } from "../message_batch.ts";
import type { MessageQueue } from "../message.ts";
import { ResponseCode } from "../protocol/codes.ts";
import { readHeader } from "../protocol/header.ts";
import {
  pullArguments,
  type PullFields,
  pullProgram,
  pullRequest,
  type PullTarget,
  readPullAnswer,
} from "../protocol/pull.ts";
import type { SubscriptionData } from "../protocol/subscription.ts";
import { PULL_SUSPEND } from "../protocol/sys_flag.ts";
import type { Call, Outgoing } from "../remoting/remoting.ts";
import type { Credits } from "./credits.ts";
import { Intake, type IntakeContext } from "./intake.ts";
import type { BrokerOffsetStore } from "./offset_store.ts";
import type { ProcessQueue } from "./process_queue.ts";
import { brokerMissing, nameOf } from "./queue_broker.ts";

/** The broker may hold a pull so long, ms; then it answers that there is nothing. */
const SUSPEND_TIMEOUT = 15_000;
const PULL_TIMEOUT = 30_000;
/** Pauses, ms (`DefaultMQPushConsumerImpl`). */
const FLOW_CONTROL_PAUSE = 50;
const ERROR_PAUSE = 1_000;
const BROKER_BUSY_PAUSE = 20;
/** After an answer that came at once and led nowhere, the next pull is not sent at once. */
const EMPTY_PAUSE = 100;
/** Between the pulls of an empty queue that must not wait at its broker, see `Credits`. */
const SHORT_POLL_PAUSE = 1_000;

/** What the pull loops of one consumer share. */
export interface PullContext<T> extends IntakeContext<T> {
  readonly store: BrokerOffsetStore;
  readonly credits: Credits;
  subscription(topic: string): SubscriptionData | undefined;
  isPaused(queue: MessageQueue): boolean;
  /** Messages wait for handlers. */
  arrived(queue: ProcessQueue<T>): void;
  /** Pulling of this queue waits for handlers. */
  heldBack(queue: ProcessQueue<T>): void;
  /** The broker does not have the offset: the loop has ended, its queue begins elsewhere. */
  offsetMoved(queue: ProcessQueue<T>, offset: number): void;
}

/** Pulls one queue, one request at a time, for as long as the queue is ours. It is the call of each of them. */
export class PullLoop<T> implements Call {
  /** The request that is under way. */
  outgoing!: Outgoing;
  readonly #context: PullContext<T>;
  readonly #queue: ProcessQueue<T>;
  /** For the subscription of the last pull. */
  #intake: Intake<T> | undefined;
  #program = 0;
  #timer: Timer | undefined;
  #isHeldBack = false;
  #isAsleep = false;
  #isWaitingForCredit = false;
  /** Of the pull that is under way: when and for which offset it was sent, where to, and whether it may wait there. */
  #asked = 0;
  #askedOffset = 0;
  #addr = "";
  #mayWait = false;
  readonly #forget: () => void;
  /** What comes is not for us any more. */
  #isOver = false;

  constructor(context: PullContext<T>, queue: ProcessQueue<T>) {
    this.#context = context;
    this.#queue = queue;
    this.#forget = queue.whenDropped(() => this.end());
  }

  /** The next pull, unless something speaks against it; then later. */
  readonly pull = (): void => {
    this.#timer = undefined;
    if (this.#isOver) return;
    const { queue } = this.#queue;
    // Also a queue that waits has not been forgotten.
    this.#queue.lastPull = this.#context.instance.host.clock.monotonic();
    this.#isAsleep = this.#context.isPaused(queue);
    if (this.#isAsleep) return;
    try {
      if (this.#mustWait()) return this.#later(FLOW_CONTROL_PAUSE);
    } catch (error) {
      return this.#failedWith(error);
    }
    this.#isWaitingForCredit = true;
    this.#context.credits.take(this.#send);
  };

  /** Whether the next pull waits for somebody else: then it is not this loop that has stopped. */
  get isWaiting(): boolean {
    return this.#isAsleep || this.#isWaitingForCredit;
  }

  /** The queue is not paused any more. */
  wake(): void {
    if (this.#isAsleep) this.#again();
    this.#isAsleep = false;
  }

  #later(delay: number): void {
    if (!this.#isOver) this.#timer = this.#context.instance.host.clock.setTimer(delay, this.pull);
  }

  #mustWait(): boolean {
    const { options } = this.#context;
    const { count, bytes, span } = this.#queue.state;
    const isFull = count > options.pullThresholdForQueue || bytes > options.pullThresholdSizeForQueue ||
      span > options.consumeConcurrentlyMaxSpan;
    if (isFull && !this.#isHeldBack) this.#context.heldBack(this.#queue);
    this.#isHeldBack = isFull;
    return isFull;
  }

  readonly #send = (mayWait: boolean): void => {
    const queue = this.#queue, { instance, credits } = this.#context;
    const { topic } = queue.queue;
    this.#isWaitingForCredit = false;
    this.#mayWait = mayWait;
    // It may have waited for its credit a while.
    if (this.#isOver || this.#context.isPaused(queue.queue)) {
      credits.give(mayWait);
      return this.pull();
    }
    const subscription = this.#context.subscription(topic);
    const addr = this.#brokerAddr();
    if (!subscription || addr === undefined) {
      credits.give(mayWait);
      return subscription ? void this.#lookForBroker() : this.#later(ERROR_PAUSE);
    }
    this.#asked = queue.lastPull = instance.host.clock.monotonic();
    this.#addr = addr;
    this.#askedOffset = queue.nextOffset;
    if (!this.#intake?.isFor(subscription)) this.#intake = new Intake(this.#context, queue, subscription);
    try {
      this.outgoing = this.#outgoing(subscription);
      instance.remoting.begin(addr, this, PULL_TIMEOUT);
    } catch (error) {
      credits.give(mayWait);
      this.#failedWith(error);
    }
  };

  #brokerAddr(): string | undefined {
    const { queue: { topic, brokerName }, brokerId } = this.#queue;
    return this.#context.instance.routes.brokerAddr(topic, brokerName, brokerId, true);
  }

  /** The route names the queue, but no address of its broker: perhaps a newer one does. */
  async #lookForBroker(): Promise<void> {
    try {
      await this.#context.instance.routes.update(this.#queue.queue.topic);
      if (this.#brokerAddr() !== undefined) return this.pull();
      this.#failedWith(brokerMissing(this.#queue.queue));
    } catch (error) {
      this.#failedWith(error);
    }
  }

  #outgoing(subscription: SubscriptionData): Outgoing {
    const { instance: { core, options: { serializeType } } } = this.#context;
    // Java commits with its pulls too. A broker takes pulls and commits up in different threads, so that a pull would undo
    // the commit that was sent right after it: the last one before a shutdown.
    const fields: PullFields = {
      queueOffset: this.#queue.nextOffset,
      sysFlag: this.#mayWait ? PULL_SUSPEND : 0,
      commitOffset: 0,
      subVersion: subscription.subVersion,
    };
    try {
      this.#program ||= core.program(pullProgram(this.#target(), serializeType), serializeType);
    } catch (error) {
      if (!isRocketMQError(error) || error.code !== "ROCKETMQ_OVERLOAD") throw error;
      return pullRequest(this.#target(), fields);
    }
    return { program: this.#program, value: 0, args: pullArguments(fields) };
  }

  #target(): PullTarget {
    const { consumerGroup, pullBatchSize } = this.#context.options;
    return {
      consumerGroup,
      ...this.#queue.queue,
      maxMsgNums: pullBatchSize,
      suspendTimeoutMillis: SUSPEND_TIMEOUT,
    };
  }

  /** Inside the read callback. The credit is out until nothing of the answer is in the arena any more. */
  settle(frame: Frame): void {
    const { instance, options, credits } = this.#context;
    // What comes for a paused queue would keep its room until that is resumed.
    const isLeased = options.leaseMessages && !this.#isOver && !this.#context.isPaused(this.#queue.queue);
    const mayWait = this.#mayWait;
    const lease = isLeased ? new Lease(instance.core, () => credits.give(mayWait)) : undefined;
    try {
      if (!this.#isOver) this.#answered(frame, lease);
    } catch (error) {
      this.#failedWith(error);
    } finally {
      if (lease) lease.grant();
      else credits.give(mayWait);
    }
  }

  #answered(frame: Frame, lease: Lease | undefined): void {
    const { code } = frame, queue = this.#queue;
    if (!isPullAnswer(code)) return this.#refused(frame);
    const answer = readPullAnswer(frame), { nextBeginOffset } = answer;
    queue.brokerId = answer.suggestWhichBrokerId;
    if (code === ResponseCode.PULL_OFFSET_MOVED) return this.#context.offsetMoved(queue, Math.max(0, nextBeginOffset));
    if (code !== ResponseCode.SUCCESS) return this.#found(nextBeginOffset, undefined, code);
    const { rest, failed } = this.#intake!.take(frame, answer, lease);
    // A listener has heard of a record that cannot be read, and has given the queue up.
    if (queue.isDropped) return;
    if (!rest) return this.#found(nextBeginOffset, failed);
    // What lies before the rest is taken in: should this loop end meanwhile, the next one does not ask for it again.
    queue.nextOffset = Math.max(queue.nextOffset, pullable(rest.offset(0)));
    if (queue.hasPending) this.#context.arrived(queue);
    void this.#takeRest(rest, nextBeginOffset);
  }

  async #takeRest(rest: MessageBatch, nextBeginOffset: number): Promise<void> {
    try {
      const { failed, stopped } = await this.#intake!.takeRest(rest, () => this.#isOver);
      if (!this.#isOver) this.#found(stopped === undefined ? nextBeginOffset : pullable(stopped), failed);
    } catch (error) {
      this.#failedWith(error);
    }
  }

  /** What an answer brought has been taken in, up to `failed` if there was no room for all. */
  #found(nextBeginOffset: number, failed: Offset | undefined, code: number = ResponseCode.SUCCESS): void {
    const queue = this.#queue, { store, options, instance } = this.#context;
    queue.nextOffset = Math.max(queue.nextOffset, failed === undefined ? nextBeginOffset : pullable(failed));
    const isStuck = queue.nextOffset <= this.#askedOffset;
    // Everything below has been consumed, or was not for us.
    if (queue.state.count === 0) store.update(queue.queue, queue.nextOffset, true);
    if (queue.hasPending) this.#context.arrived(queue);
    if (failed !== undefined) {
      const what = `Cannot take in all of queue ${nameOf(queue.queue)}: no room for offset ${failed}`;
      return this.#failedWith(new OverloadError(what, { topic: queue.queue.topic }));
    }
    const tooFast = isStuck && instance.host.clock.monotonic() - this.#asked < EMPTY_PAUSE;
    const hasNothing = code === ResponseCode.PULL_NOT_FOUND && !this.#mayWait;
    const pause = Math.max(options.pullInterval, hasNothing ? SHORT_POLL_PAUSE : tooFast ? EMPTY_PAUSE : 0);
    if (pause > 0) this.#later(pause);
    else this.#again();
  }

  /** In a turn of its own, so that a batch that waited in the socket does not grow the stack. */
  #again(): void {
    this.#context.instance.host.defer(this.pull);
  }

  #refused(frame: Frame): void {
    const { code, remark = "" } = readHeader(frame.headerBytes(), frame.serializeType);
    const { queue } = this.#queue;
    this.#failedWith(brokerError(`Cannot pull queue ${nameOf(queue)}`, { code, remark }, this.#addr, queue));
  }

  fail(error: RocketMQError): void {
    this.#context.credits.give(this.#mayWait);
    this.#failedWith(error);
  }

  #failedWith(error: unknown): void {
    if (this.#isOver) return;
    this.#queue.brokerId = 0;
    this.#context.instance.report(error);
    const isBusy = isRocketMQError(error) && "responseCode" in error &&
      error.responseCode === ResponseCode.FLOW_CONTROL;
    this.#later(isBusy ? BROKER_BUSY_PAUSE : ERROR_PAUSE);
  }

  /** No further pull, and what an outstanding one brings is not looked at. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#forget();
    this.#timer?.cancel();
    const { instance: { core, remoting }, credits } = this.#context;
    if (remoting.withdraw(this)) credits.give(this.#mayWait);
    if (this.#program !== 0) core.freeProgram(this.#program);
    this.#program = 0;
  }
}

/** Where to go on: never at an offset of 2^53 or more, which no queue has. */
const pullable = (offset: Offset): number => typeof offset === "number" ? offset : 0;

const isPullAnswer = (code: number): boolean =>
  code === ResponseCode.SUCCESS || code === ResponseCode.PULL_NOT_FOUND ||
  code === ResponseCode.PULL_RETRY_IMMEDIATELY ||
  code === ResponseCode.PULL_OFFSET_MOVED;
