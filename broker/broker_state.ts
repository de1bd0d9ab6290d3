import type { Core } from "../client/core.ts";
import type { Host } from "../client/host.ts";
import { UniqueIds } from "../client/protocol/ids.ts";
import { SCHEDULE_TOPIC } from "../client/protocol/names.ts";
import { decodeProperties } from "../client/protocol/properties.ts";
import * as names from "../client/protocol/property_names.ts";
import { decodeRecord } from "../client/protocol/record.ts";
import type { AnswerPrograms } from "./answer_programs.ts";
import type { ConsumeQueue } from "./consume_queue.ts";
import { Groups } from "./groups.ts";
import { HeldPulls } from "./hold.ts";
import { MessageStore, type NewMessage, type StoredAt } from "./message_store.ts";
import { Offsets } from "./offsets.ts";
import { Schedule } from "./schedule.ts";
import { Topics } from "./topics.ts";

export interface BrokerStateOptions {
  readonly core: Core;
  readonly host: Host;
  readonly answers: AnswerPrograms;
  readonly clusterName: string;
  readonly brokerName: string;
  /** "ip:port", as clients reach it. */
  readonly addr: string;
  /** Delays of the levels, ms. */
  readonly delays: readonly number[];
}

/** What one broker remembers. */
export class BrokerState {
  readonly clusterName: string;
  readonly brokerName: string;
  readonly addr: string;
  readonly host: Host;
  readonly answers: AnswerPrograms;
  readonly topics: Topics;
  readonly groups: Groups;
  readonly messages: MessageStore;
  readonly offsets: Offsets;
  readonly held: HeldPulls;
  readonly crc32: (bytes: Uint8Array) => number;
  readonly #core: Core;
  readonly #uniqueIds: UniqueIds;
  readonly #schedule: Schedule;

  constructor({ core, host, answers, clusterName, brokerName, addr, delays }: BrokerStateOptions) {
    this.clusterName = clusterName;
    this.brokerName = brokerName;
    this.addr = addr;
    this.host = host;
    this.answers = answers;
    this.crc32 = (bytes) => host.crc32?.(bytes) ?? core.crc32(bytes);
    this.#core = core;
    this.#uniqueIds = new UniqueIds(host.clock.now());
    this.topics = new Topics(clusterName, brokerName, delays.length);
    this.groups = new Groups(host.clock);
    this.held = new HeldPulls(host);
    this.messages = new MessageStore({
      brokerName,
      clock: host.clock,
      crc32: this.crc32,
      storeHost: addr,
      arrived: (queue, tagHash) => this.held.arrived(queue, tagHash),
    });
    this.offsets = new Offsets(this);
    this.#schedule = new Schedule({
      clock: host.clock,
      delays,
      queueOf: (level) => this.messages.queue(SCHEDULE_TOPIC, level - 1),
      due: (queue, offset) => this.#deliver(queue, offset),
    });
  }

  /** For messages that came without one. */
  nextUniqKey(): string {
    const now = this.host.clock.now();
    this.#core.clock(now, this.#uniqueIds.sinceMonth(now));
    return this.#uniqueIds.text(this.#core.nextUniqueId());
  }

  /** Stores a message, or first its delay (`ScheduleMessageService`). */
  store(message: NewMessage): StoredAt {
    const level = Math.min(delayOf(message), this.#schedule.levels);
    if (level <= 0) return this.messages.put(message);
    const properties = Object.assign(Object.create(null) as Record<string, string>, message.properties);
    properties[names.DELAY] = String(level);
    properties[names.REAL_TOPIC] = message.topic;
    properties[names.REAL_QID] = String(message.queueId);
    const place = this.messages.put({ ...message, topic: SCHEDULE_TOPIC, queueId: level - 1, properties });
    this.#schedule.added(level);
    return place;
  }

  /** A delay is over: the message is stored where it belongs, with all its properties, as Java leaves them. */
  #deliver(queue: ConsumeQueue, offset: number): void {
    const record = decodeRecord(this.messages.record(queue, offset));
    const properties = decodeProperties(record.properties);
    const topic = properties[names.REAL_TOPIC]!, queueId = Number(properties[names.REAL_QID]);
    this.messages.put({ ...record, topic, queueId, properties });
  }

  close(): void {
    this.held.close();
    this.groups.close();
    this.#schedule.close();
  }
}

/** Java reads the level as a decimal number. */
const delayOf = ({ properties }: NewMessage): number => {
  const level = properties[names.DELAY];
  return level !== undefined && /^\d{1,9}$/.test(level) ? Number(level) : 0;
};
