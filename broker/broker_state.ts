import type { Core } from "../client/core.ts";
import type { Clock } from "../client/host.ts";
import { SCHEDULE_TOPIC } from "../client/protocol/names.ts";
import * as names from "../client/protocol/property_names.ts";
import { Groups } from "./groups.ts";
import { HeldPulls } from "./hold.ts";
import { MessageStore, type NewMessage, type StoredAt } from "./message_store.ts";
import { Offsets } from "./offsets.ts";
import { Schedule } from "./schedule.ts";
import { Topics } from "./topics.ts";

export interface BrokerStateOptions {
  readonly core: Core;
  readonly clock: Clock;
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
  readonly clock: Clock;
  readonly topics: Topics;
  readonly groups = new Groups();
  readonly messages: MessageStore;
  readonly offsets: Offsets;
  readonly held: HeldPulls;
  readonly #schedule: Schedule;

  constructor(options: BrokerStateOptions) {
    const { core, clock, clusterName, brokerName, addr, delays } = options;
    this.clusterName = clusterName;
    this.brokerName = brokerName;
    this.addr = addr;
    this.clock = clock;
    this.topics = new Topics(clusterName, brokerName);
    this.held = new HeldPulls(clock);
    this.messages = new MessageStore({
      core,
      clock,
      topics: this.topics,
      storeHost: addr,
      arrived: (topic, queueId, tagHash) => this.held.arrived(topic, queueId, tagHash),
    });
    this.offsets = new Offsets(this.messages);
    this.#schedule = new Schedule(clock, delays, (message) => this.messages.put(message));
  }

  /** Stores a message, or first its delay (`ScheduleMessageService`). */
  store(message: NewMessage): StoredAt {
    const { properties } = message;
    properties[names.MSG_REGION] ??= "DefaultRegion";
    properties[names.TRACE_ON] ??= "true";
    properties["CLUSTER"] ??= this.clusterName;
    const level = Math.min(Number(properties[names.DELAY] ?? 0) || 0, this.#schedule.levels);
    if (level <= 0) return this.messages.put(message);
    const real = { ...message, properties: { ...properties } };
    properties[names.REAL_TOPIC] = message.topic;
    properties[names.REAL_QID] = String(message.queueId);
    const place = this.messages.put({ ...message, topic: SCHEDULE_TOPIC, queueId: level - 1 });
    delete real.properties[names.DELAY];
    this.#schedule.add(level, real);
    return place;
  }

  close(): void {
    this.held.close();
    this.#schedule.close();
  }
}
