import type { Clock } from "../client/host.ts";
import { javaHashCode } from "../client/protocol/hash.ts";
import { encodeProperties } from "../client/protocol/properties.ts";
import * as names from "../client/protocol/property_names.ts";
import { decodeRecord, encodeRecord, type StoredRecord } from "../client/protocol/record.ts";
import { PHYSICAL_OFFSET_AT } from "../client/protocol/record_layout.ts";
import { ConsumeQueue } from "./consume_queue.ts";
import { type CommitLog, MemoryCommitLog } from "./store.ts";

/** A message on its way into the store; the store adds offsets, times and its own address. */
export type NewMessage =
  & Pick<
    StoredRecord,
    "topic" | "queueId" | "flag" | "sysFlag" | "bornTimestamp" | "bornHost" | "reconsumeTimes" | "body"
  >
  & { readonly properties: Record<string, string> };

export interface StoredAt {
  /** Commit-log offset. */
  readonly position: number;
  readonly queueOffset: number;
}

export interface MessageStoreOptions {
  readonly brokerName: string;
  readonly clock: Clock;
  /** CRC-32 of a body. */
  readonly crc32: (bytes: Uint8Array) => number;
  /** "ip:port" of this broker: part of every record. */
  readonly storeHost: string;
  /** Told of each message: somebody may wait for it. */
  readonly arrived: (queue: ConsumeQueue, tagHash: number) => void;
}

/** Records in the commit log, and the queues that point at them. */
export class MessageStore {
  readonly brokerName: string;
  readonly log: CommitLog = new MemoryCommitLog();
  readonly #options: MessageStoreOptions;
  readonly #topics = new Map<string, ConsumeQueue[]>();

  constructor(options: MessageStoreOptions) {
    this.brokerName = options.brokerName;
    this.#options = options;
  }

  /** Throws `ArgumentError` for what no record can hold: properties longer than 32,767 bytes. */
  put(message: NewMessage): StoredAt {
    const { clock, crc32, storeHost } = this.#options;
    const { log } = this;
    const queue = this.queue(message.topic, message.queueId);
    const storeTimestamp = clock.now();
    const record = encodeRecord({
      ...message,
      queueOffset: BigInt(queue.max),
      physicalOffset: 0n,
      storeTimestamp,
      storeHost,
      preparedTransactionOffset: 0n,
      bodyCRC: crc32(message.body) & 0x7fffffff,
      properties: encodeProperties(message.properties),
    });
    const position = log.open(record.length);
    log.bytes.set(record, log.at);
    log.view.setBigInt64(log.at + PHYSICAL_OFFSET_AT, BigInt(position));
    const queueOffset = this.append(queue, position, record.length, tagHashOf(message.properties), storeTimestamp);
    return { position, queueOffset };
  }

  /** The open record is complete: closes it and enters it in its queue. Every message comes by here. */
  append(queue: ConsumeQueue, position: number, size: number, tagHash: number, storeTimestamp: number): number {
    this.log.close(size);
    const queueOffset = queue.append(position, size, tagHash, storeTimestamp);
    this.#options.arrived(queue, tagHash);
    return queueOffset;
  }

  /** A queue comes into being when it is asked for, empty. Ask only for queues that their topic has. */
  queue(topic: string, queueId: number): ConsumeQueue {
    return this.queues(topic)[queueId] ??= new ConsumeQueue();
  }

  /** The queues of a topic that have been asked for. */
  queues(topic: string): ConsumeQueue[] {
    let queues = this.#topics.get(topic);
    if (!queues) this.#topics.set(topic, queues = []);
    return queues;
  }

  /** The same without making one: for topics and queues that came from outside. */
  existing(topic: string, queueId: number): ConsumeQueue | undefined {
    return this.#topics.get(topic)?.[queueId];
  }

  /** The record at an entry of a queue. */
  record(queue: ConsumeQueue, offset: number): Uint8Array {
    return this.log.read(queue.position(offset), queue.size(offset))!;
  }

  /** The record at a commit-log offset that came from outside: undefined unless one begins there. */
  recordAt(position: number): StoredRecord | undefined {
    if (!Number.isSafeInteger(position)) return undefined;
    const head = this.log.read(position, 4);
    const bytes = head && this.log.read(position, new DataView(head.buffer, head.byteOffset).getInt32(0));
    if (!bytes || bytes.length < PHYSICAL_OFFSET_AT + 8) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    if (view.getBigInt64(PHYSICAL_OFFSET_AT) !== BigInt(position)) return undefined;
    const record = decodeRecord(bytes);
    // A body may look like a record, at its own place even: only an entry of a queue is proof.
    const queue = this.existing(record.topic, record.queueId), offset = Number(record.queueOffset);
    return queue && offset < queue.max && queue.position(offset) === position ? record : undefined;
  }
}

/** Java's hash of the tag, 0 when there is none: what brokers compare. */
const tagHashOf = (properties: Readonly<Record<string, string>>): number => {
  const tags = properties[names.TAGS];
  return tags ? javaHashCode(tags) : 0;
};
