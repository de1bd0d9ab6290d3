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
import { toSending } from "./to_sending.ts";
import { SendKinds } from "./send_kinds.ts";
import { SendTargets, type TopicTargets } from "./send_targets.ts";
import type { SendContext, Sending } from "./sending.ts";

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
type Prepared = Sending | Promise<Sending>;

/** The part of a shutdown's time that sends under way may take; the rest is the farewell's. */
const DRAIN_SHARE = 0.9;

export class DefaultProducer<T> extends QueryingClient implements Producer<T>, SendContext {
  readonly options: ResolvedProducerOptions<unknown>;
  readonly targets: SendTargets;
  readonly producerGroup: string;
  readonly #codec: ResolvedProducerOptions<T>["codec"];
  readonly #kinds = new SendKinds();
  /** The last that wait for the client to start or for a route. */
  #waiting: { readonly topic: string; readonly deadline: number; readonly ready: Promise<void> } | undefined;
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
    this.targets = new SendTargets({
      core: instance.core,
      serializeType: instance.options.serializeType,
      routes: instance.routes,
      uniqueIds: instance.uniqueIds,
      producerGroup: options.producerGroup,
      defaultTopicQueueNums: options.defaultTopicQueueNums,
      coreMemory: instance.options.coreMemory,
    });
  }

  send(message: Message<T>, options?: SendOptions): Promise<SendResult> {
    const { state } = this;
    if (state === "draining" || state === "closed") return Promise.reject(this.closedError());
    let signal: AbortSignal | undefined, queue: MessageQueue | undefined, timeout = this.options.sendMsgTimeout;
    let sending: Sending, compressed: Prepared, targets: TopicTargets;
    try {
      if (options !== undefined) {
        checkCall(options, message);
        ({ signal, queue, timeout = timeout } = options);
        if (signal?.aborted) return Promise.reject(signal.reason);
        // The caller's object may change while its message waits, and is not the result's.
        if (queue) queue = this.instance.routes.queueNames.known(queue.topic, queue.brokerName, queue.queueId);
      }
      sending = toSending(message, this.#codec, this, this.#kinds);
      compressed = this.#isLarge(sending.body) ? this.#compress(sending) : sending;
      targets = this.targets.of(sending.topic);
    } catch (error) {
      return Promise.reject(error);
    }
    const { now } = this.instance.remoting;
    this.#inFlight++;
    const promise = sending.begin(now + timeout, signal, queue);
    if (compressed === sending && state === "running" && targets.isReady) sending.try(targets, timeout);
    else void this.#sendLater(sending, compressed, now + timeout, signal);
    return promise;
  }

  /** The slow way: the client has to start, the route to be found, or the body to be compressed first. */
  async #sendLater(
    sending: Sending,
    compressed: Prepared,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { topic } = sending;
    try {
      if (compressed !== sending) await compressed;
      if (this.state === "created" || !this.targets.of(topic).isReady) await this.#makeReady(topic, deadline, signal);
      signal?.throwIfAborted();
    } catch (error) {
      return sending.end(error);
    }
    sending.try(this.targets.of(topic), deadline - this.instance.remoting.now);
  }

  /** Sends of one turn wait as one: a program begins with a thousand of them, and each wait has timers and promises. */
  #makeReady(topic: string, deadline: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal !== undefined) return this.#startAndRoute(topic, deadline, signal);
    const others = this.#waiting;
    if (others !== undefined && others.topic === topic && others.deadline === deadline) return others.ready;
    const ready = this.#startAndRoute(topic, deadline, undefined).finally(() => {
      if (this.#waiting === waiting) this.#waiting = undefined;
    });
    const waiting = { topic, deadline, ready };
    this.#waiting = waiting;
    return ready;
  }

  async #startAndRoute(topic: string, deadline: number, signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.instance.host;
    const timeLeft = (): number => Math.max(1, deadline - clock.monotonic());
    if (this.state === "created") await this.ready(timeLeft(), signal);
    if (!this.targets.of(topic).isReady) await this.#route(topic, timeLeft(), signal);
  }

  #route(topic: string, timeout: number, signal: AbortSignal | undefined): Promise<TopicRoute> {
    const options = signal ? { timeout, signal } : { timeout };
    return this.instance.routes.findToSend(topic, this.options.defaultTopicQueueNums, options);
  }

  #isLarge(body: Uint8Array): boolean {
    const { compression } = this.options;
    return compression !== undefined && body.length >= compression.over;
  }

  #compress(message: Sending): Prepared {
    const { compression } = this.options;
    if (!compression) return message;
    const { body } = message, { type, level } = compression;
    const { core, host } = this.instance;
    const deflated = type === "LZ4" ? core.deflateLz4(body) : host.deflate(type, body, level);
    return deflated instanceof Uint8Array
      ? this.#smaller(message, deflated, type)
      : deflated.then((bytes) => this.#smaller(message, bytes, type));
  }

  /** A body that grew is sent plain. */
  #smaller(message: Sending, deflated: Uint8Array, type: "ZLIB" | "LZ4" | "ZSTD"): Sending {
    if (deflated.length >= message.body.length) return message;
    message.body = deflated;
    message.args.unshift(String(sysFlags.COMPRESSED | sysFlags.COMPRESSION_FLAGS[type]));
    message.kind = this.#kinds.flagged(message.kind);
    return message;
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
    if (this.#inFlight === 0) this.targets.close();
  }

  left(): void {
    if (--this.#inFlight > 0) return;
    this.#drained?.();
    // What still waited to be encoded at the end needed its program.
    if (this.#hasLeft) this.targets.close();
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

function checkCall(options: SendOptions, message: Message<unknown> | null): void {
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
  if (options.queue && options.queue.topic !== message?.topic) {
    throw new ArgumentError(
      `Cannot send to topic "${message?.topic}": the queue belongs to topic "${options.queue.topic}"`,
    );
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
