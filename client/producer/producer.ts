import type { CallOptions, Client } from "../client.ts";
import { ArgumentError, UnsupportedError } from "../errors.ts";
import type { Instance } from "../instance.ts";
import type { Message, MessageQueue, SendResult } from "../message.ts";
import type { ResolvedProducerOptions } from "../options.ts";
import { checkWait } from "../options.ts";
import { checkTopic } from "../protocol/names.ts";
import * as sysFlags from "../protocol/sys_flag.ts";
import { QueryingClient, refuse } from "../queries.ts";
import type { TopicRoute } from "../route/topic_route.ts";
import { type OutboundMessage, toOutbound } from "./outbound_message.ts";
import { SendPrograms } from "./send_programs.ts";
import { type SendContext, Sending } from "./sending.ts";

export interface SendOptions extends CallOptions {
  /** Send to this queue, once: another one would be another order. */
  queue?: MessageQueue;
}

/** Sends messages. Make one per group and keep it. */
export interface Producer<T = Uint8Array> extends Client {
  /**
   * Sends one message and waits until the broker has stored it. The body must not change before the promise settles.
   *
   * Rejects with `ArgumentError`, `UnsupportedError` or `CodecError` before anything is sent; with `RouteError`,
   * `ConnectError`, `TimeoutError`, `BrokerError` or `OverloadError` after the last try, the tries before it in its cause;
   * with `ClosedError` after `shutdown()`; with `signal.reason` when aborted.
   */
  send(message: Message<T>, options?: SendOptions): Promise<SendResult>;
  /** The queues a send may choose from. */
  fetchPublishMessageQueues(topic: string, options?: CallOptions): Promise<readonly MessageQueue[]>;
}

/** Deflating larger bodies is not awaited in line with the hot path's synchronous way. */
type Prepared = OutboundMessage | Promise<OutboundMessage>;

/** The part of a shutdown's time that sends under way may take; the rest is the farewell's. */
const DRAIN_SHARE = 0.9;

const INDEX_MASK = 0x7fffffff;

export class DefaultProducer<T> extends QueryingClient implements Producer<T>, SendContext {
  readonly options: ResolvedProducerOptions<unknown>;
  readonly programs: SendPrograms;
  readonly producerGroup: string;
  readonly #codec: ResolvedProducerOptions<T>["codec"];
  readonly #nextId: () => string;
  /** Starts anywhere, so that many producers do not begin at the same queue. */
  #index = Math.floor(Math.random() * INDEX_MASK);
  /** Sends that have not ended. */
  #inFlight = 0;
  #drained: (() => void) | undefined;
  /** The farewell is over. */
  #hasLeft = false;

  constructor(instance: Instance, ownsInstance: boolean, options: ResolvedProducerOptions<T>) {
    super(instance, ownsInstance);
    this.options = options as ResolvedProducerOptions<unknown>;
    this.#codec = options.codec;
    this.producerGroup = options.producerGroup;
    this.programs = new SendPrograms(instance.core, instance.options.serializeType);
    this.#nextId = () => instance.ids.next();
  }

  send(message: Message<T>, given?: SendOptions): Promise<SendResult> {
    if (this.state === "draining" || this.state === "closed") return Promise.reject(this.closedError());
    const { clock } = this.instance.host;
    const options = given ?? {};
    const { signal, timeout = this.options.sendMsgTimeout } = options;
    let prepared: Prepared;
    try {
      if (given) checkCall(given);
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (options.queue && options.queue.topic !== message?.topic) {
        throw new ArgumentError(
          `Cannot send to topic "${message?.topic}": the queue belongs to topic "${options.queue.topic}"`,
        );
      }
      prepared = this.#compress(toOutbound(message, this.#codec, this.options.maxMessageSize, this.#nextId));
    } catch (error) {
      return Promise.reject(error);
    }
    const deadline = clock.monotonic() + timeout;
    const route = this.state === "running" && !(prepared instanceof Promise)
      ? this.#readyRoute(prepared.topic)
      : undefined;
    return new Promise((resolve, reject) => {
      this.#inFlight++;
      const resolved = (result: SendResult): void => {
        resolve(result);
        this.#left();
      };
      const rejected = (error: unknown): void => {
        reject(error);
        this.#left();
      };
      if (route) {
        try {
          new Sending(this, prepared as OutboundMessage, route, deadline, options, resolved, rejected).try();
        } catch (error) {
          rejected(error);
        }
      } else this.#sendLater(prepared, deadline, options, resolved, rejected).catch(rejected);
    });
  }

  /** The slow way: the client has to start, the route to be found, or the body to be compressed first. */
  async #sendLater(
    prepared: Prepared,
    deadline: number,
    options: SendOptions,
    resolve: (result: SendResult) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    const { clock } = this.instance.host;
    const { signal } = options;
    const timeLeft = (): number => Math.max(1, deadline - clock.monotonic());
    const message = prepared instanceof Promise ? await prepared : prepared;
    if (this.state === "created") await this.ready(timeLeft(), signal);
    const route = await this.#route(message.topic, timeLeft(), signal);
    signal?.throwIfAborted();
    new Sending(this, message, route, deadline, options, resolve, reject).try();
  }

  #readyRoute(topic: string): TopicRoute | undefined {
    const route = this.instance.routes.known(topic);
    return route && route.publishQueues.length > 0 && !this.instance.routes.isNew(topic) ? route : undefined;
  }

  #route(topic: string, timeout: number, signal: AbortSignal | undefined): Promise<TopicRoute> {
    const options = signal ? { timeout, signal } : { timeout };
    return this.instance.routes.findToSend(topic, this.options.defaultTopicQueueNums, options);
  }

  #compress(message: OutboundMessage): Prepared {
    const { compression } = this.options;
    const { body } = message;
    if (!compression || body.length < compression.over) return message;
    const { type, level } = compression;
    const { core, host } = this.instance;
    const deflated = type === "LZ4" ? core.deflateLz4(body) : host.deflate(type, body, level);
    return deflated instanceof Uint8Array
      ? smaller(message, deflated, type)
      : deflated.then((bytes) => smaller(message, bytes, type));
  }

  nextQueue(route: TopicRoute, avoidBroker: string | undefined): MessageQueue {
    const { publishQueues } = route;
    const { length } = publishQueues;
    for (let i = 0; i < length; i++) {
      this.#index = (this.#index + 1) & INDEX_MASK;
      const queue = publishQueues[this.#index % length]!;
      if (queue.brokerName !== avoidBroker) return queue;
    }
    this.#index = (this.#index + 1) & INDEX_MASK;
    return publishQueues[this.#index % length]!;
  }

  async fetchPublishMessageQueues(
    topic: string,
    options?: CallOptions,
  ): Promise<readonly MessageQueue[]> {
    const { timeout, signal } = options ?? {};
    checkTopic(topic);
    checkWait(timeout, signal);
    const { clock } = this.instance.host;
    const limit = timeout ?? this.options.sendMsgTimeout;
    const deadline = clock.monotonic() + limit;
    await this.ready(limit, signal);
    return (await this.#route(topic, deadline - clock.monotonic(), signal)).publishQueues;
  }

  /** Brokers that other members are connected to already hear of the group now, others when they are met. */
  protected started(): Promise<void> {
    void this.instance.heartbeat();
    return Promise.resolve();
  }

  /** Waits for the sends that are under way, then tells the brokers. */
  protected async stopped(timeLeft: () => number): Promise<void> {
    const drainTime = timeLeft() * DRAIN_SHARE;
    if (this.#inFlight > 0) await this.within(drainTime, new Promise((resolve) => this.#drained = resolve));
    const { instance, producerGroup } = this;
    if (!instance.hasAnother(this)) await instance.unregister({ producerGroup }, timeLeft());
    this.#hasLeft = true;
    if (this.#inFlight === 0) this.programs.close();
  }

  #left(): void {
    if (--this.#inFlight > 0) return;
    this.#drained?.();
    // What still waited to be encoded at the end needed its program.
    if (this.#hasLeft) this.programs.close();
  }

  // ── not built yet ──────────────────────────────────────────────────────────────────────────────────────────────────

  sendBatch(): Promise<never> {
    return refuse("sendBatch");
  }
  sendOneway(): Promise<never> {
    return refuse("sendOneway");
  }
  sendInTransaction(): Promise<never> {
    return refuse("sendInTransaction");
  }
  request(): Promise<never> {
    return refuse("request");
  }
  recall(): Promise<never> {
    return refuse("recall");
  }
  createTopic(): Promise<never> {
    return refuse("createTopic");
  }
}

function checkCall(options: SendOptions): void {
  if (typeof options !== "object") {
    throw new ArgumentError(`The options of a send must be an object, got ${typeof options}`);
  }
  checkWait(options.timeout, options.signal);
  if (options.queue) checkQueue(options.queue);
  for (const option in options) {
    if (option === "selectQueue") throw new UnsupportedError("Option selectQueue is not supported yet");
    if (option !== "queue" && option !== "signal" && option !== "timeout") {
      throw new ArgumentError(`There is no option ${JSON.stringify(option)}`);
    }
  }
}

function checkQueue({ brokerName, queueId }: MessageQueue): void {
  if (typeof brokerName !== "string" || brokerName === "") {
    throw new ArgumentError(`queue.brokerName must be the name of a broker, got ${String(brokerName)}`);
  }
  if (!(typeof queueId === "number" && Number.isInteger(queueId) && queueId >= 0 && queueId < 2 ** 31)) {
    throw new ArgumentError(`queue.queueId must be 0 or a larger integer, got ${String(queueId)}`);
  }
}

/** A body that grew is sent plain. */
function smaller(message: OutboundMessage, deflated: Uint8Array, type: "ZLIB" | "LZ4" | "ZSTD"): OutboundMessage {
  if (deflated.length >= message.body.length) return message;
  const sysFlag = message.sysFlag | sysFlags.COMPRESSED | sysFlags.COMPRESSION_FLAGS[type];
  return { ...message, body: deflated, sysFlag };
}
