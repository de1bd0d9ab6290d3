import { type AllocateStrategy, checkStrategy } from "./allocate.ts";
import { bytes, type Codec } from "./body_codec.ts";
import { CORE_MEMORY_DEFAULT, CORE_MEMORY_MAX } from "./core.ts";
import { ArgumentError, type RocketMQError, UnsupportedError } from "./errors.ts";
import type { TlsOptions } from "./host.ts";
import { checkNames, noOption } from "./option_names.ts";
import { checkGroup, DEFAULT_CONSUMER_GROUP, DEFAULT_PRODUCER_GROUP } from "./protocol/names.ts";
import { reasonOf, show } from "./show.ts";

export interface Credentials {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly securityToken?: string;
}

export type LogMethod = (fields: object, message: string) => void;
/** pino's shape; pino, console wrappers and logtape fit. Nothing is logged without one. */
export interface Logger {
  debug: LogMethod;
  info: LogMethod;
  warn: LogMethod;
  error: LogMethod;
}

/**
 * What every client takes. Times are whole milliseconds, from 1 to 2^31 - 1 unless an option says otherwise; names and
 * defaults are the Java client's. What is out of range is an `ArgumentError`.
 */
export interface ClientOptions {
  /**
   * "a:9876;b:9876", an array, a function, or a URL. A URL with a path other than "/" is an address server that answers
   * with the list; from any other the scheme is stripped. Functions and URLs are asked again every 120 s; a failure keeps
   * the old list.
   */
  namesrvAddr: string | readonly string[] | (() => Promise<readonly string[]>);
  /** Part of the client id; 16 random hex digits unless given. Two members of a group must not have the same. */
  instanceName?: string;
  unitName?: string;
  /** Not supported yet. */
  namespace?: string;
  /** Not supported yet. */
  credentials?: Credentials | (() => Credentials | Promise<Credentials>);
  /** Not supported yet. */
  tls?: boolean | TlsOptions;
  /** "JSON" is the default of 4.x and 5.x brokers; "ROCKETMQ" is the compact binary header. */
  serializeType?: "JSON" | "ROCKETMQ";
  /** Not supported yet: only false. */
  vipChannelEnabled?: boolean;
  /** Milliseconds for one request that is not a send or a pull; at least 1. Default 3000. */
  requestTimeout?: number;
  /** Milliseconds until an attempt to connect is given up; at least 1. Default 3000. */
  connectTimeout?: number;
  /** Milliseconds between heartbeats to each broker; at least 10. Default 30000. */
  heartbeatBrokerInterval?: number;
  /** Milliseconds until known routes are asked again; at least 10. Default 30000. */
  pollNameServerInterval?: number;
  /**
   * Memory of this client's core, in MiB of address space: 2 to 1024. Default 128; it never grows. Of a consumer's queues 7 for every 4
   * MiB (224 of 128 MiB, 3 of 2 MiB) wait at their brokers for the next message and get it at once; the others are asked
   * once a second while they are empty. On Bun less of it is less resident memory: its garbage collector counts all of it as
   * used, and lets garbage grow in proportion.
   */
  coreMemory?: number;
  /** Shuts the client down when it is aborted. */
  signal?: AbortSignal;
  logger?: Logger;
  /** Told of failures that have no caller: heartbeats, rebalancing, offset commits, handlers. */
  onError?: (error: RocketMQError) => void;
}

export interface ProducerOptions<T> extends ClientOptions {
  /** Default "DEFAULT_PRODUCER". */
  producerGroup?: string;
  codec?: Codec<T>;
  /** Milliseconds for a whole send, its retries included; at least 1. Default 3000. */
  sendMsgTimeout?: number;
  /** Further attempts after the first one, 0 to 100. Default 2. */
  retryTimesWhenSendFailed?: number;
  /** Default false: an answer other than SEND_OK is a result. */
  retryAnotherBrokerWhenNotStoreOK?: boolean;
  /** Bytes of a body before compression, 1 to 16,000,000. Default 4 MiB. */
  maxMessageSize?: number;
  /** Queues of a topic that a send creates, 1 to 65535. Default 4. */
  defaultTopicQueueNums?: number;
  /**
   * ZLIB, level 5, for bodies from 4096 bytes on. LZ4 has no levels. ZSTD needs a runtime that has it: Node from 22.15 on,
   * Deno, Bun; elsewhere `send` rejects with `UnsupportedError`. Consumers before 4.9.4 read only ZLIB.
   */
  compression?: { type?: "ZLIB" | "LZ4" | "ZSTD"; level?: number; over?: number } | false;
  /** Further response codes that are worth another broker. */
  retryResponseCodes?: readonly number[];
}

/** A bare string is a tag expression: "*", "a", "a || b". `{ sql }` is not supported yet. */
export type MessageSelector = string | { readonly tags: string } | { readonly sql: string };
export type ConsumeFromWhere = "CONSUME_FROM_LAST_OFFSET" | "CONSUME_FROM_FIRST_OFFSET" | {
  readonly timestamp: number;
};

export interface PushConsumerOptions<T> extends ClientOptions {
  consumerGroup: string;
  codec?: Codec<T>;
  subscriptions?: Readonly<Record<string, MessageSelector>>;
  /** Only "CLUSTERING" so far. */
  messageModel?: "CLUSTERING" | "BROADCASTING";
  /** Where a group begins that has no offset. Default "CONSUME_FROM_LAST_OFFSET". */
  consumeFromWhere?: ConsumeFromWhere;
  /** Which queues this member of the group takes; the same for all members. Default "AVG". */
  allocateMessageQueueStrategy?: AllocateStrategy;
  /** Handlers of this consumer that run at once, 1 to 65535. Default 20. */
  concurrency?: number;
  /** Messages that one pull asks for, 1 to 1024. Default 32. */
  pullBatchSize?: number;
  /** Cached messages of one queue before pulling pauses, 1 to 65535. Default 1000. */
  pullThresholdForQueue?: number;
  /** MiB of cached bodies of one queue before pulling pauses, 1 to 1024. Default 100. */
  pullThresholdSizeForQueue?: number;
  /** Highest minus lowest cached offset of one queue before pulling pauses, 1 to 65535. Default 2000. */
  consumeConcurrentlyMaxSpan?: number;
  /** Milliseconds between two pulls of one queue, 0 to 65535. Default 0. */
  pullInterval?: number;
  /** Milliseconds between two commits of offsets; at least 10. Default 5000. */
  persistConsumerOffsetInterval?: number;
  /** Times that a message comes again after its handler failed, before it is a dead letter; 0 or more. -1, the default, is 16. */
  maxReconsumeTimes?: number;
  /**
   * Verify body checksums. Default true: a message whose body does not match is reported, and its handler gets a `FrameError`
   * when it reads the body, so that it is tried again and ends in the dead letter queue. false: it is delivered as it is.
   */
  checkCrc?: boolean;
  /**
   * Leave messages in the core's memory until they are settled: saves one copy. Then a message that is kept has to be
   * retained. Default false: they are yours.
   */
  leaseMessages?: boolean;
}

/** What the rest of the code sees: complete and checked. */
export interface ResolvedClientOptions {
  readonly namesrvAddr: ClientOptions["namesrvAddr"];
  readonly instanceName: string;
  readonly unitName: string;
  readonly serializeType: "JSON" | "ROCKETMQ";
  readonly requestTimeout: number;
  readonly connectTimeout: number;
  readonly heartbeatBrokerInterval: number;
  readonly pollNameServerInterval: number;
  readonly coreMemory: number;
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger | undefined;
  readonly onError: ((error: RocketMQError) => void) | undefined;
}

export interface ResolvedProducerOptions<T> {
  readonly producerGroup: string;
  readonly codec: Codec<T>;
  readonly sendMsgTimeout: number;
  readonly retryTimesWhenSendFailed: number;
  readonly retryAnotherBrokerWhenNotStoreOK: boolean;
  readonly maxMessageSize: number;
  readonly defaultTopicQueueNums: number;
  /** Bodies from `over` bytes on are compressed; undefined: none. */
  readonly compression:
    | { readonly type: "ZLIB" | "LZ4" | "ZSTD"; readonly level: number; readonly over: number }
    | undefined;
  readonly retryResponseCodes: readonly number[];
}

export interface ResolvedPushConsumerOptions<T> {
  readonly consumerGroup: string;
  readonly codec: Codec<T>;
  readonly subscriptions: Readonly<Record<string, string>>;
  readonly consumeFromWhere: ConsumeFromWhere;
  readonly allocateMessageQueueStrategy: AllocateStrategy;
  readonly concurrency: number;
  readonly pullBatchSize: number;
  readonly pullThresholdForQueue: number;
  /** Bytes. */
  readonly pullThresholdSizeForQueue: number;
  readonly consumeConcurrentlyMaxSpan: number;
  readonly pullInterval: number;
  readonly persistConsumerOffsetInterval: number;
  readonly maxReconsumeTimes: number;
  readonly checkCrc: boolean;
  readonly leaseMessages: boolean;
}

const CLIENT = [
  "namesrvAddr",
  "instanceName",
  "unitName",
  "serializeType",
  "requestTimeout",
  "connectTimeout",
  "heartbeatBrokerInterval",
  "pollNameServerInterval",
  "coreMemory",
  "signal",
  "logger",
  "onError",
];
/** Options of the public API that are refused until they are built. A value that asks for nothing is let through. */
const CLIENT_LATER = ["namespace", "credentials", "tls", "vipChannelEnabled", "rpcHooks"];
const PRODUCER = [
  "producerGroup",
  "codec",
  "sendMsgTimeout",
  "retryTimesWhenSendFailed",
  "retryAnotherBrokerWhenNotStoreOK",
  "maxMessageSize",
  "defaultTopicQueueNums",
  "compression",
  "retryResponseCodes",
];
const PRODUCER_LATER = [
  "sendLatencyFault",
  "backPressure",
  "autoBatch",
  "transactionListener",
  "sendHooks",
  "endTransactionHooks",
  "sendMsgMaxTimeoutPerRequest",
  "checkForbiddenHooks",
];
const CONSUMER = [
  "consumerGroup",
  "codec",
  "subscriptions",
  "messageModel",
  "consumeFromWhere",
  "allocateMessageQueueStrategy",
  "concurrency",
  "pullBatchSize",
  "pullThresholdForQueue",
  "pullThresholdSizeForQueue",
  "consumeConcurrentlyMaxSpan",
  "pullInterval",
  "persistConsumerOffsetInterval",
  "maxReconsumeTimes",
  "checkCrc",
  "leaseMessages",
];
const CONSUMER_LATER = [
  "offsetStore",
  "pullThresholdForTopic",
  "pullThresholdSizeForTopic",
  "filterHooks",
  "consumeMessageBatchMaxSize",
  "consumeTimeout",
  "suspendCurrentQueueTimeMillis",
  "pullBatchSizeInBytes",
  "postSubscriptionWhenPull",
  "localOffsetDir",
  "classFilter",
  "consumeHooks",
  "clientRebalance",
  "popInvisibleTime",
  "orderly",
];

/** Fills in defaults. Throws `ArgumentError` for nonsense, `UnsupportedError` for what is not built yet. */
export function resolveClientOptions(options: ClientOptions): ResolvedClientOptions {
  const { serializeType = "JSON", namesrvAddr, signal } = options;
  checkNameServers(namesrvAddr);
  checkWait(undefined, signal);
  if (serializeType !== "JSON" && serializeType !== "ROCKETMQ") {
    throw new ArgumentError(`serializeType must be "JSON" or "ROCKETMQ", got ${show(serializeType)}`);
  }
  return {
    namesrvAddr,
    instanceName: name("instanceName", options.instanceName) ?? randomName(),
    unitName: name("unitName", options.unitName) ?? "",
    serializeType,
    requestTimeout: whole("requestTimeout", options.requestTimeout, 3_000, 1),
    connectTimeout: whole("connectTimeout", options.connectTimeout, 3_000, 1),
    heartbeatBrokerInterval: whole("heartbeatBrokerInterval", options.heartbeatBrokerInterval, 30_000, 10),
    pollNameServerInterval: whole("pollNameServerInterval", options.pollNameServerInterval, 30_000, 10),
    coreMemory: whole("coreMemory", options.coreMemory, CORE_MEMORY_DEFAULT, 2, CORE_MEMORY_MAX),
    signal,
    logger: resolveLogger(options.logger),
    onError: callable("onError", options.onError),
  };
}

/** What the text means is looked at later, where the addresses are read. */
function checkNameServers(namesrvAddr: ClientOptions["namesrvAddr"]): void {
  if (namesrvAddr === undefined || namesrvAddr === null) throw new ArgumentError("namesrvAddr is missing");
  if (typeof namesrvAddr === "function") return;
  const texts = typeof namesrvAddr === "string" ? [namesrvAddr] : namesrvAddr;
  if (
    Array.isArray(texts) && texts.length > 0 && texts.every((text) => typeof text === "string" && text.trim() !== "")
  ) {
    return;
  }
  throw new ArgumentError(`namesrvAddr must be addresses or a function that finds them, got ${show(namesrvAddr)}`);
}

function resolveLogger(logger: Logger | undefined): Logger | undefined {
  if (logger === undefined) return undefined;
  for (const level of ["debug", "info", "warn", "error"] as const) callable(`logger.${level}`, logger?.[level] ?? null);
  return logger;
}

export function resolveProducerOptions<T>(
  options: Omit<ProducerOptions<T>, keyof ClientOptions>,
): ResolvedProducerOptions<T> {
  const { producerGroup = DEFAULT_PRODUCER_GROUP, codec = bytes as Codec<unknown> as Codec<T> } = options;
  named("producerGroup", producerGroup);
  return {
    producerGroup,
    codec: checkCodec(codec),
    sendMsgTimeout: whole("sendMsgTimeout", options.sendMsgTimeout, 3_000, 1),
    retryTimesWhenSendFailed: whole("retryTimesWhenSendFailed", options.retryTimesWhenSendFailed, 2, 0, 100),
    retryAnotherBrokerWhenNotStoreOK: flag(
      "retryAnotherBrokerWhenNotStoreOK",
      options.retryAnotherBrokerWhenNotStoreOK,
      false,
    ),
    maxMessageSize: whole("maxMessageSize", options.maxMessageSize, 4_194_304, 1, 16_000_000),
    defaultTopicQueueNums: whole("defaultTopicQueueNums", options.defaultTopicQueueNums, 4, 1, 65_535),
    compression: resolveCompression(options.compression),
    retryResponseCodes: resolveCodes(options.retryResponseCodes),
  };
}

function resolveCodes(codes: readonly number[] = []): readonly number[] {
  if (Array.isArray(codes) && codes.every(Number.isInteger)) return codes;
  throw new ArgumentError(`retryResponseCodes must be a list of response codes, got ${show(codes)}`);
}

function named(option: string, group: string): void {
  try {
    checkGroup(group);
  } catch (cause) {
    throw new ArgumentError(`${option}: ${reasonOf(cause)}`, { cause });
  }
}

function checkCodec<T>(codec: Codec<T>): Codec<T> {
  if (typeof codec?.encode === "function" && typeof codec.decode === "function") return codec;
  throw new ArgumentError("codec must have encode() and decode()");
}

function resolveCompression(
  compression: ProducerOptions<unknown>["compression"],
): ResolvedProducerOptions<unknown>["compression"] {
  if (compression === false) return undefined;
  if (compression !== undefined && (compression === null || typeof compression !== "object")) {
    throw new ArgumentError(`compression must be an object or false, got ${show(compression)}`);
  }
  const { type = "ZLIB", level, over } = compression ?? {};
  checkNames(compression ?? {}, ["type", "level", "over"], "compression");
  if (type !== "ZLIB" && type !== "LZ4" && type !== "ZSTD") {
    throw new ArgumentError(`compression.type must be "ZLIB", "LZ4" or "ZSTD", got ${show(type)}`);
  }
  return {
    type,
    level: whole("compression.level", level, 5, 0, 9),
    over: whole("compression.over", over, 4_096, 0),
  };
}

export function resolvePushConsumerOptions<T>(
  options: Omit<PushConsumerOptions<T>, keyof ClientOptions>,
): ResolvedPushConsumerOptions<T> {
  const { consumerGroup, codec = bytes as Codec<unknown> as Codec<T>, messageModel = "CLUSTERING" } = options;
  const { allocateMessageQueueStrategy: strategy = "AVG" } = options;
  if (consumerGroup === undefined || consumerGroup === null) throw new ArgumentError("consumerGroup is missing");
  named("consumerGroup", consumerGroup);
  if (consumerGroup === DEFAULT_CONSUMER_GROUP) {
    throw new ArgumentError(`consumerGroup must not be "${DEFAULT_CONSUMER_GROUP}": choose one of your own`);
  }
  if (messageModel !== "CLUSTERING" && messageModel !== "BROADCASTING") {
    throw new ArgumentError(`messageModel must be "CLUSTERING" or "BROADCASTING", got ${show(messageModel)}`);
  }
  if (messageModel !== "CLUSTERING") {
    throw new UnsupportedError(`messageModel ${show(messageModel)} is not supported yet`);
  }
  const maxReconsumeTimes = whole("maxReconsumeTimes", options.maxReconsumeTimes, -1, -1);
  return {
    consumerGroup,
    codec: checkCodec(codec),
    subscriptions: Object.fromEntries(
      Object.entries(checkSubscriptions(options.subscriptions)).map((
        [topic, selector],
      ) => [topic, tagExpression(topic, selector)]),
    ),
    consumeFromWhere: resolveFromWhere(options.consumeFromWhere),
    allocateMessageQueueStrategy: checkStrategy(strategy),
    concurrency: whole("concurrency", options.concurrency, 20, 1, 65_535),
    pullBatchSize: whole("pullBatchSize", options.pullBatchSize, 32, 1, 1_024),
    pullThresholdForQueue: whole("pullThresholdForQueue", options.pullThresholdForQueue, 1_000, 1, 65_535),
    pullThresholdSizeForQueue: whole("pullThresholdSizeForQueue", options.pullThresholdSizeForQueue, 100, 1, 1_024) <<
      20,
    consumeConcurrentlyMaxSpan: whole(
      "consumeConcurrentlyMaxSpan",
      options.consumeConcurrentlyMaxSpan,
      2_000,
      1,
      65_535,
    ),
    pullInterval: whole("pullInterval", options.pullInterval, 0, 0, 65_535),
    persistConsumerOffsetInterval: whole(
      "persistConsumerOffsetInterval",
      options.persistConsumerOffsetInterval,
      5_000,
      10,
    ),
    maxReconsumeTimes: maxReconsumeTimes < 0 ? 16 : maxReconsumeTimes,
    checkCrc: flag("checkCrc", options.checkCrc, true),
    leaseMessages: flag("leaseMessages", options.leaseMessages, false),
  };
}

function checkSubscriptions(
  subscriptions: Readonly<Record<string, MessageSelector>> = {},
): Readonly<Record<string, MessageSelector>> {
  if (subscriptions !== null && typeof subscriptions === "object" && !Array.isArray(subscriptions)) {
    return subscriptions;
  }
  throw new ArgumentError("subscriptions must be an object of topics and selectors");
}

function resolveFromWhere(where: ConsumeFromWhere = "CONSUME_FROM_LAST_OFFSET"): ConsumeFromWhere {
  if (where === "CONSUME_FROM_LAST_OFFSET" || where === "CONSUME_FROM_FIRST_OFFSET") return where;
  if (typeof where === "object" && where !== null && Number.isSafeInteger(where.timestamp)) return where;
  throw new ArgumentError(`consumeFromWhere must be one of RocketMQ's words or { timestamp }, got ${show(where)}`);
}

/** The tag expression of a selector. Throws `UnsupportedError` for SQL. */
export function tagExpression(topic: string, selector: MessageSelector = "*"): string {
  if (typeof selector === "string") return selector;
  if (selector !== null && typeof selector === "object") {
    if ("tags" in selector && typeof selector.tags === "string") return selector.tags;
    if ("sql" in selector) {
      throw new UnsupportedError(`Cannot subscribe to topic "${topic}": SQL92 selectors are not supported yet`, {
        topic,
      });
    }
  }
  throw new ArgumentError(`Cannot subscribe to topic "${topic}": ${show(selector)} is not a selector`, { topic });
}

type Kind = "client" | "producer" | "consumer";
const KNOWN: Readonly<Record<Kind, readonly string[]>> = { client: CLIENT, producer: PRODUCER, consumer: CONSUMER };
const LATER: Readonly<Record<Kind, readonly string[]>> = {
  client: CLIENT_LATER,
  producer: PRODUCER_LATER,
  consumer: CONSUMER_LATER,
};

/** Refuses what is not built yet and what no option is called: an option is never ignored. */
export function checkOptionNames(options: object, ...kinds: readonly Kind[]): void {
  if (options === null || typeof options !== "object") throw new ArgumentError("The options must be an object");
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined || kinds.some((kind) => KNOWN[kind].includes(option))) continue;
    if (kinds.some((kind) => LATER[kind].includes(option))) {
      if (value === (option === "clientRebalance")) continue; // asks for what is done anyway
      throw new UnsupportedError(`Option ${option} is not supported yet`);
    }
    throw noOption(option);
  }
}

function whole(option: string, value: number | undefined, otherwise: number, min: number, max = 2 ** 31 - 1): number {
  if (value === undefined) return otherwise;
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new ArgumentError(`${option} must be a whole number from ${min} to ${max}, got ${show(value)}`);
}

function flag(option: string, value: boolean | undefined, otherwise: boolean): boolean {
  if (value === undefined) return otherwise;
  if (typeof value === "boolean") return value;
  throw new ArgumentError(`${option} must be true or false, got ${show(value)}`);
}

function callable<F>(option: string, value: F): F {
  if (value === undefined || typeof value === "function") return value;
  throw new ArgumentError(`${option} must be a function, got ${show(value)}`);
}

function name(option: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.trim() !== "") return value;
  throw new ArgumentError(`${option} must not be blank`);
}

function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A call's `timeout`, in ms and more than 0, and its `signal`; both may be absent. Throws `ArgumentError`. */
export function checkWait(timeout: number | undefined, signal: AbortSignal | undefined): void {
  if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0)) {
    throw new ArgumentError(`timeout must be more than 0 ms, got ${show(timeout)}`);
  }
  if (signal === undefined) return;
  const { aborted, addEventListener, removeEventListener } = Object(signal) as Partial<AbortSignal>;
  if (
    typeof aborted !== "boolean" || typeof addEventListener !== "function" || typeof removeEventListener !== "function"
  ) {
    throw new ArgumentError("signal must be an AbortSignal");
  }
}
