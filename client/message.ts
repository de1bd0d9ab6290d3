/** One queue of one broker. Equal queues of one client are the same object, so it can be a Map key. */
export interface MessageQueue {
  readonly topic: string;
  readonly brokerName: string;
  readonly queueId: number;
}

/** What is sent. */
export interface Message<T = Uint8Array> {
  topic: string;
  body: T;
  tags?: string | undefined;
  keys?: string | readonly string[];
  properties?: Readonly<Record<string, string>>;
  /** 1..18, one of the broker's delay levels. */
  delayTimeLevel?: number | undefined;
  /** `send()` does not support it yet. Absolute time of delivery, ms (5.x brokers). */
  deliverAt?: number | undefined;
  /** `send()` does not support it yet. Messages with one sharding key go to one queue, in order. */
  shardingKey?: string | undefined;
  /** Default true: the broker answers only when the message is stored as its configuration promises. */
  waitStoreMsgOK?: boolean;
}

/**
 * What is consumed. It decodes lazily and is the user's: kept, it stays valid for ever. Only with `leaseMessages` it ends when
 * it is settled: then what was read before stays readable, and any other field is an `ArgumentError`.
 */
export interface MessageExt<T = Uint8Array> extends MessageQueue {
  /** Throws `FrameError` when the body is damaged or cannot be inflated, `CodecError` when the codec throws. */
  readonly body: T;
  /** What a message does not have is undefined. */
  readonly tags?: string | undefined;
  readonly delayTimeLevel?: number | undefined;
  readonly deliverAt?: number | undefined;
  readonly shardingKey?: string | undefined;
  readonly waitStoreMsgOK?: boolean;
  /** The client's unique id (UNIQ_KEY), or the offset id where there is none. */
  readonly msgId: string;
  readonly offsetMsgId: string;
  readonly keys: readonly string[];
  readonly properties: Readonly<Record<string, string>>;
  readonly queueOffset: bigint;
  readonly commitLogOffset: bigint;
  readonly sysFlag: number;
  readonly reconsumeTimes: number;
  readonly bornTimestamp: number;
  readonly bornHost: string;
  readonly storeTimestamp: number;
  readonly storeHost: string;
  readonly preparedTransactionOffset: bigint;
  readonly transactionId?: string | undefined;
  /** Decompressed bytes, owned by the caller; `body` runs the codec once, when it is first read. */
  rawBody(): Uint8Array;
  /** A copy that stands alone: it outlives a lease, and does not keep the rest of its batch in memory. */
  retain(): MessageExt<T>;
}

export type SendStatus = "SEND_OK" | "FLUSH_DISK_TIMEOUT" | "FLUSH_SLAVE_TIMEOUT" | "SLAVE_NOT_AVAILABLE";

/** Where a message was stored. Most fields are worked out when they are read: `JSON.stringify` has them, a spread has not. */
export interface SendResult {
  readonly sendStatus: SendStatus;
  /** The client's unique id (UNIQ_KEY). */
  readonly msgId: string;
  readonly offsetMsgId: string;
  readonly queue: MessageQueue;
  readonly queueOffset: bigint;
  readonly transactionId?: string;
  readonly recallHandle?: string;
}
