import { type Frame, NEW_ID } from "../core.ts";
import {
  ArgumentError,
  BrokerError,
  ConnectError,
  copyOf,
  isRocketMQError,
  type RocketMQError,
  RouteError,
  TimeoutError,
} from "../errors.ts";
import type { Instance } from "../instance.ts";
import type { MessageQueue, SendResult, SendStatus } from "../message.ts";
import type { ResolvedProducerOptions } from "../options.ts";
import type { Request } from "../protocol/command.ts";
import { ResponseCode } from "../protocol/codes.ts";
import { readHeader } from "../protocol/header.ts";
import { hasSendAnswer, readSendAnswer, sendRequest } from "../protocol/send.ts";
import type { Call, Outgoing, ProgramRequest, Remoting } from "../remoting/remoting.ts";
import type { ProducerKind } from "./send_kinds.ts";
import { sendStatusOf, storedMessage } from "./send_result.ts";
import type { BrokerTarget, QueueTarget, SendTargets, TopicTargets } from "./send_targets.ts";
import { Tries } from "./tries.ts";

/** What the sends of one producer share. */
export interface SendContext {
  readonly instance: Pick<Instance, "core" | "host" | "routes" | "uniqueIds"> & {
    readonly remoting: Pick<Remoting, "begin" | "isConnected" | "now">;
  };
  readonly options: ResolvedProducerOptions<unknown>;
  readonly targets: SendTargets;
  /** A send has ended. */
  left(): void;
}

/**
 * One send with its retries: all within one deadline, each to another broker than the last if there is one, with the same
 * unique id (`DefaultMQProducerImpl#sendDefaultImpl`). It is the call of each try. Settles its promise exactly once.
 *
 * There is one for each message, and bytes are what it costs: what a send that is stored at once does not need is in `Tries`.
 */
export class Sending implements Call, ProgramRequest {
  uniqueId: number = NEW_ID;
  args: string[];
  body: Uint8Array;
  kind: ProducerKind;
  readonly topic: string;
  readonly #context: SendContext;
  #target: QueueTarget | undefined;
  /** Whole ms, rounded up: a fraction would be an object of its own. */
  #deadline = 0;
  #tries: Tries | undefined;
  #resolve: ((result: SendResult) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(context: SendContext, topic: string, kind: ProducerKind, args: string[], body: Uint8Array) {
    this.#context = context;
    this.topic = topic;
    this.kind = kind;
    this.args = args;
    this.body = body;
  }

  /** Before the first try: how long all of them may take. Returns how they end. */
  begin(
    deadline: number,
    signal: AbortSignal | undefined,
    fixedQueue: MessageQueue | undefined,
  ): Promise<SendResult> {
    this.#deadline = Math.ceil(deadline);
    if (signal !== undefined || fixedQueue !== undefined) this.#tries = new Tries(this.#retries, signal, fixedQueue);
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  try(targets: TopicTargets, timeLeft: number): void {
    try {
      if (timeLeft <= 0) return this.#giveUp(this.#late());
      // The route may have changed since the last try.
      if (targets.queues.length === 0 && this.#tries?.fixedQueue === undefined) return this.#giveUp(this.#nowhere());
      const target = this.#tries === undefined ? targets.nextQueue() : this.#nextTarget(targets, this.#tries);
      this.#target = target;
      const { broker } = target;
      if (broker.addr === undefined) this.#lookUp(broker, timeLeft);
      else this.#call(targets, broker, broker.addr, timeLeft);
    } catch (error) {
      this.end(error);
    }
  }

  #nextTarget(targets: TopicTargets, { fixedQueue: queue }: Tries): QueueTarget {
    if (queue === undefined) return targets.nextQueue(this.#target?.broker);
    return { queue, broker: this.#context.targets.broker(targets, queue.brokerName) };
  }

  #late(): TimeoutError {
    const { topic } = this;
    return new TimeoutError(`Cannot send to topic "${topic}": no time is left`, { topic });
  }

  #nowhere(): RouteError {
    const { topic } = this;
    return new RouteError(`Cannot send to topic "${topic}": it has no writable queue`, { topic });
  }

  /** The name servers may know by now where the broker is. */
  #lookUp(broker: BrokerTarget, timeout: number): void {
    this.#callWhenKnown(broker, timeout).catch((error: RocketMQError) => this.fail(error));
  }

  async #callWhenKnown(broker: BrokerTarget, timeout: number): Promise<void> {
    const { instance, targets } = this.#context, { routes, host } = instance, { topic } = this;
    const signal = this.#tries?.signal;
    let cause: unknown;
    await routes.update(topic, signal ? { timeout, signal } : { timeout }).catch((error: unknown) => cause = error);
    const now = targets.of(topic);
    if (broker.addr !== undefined) {
      return this.#call(now, broker, broker.addr, this.#deadline - host.clock.monotonic());
    }
    throw new ConnectError(`Cannot send to topic "${topic}": broker ${broker.brokerName} has no address`, {
      topic,
      cause,
    });
  }

  #call(targets: TopicTargets, broker: BrokerTarget, addr: string, timeLeft: number): void {
    const context = this.#context, { remoting } = context.instance, tries = this.#tries;
    if (broker.programOf(this.kind) === 0) context.targets.compile(broker, this.kind);
    // A retry must not wait out a reconnect: while there is another broker to try, this one gets half of the time.
    if (targets.hasBrokers && this.#triesLeft > 0 && !remoting.isConnected(addr)) timeLeft /= 2;
    remoting.begin(addr, this, Math.ceil(timeLeft), tries === undefined ? undefined : tries.signal);
  }

  get #triesLeft(): number {
    return this.#tries?.left ?? this.#retries;
  }

  get #retries(): number {
    return this.#context.options.retryTimesWhenSendFailed;
  }

  /** This message through a header program, or the same as fields. */
  get outgoing(): Outgoing {
    return this.program === 0 ? this.#coldRequest() : this;
  }

  get program(): number {
    return this.#target!.broker.programOf(this.kind);
  }

  get value(): number {
    return this.#target!.queue.queueId;
  }

  #coldRequest(): Request {
    const { instance } = this.#context, { kind, args, body } = this;
    if (this.uniqueId === NEW_ID) this.uniqueId = instance.core.nextUniqueId();
    return sendRequest(this.#target!.broker, {
      queueId: this.value,
      sysFlag: kind.isFlagged ? Number(args[0]) : 0,
      bornTimestamp: instance.host.clock.now(),
      flag: 0,
      properties: kind.text(instance.uniqueIds.text(this.uniqueId), args),
      reconsumeTimes: 0,
      unitMode: false,
      batch: false,
    }, body);
  }

  settle(frame: Frame): void {
    if (frame.code === ResponseCode.SUCCESS) this.#done(this.#stored("SEND_OK", frame));
    else this.#doubted(frame);
  }

  /** The answer is a failure, or not as good as SEND_OK. */
  #doubted(frame: Frame): void {
    const status = sendStatusOf(frame.code);
    if (status === undefined) return this.#refused(frame);
    const result = this.#stored(status, frame);
    const { options, targets, instance } = this.#context;
    if (!options.retryAnotherBrokerWhenNotStoreOK || this.#triesLeft === 0) return this.#done(result);
    const tries = this.#tries ??= new Tries(this.#retries);
    tries.fallback = result;
    tries.left--;
    this.try(targets.of(this.topic), this.#deadline - instance.remoting.now);
  }

  #stored(status: SendStatus, frame: Frame): SendResult {
    const { storedIds } = this.#target!.broker, { uniqueId } = this;
    if (hasSendAnswer(frame)) return storedIds.result(status, this.#queueOf(frame.b), frame, uniqueId);
    const { queueId, queueOffset, msgId } = readSendAnswer(frame);
    return storedMessage(status, this.#queueOf(queueId), queueOffset, uniqueId, storedIds.whole(msgId));
  }

  /** The queue that a broker has chosen: mostly the one it was asked for. */
  #queueOf(queueId: number): MessageQueue {
    const { queue, broker } = this.#target!;
    if (queueId === queue.queueId) return queue;
    const likely = broker.queues[queueId];
    if (likely !== undefined && likely.queueId === queueId) return likely;
    return this.#context.instance.routes.queueNames.known(queue.topic, queue.brokerName, queueId);
  }

  #refused(frame: Frame): void {
    const { topic } = this, { brokerName, addr = "" } = this.#target!.broker;
    const { code: responseCode, remark = "" } = readHeader(frame.headerBytes(), frame.serializeType);
    const error = new BrokerError(
      `Cannot send to topic "${topic}": the broker ${brokerName} says ${remark || "nothing"} (code ${responseCode})`,
      { responseCode, remark, addr, topic },
    );
    const mayRetry = error.retryable || this.#context.options.retryResponseCodes.includes(responseCode);
    if (mayRetry) this.fail(error);
    else this.#giveUp(error);
  }

  fail(error: RocketMQError): void {
    const tries = this.#tries ??= new Tries(this.#retries), { signal } = tries;
    if (signal?.aborted) return this.end(signal.reason);
    if (!isRocketMQError(error)) return this.end(error);
    if (error instanceof ArgumentError || (!error.retryable && !(error instanceof BrokerError))) {
      return this.#giveUp(error);
    }
    const { instance, targets } = this.#context;
    if (tries.left === 0 || this.#deadline <= instance.host.clock.monotonic()) return this.#giveUp(error);
    tries.failed(error);
    // The next try may know better where the topic is.
    this.try(targets.of(this.topic), this.#deadline - instance.remoting.now);
  }

  /** With the last error, or with what is better than an error. */
  #giveUp(error: RocketMQError): void {
    const { topic } = this, tries = this.#tries;
    if (tries?.fallback) return this.#done(tries.fallback);
    if (error.topic === undefined) {
      error = copyOf(error, `Cannot send to topic "${topic}": ${error.message}`, { topic });
    }
    this.end(tries ? tries.withEarlier(error) : error);
  }

  #done(result: SendResult): void {
    this.#resolve!(result);
    this.#context.left();
  }

  /** It has failed, and nothing is tried any more. */
  end(error: unknown): void {
    this.#reject!(error);
    this.#context.left();
  }
}
