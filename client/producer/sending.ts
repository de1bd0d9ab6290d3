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
import { readHeader } from "../protocol/header.ts";
import { hasSendAnswer, readSendAnswer, sendRequest } from "../protocol/send.ts";
import type { Call, Outgoing, ProgramRequest, Remoting } from "../remoting/remoting.ts";
import type { ProducerKind } from "./send_kinds.ts";
import { type OffsetIds, sendStatusOf, StoredMessage } from "./send_result.ts";
import type { BrokerTarget, QueueTarget, SendTargets, TopicTargets } from "./send_targets.ts";

/** What the sends of one producer share. */
export interface SendContext {
  readonly instance: Pick<Instance, "core" | "host" | "routes" | "uniqueIds"> & {
    readonly remoting: Pick<Remoting, "begin" | "isConnected" | "now">;
  };
  readonly options: ResolvedProducerOptions<unknown>;
  readonly targets: SendTargets;
  readonly offsetIds: OffsetIds;
  /** The next queue in turn, not of `avoidBroker` if there is another. */
  nextQueue(queues: readonly QueueTarget[], avoidBroker: string | undefined): QueueTarget;
  /** A send has ended. */
  left(): void;
}

/** The functions of the promise that was made last: a closure for each promise would cost as much as the promise. */
let newResolve: (result: SendResult) => void;
let newReject: (error: unknown) => void;
const keepFunctions = (resolve: (result: SendResult) => void, reject: (error: unknown) => void): void => {
  newResolve = resolve;
  newReject = reject;
};

/**
 * One send with its retries: all within one deadline, each to another broker than the last if there is one, with the same
 * unique id (`DefaultMQProducerImpl#sendDefaultImpl`). It is the call of each try. Settles its promise exactly once.
 */
export class Sending implements Call, ProgramRequest {
  /** This message through a header program, or the same as fields. */
  outgoing: Outgoing = this;
  program = 0;
  value = 0;
  uniqueId: number = NEW_ID;
  args: string[];
  body: Uint8Array;
  readonly topic: string;
  kind: ProducerKind;
  sysFlag = 0;
  /** Its properties are too long for a header program. */
  isLong = false;
  readonly #context: SendContext;
  #signal: AbortSignal | undefined;
  #fixedQueue: MessageQueue | undefined;
  #resolve: ((result: SendResult) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #deadline = 0;
  #triesLeft = 0;
  #queue: MessageQueue | undefined;
  #broker: BrokerTarget | undefined;
  #errors: RocketMQError[] | undefined;
  /** A result that is not as good as SEND_OK, while another broker is tried. */
  #fallback: SendResult | undefined;

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
    this.#deadline = deadline;
    this.#signal = signal;
    this.#fixedQueue = fixedQueue;
    this.#triesLeft = fixedQueue ? 1 : 1 + this.#context.options.retryTimesWhenSendFailed;
    const promise = new Promise(keepFunctions);
    this.#resolve = newResolve;
    this.#reject = newReject;
    return promise;
  }

  /** `now` is the time of this turn. */
  try(targets: TopicTargets, now: number): void {
    try {
      this.#try(targets, now);
    } catch (error) {
      this.end(error);
    }
  }

  #try(targets: TopicTargets, now: number): void {
    const { topic } = this;
    const timeLeft = this.#deadline - now;
    if (timeLeft <= 0) {
      return this.#giveUp(new TimeoutError(`Cannot send to topic "${topic}": no time is left`, { topic }));
    }
    this.#triesLeft--;
    const broker = this.#choose(targets);
    if (broker.addr === undefined) {
      void this.#lookUp(broker, timeLeft).catch((error: RocketMQError) => this.fail(error));
    } else this.#call(targets, broker, broker.addr, timeLeft);
  }

  /** The name servers may know by now where the broker is. */
  async #lookUp(broker: BrokerTarget, timeout: number): Promise<void> {
    const { instance, targets } = this.#context, { routes, host } = instance, { topic } = this;
    const options = this.#signal ? { timeout, signal: this.#signal } : { timeout };
    let cause: unknown;
    await routes.update(topic, options).catch((error: unknown) => cause = error);
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
    const context = this.#context, { remoting } = context.instance;
    this.value = this.#queue!.queueId;
    this.program = this.isLong ? 0 : context.targets.program(broker, this.kind);
    this.outgoing = this.program === 0 ? this.#coldRequest(broker) : this;
    // A retry must not wait out a reconnect: while there is another broker to try, this one gets half of the time.
    const mayMove = targets.hasBrokers && this.#triesLeft > 0 && !remoting.isConnected(addr);
    remoting.begin(addr, this, Math.ceil(mayMove ? timeLeft / 2 : timeLeft), this.#signal);
  }

  #choose(targets: TopicTargets): BrokerTarget {
    const fixed = this.#fixedQueue;
    if (fixed) {
      this.#queue = fixed;
      return this.#broker = this.#context.targets.broker(targets, fixed.brokerName);
    }
    const { queue, broker } = this.#context.nextQueue(targets.queues, this.#broker?.brokerName);
    this.#queue = queue;
    return this.#broker = broker;
  }

  /** Without a program for it. */
  #coldRequest(broker: BrokerTarget): Request {
    const { instance } = this.#context, { kind, sysFlag, args, body } = this;
    if (this.uniqueId === NEW_ID) this.uniqueId = instance.core.nextUniqueId();
    return sendRequest(broker, {
      queueId: this.value,
      sysFlag,
      bornTimestamp: instance.host.clock.now(),
      flag: 0,
      properties: kind.text(instance.uniqueIds.text(this.uniqueId), args),
      reconsumeTimes: 0,
      unitMode: false,
      batch: false,
    }, body);
  }

  settle(frame: Frame): void {
    const status = sendStatusOf(frame.code);
    if (status === undefined) return this.#refused(frame);
    const result = this.#stored(status, frame);
    const context = this.#context;
    if (status === "SEND_OK" || !context.options.retryAnotherBrokerWhenNotStoreOK || this.#triesLeft === 0) {
      return this.#done(result);
    }
    this.#fallback = result;
    this.try(context.targets.of(this.topic), context.instance.remoting.now);
  }

  #stored(status: SendStatus, frame: Frame): SendResult {
    const { uniqueIds } = this.#context.instance, { uniqueId } = this;
    if (!hasSendAnswer(frame)) {
      const { queueId, queueOffset, msgId } = readSendAnswer(frame);
      return new StoredMessage(status, this.#queueOf(queueId), queueOffset, msgId, 0, uniqueIds, uniqueId);
    }
    const { offsetIds } = this.#context, id = offsetIds.keep(frame);
    return new StoredMessage(status, this.#queueOf(frame.b), frame.a, id, offsetIds.at, uniqueIds, uniqueId);
  }

  /** The queue that a broker has chosen: mostly the one it was asked for. */
  #queueOf(queueId: number): MessageQueue {
    const asked = this.#queue!;
    if (queueId === asked.queueId) return asked;
    const likely = this.#broker!.queues[queueId];
    if (likely !== undefined && likely.queueId === queueId) return likely;
    return this.#context.instance.routes.queueNames.known(asked.topic, asked.brokerName, queueId);
  }

  #refused(frame: Frame): void {
    const { topic } = this;
    const { code: responseCode, remark = "" } = readHeader(frame.headerBytes(), frame.serializeType);
    const addr = this.#broker!.addr ?? "";
    const error = new BrokerError(
      `Cannot send to topic "${topic}": the broker ${this.#queue!.brokerName} says ${
        remark || "nothing"
      } (code ${responseCode})`,
      { responseCode, remark, addr, topic },
    );
    const mayRetry = error.retryable || this.#context.options.retryResponseCodes.includes(responseCode);
    if (mayRetry) this.fail(error);
    else this.#giveUp(error);
  }

  fail(error: RocketMQError): void {
    if (this.#signal?.aborted) return this.end(this.#signal.reason);
    if (!isRocketMQError(error)) return this.end(error);
    if (error instanceof ArgumentError || (!error.retryable && !(error instanceof BrokerError))) {
      return this.#giveUp(error);
    }
    const { instance, targets } = this.#context;
    if (this.#triesLeft === 0 || this.#deadline <= instance.host.clock.monotonic()) return this.#giveUp(error);
    (this.#errors ??= []).push(error);
    // The next try may know better where the topic is.
    const { topic } = this;
    const next = targets.of(topic);
    if (next.queues.length === 0) {
      return this.#giveUp(new RouteError(`Cannot send to topic "${topic}": it has no writable queue`, { topic }));
    }
    this.try(next, instance.remoting.now);
  }

  /** The last error, with all of them in order as its cause. */
  #giveUp(error: RocketMQError): void {
    if (this.#fallback) return this.#done(this.#fallback);
    const { topic } = this;
    if (error.topic === undefined) {
      error = copyOf(error, `Cannot send to topic "${topic}": ${error.message}`, { topic });
    }
    if (this.#errors) {
      const errors = [...this.#errors, error];
      error = copyOf(error, error.message, { cause: new AggregateError(errors, `${errors.length} tries failed`) });
    }
    this.end(error);
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
