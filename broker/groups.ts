import type { ConsumerData, HeartbeatData } from "../client/protocol/heartbeat.ts";
import { notifyRequest } from "../client/protocol/notify.ts";
import type { SubscriptionData } from "../client/protocol/subscription.ts";
import type { Caller } from "./answer.ts";

interface Group {
  readonly members: Map<Caller, string>;
  subscriptions: Map<string, SubscriptionData>;
  messageModel: string;
}

/** Who consumes, in which group, and what: known from heartbeats (`ConsumerManager`). */
export class Groups {
  readonly #groups = new Map<string, Group>();
  /** Groups that have been heard of, whether or not somebody is there now. */
  readonly #known = new Set<string>();

  /** A group that nobody has heard of is created by the first request that names it. */
  meet(group: string): void {
    this.#known.add(group);
  }

  isKnown(group: string): boolean {
    return this.#known.has(group);
  }

  heartbeat(caller: Caller, { clientID, consumerDataSet }: HeartbeatData): void {
    for (const data of consumerDataSet) this.#enter(caller, clientID, data);
  }

  #enter(caller: Caller, clientId: string, data: ConsumerData): void {
    this.meet(data.groupName);
    let group = this.#groups.get(data.groupName);
    if (!group) {
      this.#groups.set(data.groupName, group = { members: new Map(), subscriptions: new Map(), messageModel: "" });
    }
    const isNew = group.members.get(caller) !== clientId;
    group.members.set(caller, clientId);
    group.messageModel = data.messageModel;
    const isChanged = subscribe(group, data.subscriptionDataSet);
    if (isNew || isChanged) this.#notify(data.groupName);
  }

  /** One id for each member, however many connections it has. */
  members(group: string): string[] {
    return [...new Set(this.#groups.get(group)?.members.values() ?? [])];
  }

  subscription(group: string, topic: string): SubscriptionData | undefined {
    return this.#groups.get(group)?.subscriptions.get(topic);
  }

  isOnline(group: string): boolean {
    return this.#groups.has(group);
  }

  leave(groupName: string, clientId: string): void {
    const group = this.#groups.get(groupName);
    if (!group) return;
    const callers = [...group.members].filter(([, id]) => id === clientId).map(([caller]) => caller);
    for (const caller of callers) group.members.delete(caller);
    if (callers.length > 0) this.#left(groupName, group);
  }

  /** A connection has ended: whoever was behind it is gone. */
  disconnected(caller: Caller): void {
    for (const [name, group] of this.#groups) if (group.members.delete(caller)) this.#left(name, group);
  }

  #left(name: string, group: Group): void {
    if (group.members.size === 0) this.#groups.delete(name);
    else this.#notify(name);
  }

  /** Tells every member that the members or their subscriptions have changed. */
  #notify(name: string): void {
    const group = this.#groups.get(name);
    if (!group || group.messageModel === "BROADCASTING") return;
    for (const caller of group.members.keys()) if (!caller.isClosed) caller.tell(notifyRequest(name));
  }
}

/** The newest subscription of a topic wins; topics that are not in the list any more are removed. */
function subscribe(group: Group, list: readonly SubscriptionData[]): boolean {
  const before = group.subscriptions;
  const after = new Map<string, SubscriptionData>();
  let isChanged = false;
  for (const data of list) {
    const known = before.get(data.topic);
    if (!known) isChanged = true;
    else if (known.subString !== data.subString && data.subVersion > known.subVersion) isChanged = true;
    after.set(data.topic, known && known.subVersion > data.subVersion ? known : data);
  }
  for (const topic of before.keys()) if (!after.has(topic)) isChanged = true;
  group.subscriptions = after;
  return isChanged;
}
