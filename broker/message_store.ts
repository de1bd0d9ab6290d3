import type { Core } from "../client/core.ts";
import type { Clock } from "../client/host.ts";
import { javaHashCode } from "../client/protocol/hash.ts";
import { encodeProperties } from "../client/protocol/properties.ts";
import * as names from "../client/protocol/property_names.ts";
import { encodeRecord, type StoredRecord } from "../client/protocol/record.ts";
import { PHYSICAL_OFFSET_AT } from "../client/protocol/record_layout.ts";
import { ConsumeQueue } from "./consume_queue.ts";
import { MemoryCommitLog } from "./store.ts";
import type { Topics } from "./topics.ts";

/** A message on its way into the store; the store adds offsets, times and its own address. */
export type NewMessage =
  & Pick<
    StoredRecord,
    "topic" | "queueId" | "flag" | "sysFlag" | "bornTimestamp" | "bornHost" | "reconsumeTimes" | "body"
  >
  & { readonly properties: Record<string, string> };

export interface StoredAt {
  readonly position: number;
  readonly queueOffset: number;
}

/** Records in the commit log, and the queues that point at them. */
export class MessageStore {
  readonly topics: Topics;
  readonly #core: Core;
  readonly #clock: Clock;
  readonly #storeHost: string;
  readonly #log = new MemoryCommitLog();
  readonly #queues = new Map<string, ConsumeQueue[]>();
  /** Told of each message: somebody may wait for it. */
  readonly #arrived: (topic: string, queueId: number, tagHash: number) => void;

  constructor(options: {
    readonly core: Core;
    readonly clock: Clock;
    readonly topics: Topics;
    readonly storeHost: string;
    readonly arrived: (topic: string, queueId: number, tagHash: number) => void;
  }) {
    this.#core = options.core;
    this.#clock = options.clock;
    this.topics = options.topics;
    this.#storeHost = options.storeHost;
    this.#arrived = options.arrived;
  }

  put(message: NewMessage): StoredAt {
    const { topic, queueId, body } = message;
    const queue = this.#queueToWrite(topic, queueId);
    const storeTimestamp = this.#clock.now();
    const queueOffset = queue.max;
    const record = encodeRecord({
      topic,
      queueId,
      flag: message.flag,
      queueOffset: BigInt(queueOffset),
      physicalOffset: 0n,
      sysFlag: message.sysFlag,
      bornTimestamp: message.bornTimestamp,
      bornHost: message.bornHost,
      storeTimestamp,
      storeHost: this.#storeHost,
      reconsumeTimes: message.reconsumeTimes,
      preparedTransactionOffset: 0n,
      body,
      bodyCRC: this.#core.crc32(body) & 0x7fffffff,
      properties: encodeProperties(message.properties),
    });
    const position = this.#log.place(record.length);
    new DataView(record.buffer, record.byteOffset).setBigInt64(PHYSICAL_OFFSET_AT, BigInt(position));
    this.#log.append(record);
    const tagHash = tagHashOf(message.properties);
    queue.append(position, record.length, tagHash, storeTimestamp);
    this.#arrived(topic, queueId, tagHash);
    return { position, queueOffset };
  }

  queue(topic: string, queueId: number): ConsumeQueue | undefined {
    return this.#queues.get(topic)?.[queueId];
  }

  read(position: number, size: number): Uint8Array | undefined {
    return this.#log.read(position, size);
  }

  /** The record at a commit-log offset that came from outside: its own size word says how long it is. */
  recordAt(position: number): Uint8Array | undefined {
    if (!Number.isSafeInteger(position)) return undefined;
    const head = this.#log.read(position, 8);
    if (!head) return undefined;
    const view = new DataView(head.buffer, head.byteOffset, 8);
    const record = this.#log.read(position, view.getInt32(0));
    if (!record || record.length < PHYSICAL_OFFSET_AT + 8) return undefined;
    // Bytes in the middle of a record do not say that they lie where they lie.
    const own = new DataView(record.buffer, record.byteOffset).getBigInt64(PHYSICAL_OFFSET_AT);
    return own === BigInt(position) ? record : undefined;
  }

  #queueToWrite(topic: string, queueId: number): ConsumeQueue {
    let queues = this.#queues.get(topic);
    if (!queues) this.#queues.set(topic, queues = []);
    return queues[queueId] ??= new ConsumeQueue();
  }
}

/** Java's hash of the tag, 0 when there is none: what brokers compare. */
const tagHashOf = (properties: Readonly<Record<string, string>>): number => {
  const tags = properties[names.TAGS];
  return tags ? javaHashCode(tags) : 0;
};
