import type { Clock, Timer } from "../client/host.ts";
import type { ConsumerData, HeartbeatData } from "../client/protocol/heartbeat.ts";
import { notifyRequest } from "../client/protocol/notify.ts";
import type { SubscriptionData } from "../client/protocol/subscription.ts";
import type { Caller } from "./answer.ts";
import { groupProblem } from "./name_check.ts";

/** One connection of a group. */
interface Member {
  readonly clientId: string;
  /** Monotonic ms of the last heartbeat. */
  seen: number;
}

interface Group {
  readonly members: Map<Caller, Member>;
  subscriptions: Map<string, SubscriptionData>;
  messageModel: string;
}

/** A member that has been silent for so long is gone. */
const SILENT_MAX = 120_000;
const SCAN_INTERVAL = 10_000;

/** Who consumes, in which group, and what: known from heartbeats (`ConsumerManager`). */
export class Groups {
  readonly #clock: Clock;
  readonly #groups = new Map<string, Group>();
  /** Groups that have been heard of, whether or not somebody is there now. */
  readonly #known = new Set<string>();
  #scan: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A group comes into being when it is first named, unless its name is illegal: then false. */
  meet(group: string): boolean {
    if (this.#known.has(group)) return true;
    if (groupProblem(group)) return false;
    this.#known.add(group);
    return true;
  }

  isKnown(group: string): boolean {
    return this.#known.has(group);
  }

  /** True when some subscription has changed, or is not known although the heartbeat left it out. */
  heartbeat(caller: Caller, { clientID, consumerDataSet, withoutSub = false }: HeartbeatData): boolean {
    let isChanged = false;
    for (const data of consumerDataSet) {
      if (this.meet(data.groupName) && this.#enter(caller, clientID, data, withoutSub)) isChanged = true;
    }
    if (this.#groups.size > 0) this.#scan ??= this.#clock.setTimer(SCAN_INTERVAL, () => this.#closeSilent());
    return isChanged;
  }

  #enter(caller: Caller, clientId: string, data: ConsumerData, withoutSub: boolean): boolean {
    let group = this.#groups.get(data.groupName);
    if (!group) {
      this.#groups.set(data.groupName, group = { members: new Map(), subscriptions: new Map(), messageModel: "" });
    }
    const isNew = group.members.get(caller)?.clientId !== clientId;
    group.members.set(caller, { clientId, seen: this.#clock.monotonic() });
    group.messageModel = data.messageModel;
    const isChanged = withoutSub ? group.subscriptions.size === 0 : subscribe(group, data.subscriptionDataSet);
    if (isNew || (isChanged && !withoutSub)) notify(data.groupName, group);
    return isChanged;
  }

  /** One id for each member, however many connections it has. */
  members(group: string): string[] {
    const members = this.#groups.get(group)?.members.values() ?? [];
    return [...new Set([...members].map(({ clientId }) => clientId))];
  }

  subscription(group: string, topic: string): SubscriptionData | undefined {
    return this.#groups.get(group)?.subscriptions.get(topic);
  }

  isOnline(group: string): boolean {
    return this.#groups.has(group);
  }

  /** A client leaves: through the connection it came by, or another one when that is lost. */
  leave(groupName: string, clientId: string, caller: Caller): void {
    const group = this.#groups.get(groupName);
    if (!group) return;
    const own = group.members.get(caller)?.clientId === clientId;
    let isLess = false;
    for (const [member, { clientId: id }] of [...group.members]) {
      if (own ? member === caller : id === clientId) isLess = group.members.delete(member);
    }
    if (isLess) this.#left(groupName, group);
  }

  /** A connection has ended: whoever was behind it is gone. */
  disconnected(caller: Caller): void {
    for (const [name, group] of [...this.#groups]) if (group.members.delete(caller)) this.#left(name, group);
  }

  close(): void {
    this.#scan?.cancel();
    this.#groups.clear();
  }

  #left(name: string, group: Group): void {
    if (group.members.size === 0) this.#groups.delete(name);
    else notify(name, group);
  }

  /** Connections without a heartbeat are closed, which makes their members leave. */
  #closeSilent(): void {
    this.#scan = undefined;
    const latest = this.#clock.monotonic() - SILENT_MAX;
    const silent = new Set<Caller>();
    for (const { members } of this.#groups.values()) {
      for (const [caller, { seen }] of members) if (seen <= latest) silent.add(caller);
    }
    for (const caller of silent) caller.close();
    if (this.#groups.size > 0) this.#scan = this.#clock.setTimer(SCAN_INTERVAL, () => this.#closeSilent());
  }
}

/** Tells every member that the members or their subscriptions have changed; broadcasting groups do not care. */
function notify(name: string, { members, messageModel }: Group): void {
  if (messageModel === "BROADCASTING") return;
  for (const caller of members.keys()) if (!caller.isClosed) caller.tell(notifyRequest(name));
}

/** The newest subscription of a topic wins; topics that are not in the list any more are removed. True for a change. */
function subscribe(group: Group, list: readonly SubscriptionData[]): boolean {
  const before = group.subscriptions;
  const after = new Map<string, SubscriptionData>();
  let isChanged = false;
  for (const data of list) {
    const known = before.get(data.topic);
    const isNewer = !known || data.subVersion > known.subVersion;
    if (isNewer && known?.subString !== data.subString) isChanged = true;
    after.set(data.topic, isNewer ? data : known);
  }
  for (const topic of before.keys()) if (!after.has(topic)) isChanged = true;
  group.subscriptions = after;
  return isChanged;
}
