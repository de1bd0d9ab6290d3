import type { Frame } from "../core.ts";
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
import type { MessageQueue, SendResult } from "../message.ts";
import type { ResolvedProducerOptions } from "../options.ts";
import { AUTO_CREATE_TOPIC } from "../protocol/names.ts";
import { readHeader } from "../protocol/header.ts";
import { readSendAnswer, sendRequest, type SendTarget } from "../protocol/send.ts";
import type { Outgoing } from "../remoting/remoting.ts";
import type { TopicRoute } from "../route/topic_route.ts";
import type { OutboundMessage } from "./outbound_message.ts";
import type { SendPrograms } from "./send_programs.ts";
import { sendStatusOf, StoredMessage } from "./send_result.ts";

/** What the sends of one producer share. */
export interface SendContext {
  readonly instance: Instance;
  readonly options: ResolvedProducerOptions<unknown>;
  readonly programs: SendPrograms;
  /** The next queue in turn, not of `avoidBroker` if there is another. */
  nextQueue(route: TopicRoute, avoidBroker: string | undefined): MessageQueue;
}

/**
 * One send with its retries: all within one deadline, each to another broker than the last if there is one, with the same
 * unique id (`DefaultMQProducerImpl#sendDefaultImpl`). Calls exactly one of `resolve` and `reject`.
 */
export class Sending {
  readonly #context: SendContext;
  readonly #message: OutboundMessage;
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  readonly #fixedQueue: MessageQueue | undefined;
  readonly #resolve: (result: SendResult) => void;
  readonly #reject: (error: unknown) => void;
  #triesLeft: number;
  #errors: RocketMQError[] | undefined;
  #route: TopicRoute;
  #queue: MessageQueue | undefined;
  #addr = "";
  /** A result that is not as good as SEND_OK, while another broker is tried. */
  #fallback: SendResult | undefined;

  constructor(
    context: SendContext,
    message: OutboundMessage,
    route: TopicRoute,
    deadline: number,
    call: { readonly signal?: AbortSignal; readonly queue?: MessageQueue },
    resolve: (result: SendResult) => void,
    reject: (error: unknown) => void,
  ) {
    this.#context = context;
    this.#message = message;
    this.#route = route;
    this.#deadline = deadline;
    this.#signal = call.signal;
    this.#fixedQueue = call.queue;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#triesLeft = call.queue ? 1 : 1 + context.options.retryTimesWhenSendFailed;
  }

  try(): void {
    const { instance } = this.#context;
    const { topic } = this.#message;
    const timeLeft = this.#deadline - instance.host.clock.monotonic();
    if (timeLeft <= 0) {
      return this.#end(new TimeoutError(`Cannot send to topic "${topic}": no time is left`, { topic }));
    }
    this.#triesLeft--;
    const queue = this.#queue = this.#fixedQueue ?? this.#context.nextQueue(this.#route, this.#queue?.brokerName);
    const addr = instance.routes.brokerAddr(topic, queue.brokerName);
    if (addr === undefined) void this.#lookUp(queue, timeLeft).catch(this.#failed);
    else this.#call(queue, addr, timeLeft);
  }

  /** The name servers may know by now where the broker is. */
  async #lookUp(queue: MessageQueue, timeout: number): Promise<void> {
    const { routes, host } = this.#context.instance;
    const { topic } = this.#message;
    const options = this.#signal ? { timeout, signal: this.#signal } : { timeout };
    let cause: unknown;
    await routes.update(topic, options).catch((error: unknown) => cause = error);
    const addr = routes.brokerAddr(topic, queue.brokerName);
    if (addr !== undefined) return this.#call(queue, addr, this.#deadline - host.clock.monotonic());
    throw new ConnectError(`Cannot send to topic "${topic}": broker ${queue.brokerName} has no address`, {
      topic,
      cause,
    });
  }

  #call(queue: MessageQueue, addr: string, timeLeft: number): void {
    const { remoting } = this.#context.instance;
    this.#addr = addr;
    // A retry must not wait out a reconnect: while there is another broker to try, this one gets half of the time.
    const mayMove = this.#triesLeft > 0 && !remoting.isConnected(addr) &&
      this.#route.publishQueues.some(({ brokerName }) => brokerName !== queue.brokerName);
    const timeout = Math.ceil(mayMove ? timeLeft / 2 : timeLeft);
    remoting.call(addr, this.#outgoing(queue), timeout, this.#settled, this.#failed, this.#signal);
  }

  #outgoing(queue: MessageQueue): Outgoing {
    const { options, programs, instance } = this.#context;
    const { topic, body, properties, sysFlag } = this.#message;
    const target: SendTarget = {
      producerGroup: options.producerGroup,
      topic,
      brokerName: queue.brokerName,
      defaultTopic: AUTO_CREATE_TOPIC,
      defaultTopicQueueNums: options.defaultTopicQueueNums,
    };
    const program = properties.length > HOT_PROPERTIES_MAX ? 0 : programs.of(target);
    if (program !== 0) return { program, value: queue.queueId, args: [String(sysFlag), properties], body };
    return sendRequest(target, {
      queueId: queue.queueId,
      sysFlag,
      bornTimestamp: instance.host.clock.now(),
      flag: 0,
      properties,
      reconsumeTimes: 0,
      unitMode: false,
      batch: false,
    }, body);
  }

  readonly #settled = (frame: Frame): void => {
    const status = sendStatusOf(frame.code);
    if (status === undefined) return this.#refused(frame);
    const { msgId, queueId, queueOffset } = readSendAnswer(frame);
    const { topic } = this.#message;
    const queue = this.#queue!;
    const stored = queueId === queue.queueId
      ? queue
      : this.#context.instance.routes.queueNames.known(topic, queue.brokerName, queueId);
    const result = new StoredMessage(status, this.#message.msgId, msgId, stored, queueOffset);
    if (status === "SEND_OK" || !this.#context.options.retryAnotherBrokerWhenNotStoreOK || this.#triesLeft === 0) {
      return this.#resolve(result);
    }
    this.#fallback = result;
    this.try();
  };

  #refused(frame: Frame): void {
    const { topic } = this.#message;
    const { code: responseCode, remark = "" } = readHeader(frame.headerBytes(), frame.serializeType);
    const addr = this.#addr;
    const error = new BrokerError(
      `Cannot send to topic "${topic}": the broker ${this.#queue!.brokerName} says ${
        remark || "nothing"
      } (code ${responseCode})`,
      { responseCode, remark, addr, topic },
    );
    const mayRetry = error.retryable || this.#context.options.retryResponseCodes.includes(responseCode);
    if (mayRetry) this.#failed(error);
    else this.#end(error);
  }

  readonly #failed = (error: RocketMQError): void => {
    if (this.#signal?.aborted) return this.#reject(this.#signal.reason);
    if (!isRocketMQError(error)) return this.#reject(error);
    if (error instanceof ArgumentError || (!error.retryable && !(error instanceof BrokerError))) {
      return this.#end(error);
    }
    if (this.#triesLeft === 0 || this.#deadline <= this.#context.instance.host.clock.monotonic()) {
      return this.#end(error);
    }
    (this.#errors ??= []).push(error);
    // The next try may know better where the topic is.
    const { topic } = this.#message;
    this.#route = this.#context.instance.routes.known(topic) ?? this.#route;
    if (this.#route.publishQueues.length === 0) {
      return this.#end(new RouteError(`Cannot send to topic "${topic}": it has no writable queue`, { topic }));
    }
    this.try();
  };

  /** The last error, with all of them in order as its cause. */
  #end(error: RocketMQError): void {
    if (this.#fallback) return this.#resolve(this.#fallback);
    const { topic } = this.#message;
    if (error.topic === undefined) {
      error = copyOf(error, `Cannot send to topic "${topic}": ${error.message}`, { topic });
    }
    if (this.#errors) {
      const errors = [...this.#errors, error];
      error = copyOf(error, error.message, { cause: new AggregateError(errors, `${errors.length} tries failed`) });
    }
    this.#reject(error);
  }
}

/** Longer properties may not fit a segment with a header around them. */
const HOT_PROPERTIES_MAX = 8_192;
