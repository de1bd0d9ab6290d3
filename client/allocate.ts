import { STRATEGY_AVG, STRATEGY_AVG_BY_CIRCLE, STRATEGY_MACHINE_ROOM } from "../core-as/abi.ts";
import type { Core } from "./core.ts";
import { ArgumentError } from "./errors.ts";
import type { MessageQueue } from "./message.ts";

/**
 * How the queues of a topic are shared out among the members of a group, as the Java client does it. All members must use the
 * same.
 */
export type AllocateStrategy =
  /** Neighbours in order, at most one more for some than for others. */
  | "AVG"
  /** Dealt out one by one. */
  | "AVG_BY_CIRCLE"
  /** By a hash ring: few queues move when a member comes or goes. */
  | "CONSISTENT_HASH"
  /** These queues, whoever else is there. */
  | { readonly name: "CONFIG"; readonly queues: readonly MessageQueue[] }
  /** Only queues of brokers that are called `<room>@<name>`, of these rooms, averagely. */
  | { readonly name: "MACHINE_ROOM"; readonly rooms: readonly string[] }
  /**
   * By `inner` among the members in a queue's room, among all where there are none. `roomOf` tells the room of a queue and of
   * a client id; it is never "".
   */
  | {
    readonly name: "MACHINE_ROOM_NEARBY";
    readonly inner: AllocateStrategy;
    readonly roomOf: (owner: MessageQueue | string) => string;
  }
  /** One of your own. */
  | {
    readonly name: string;
    allocate(
      group: string,
      clientId: string,
      queues: readonly MessageQueue[],
      clientIds: readonly string[],
    ): readonly MessageQueue[];
  };

/** Nodes of each client on the hash ring: Java's default. */
const RING_NODES = 10;

/**
 * The queues that are `clientId`'s. `queues` and `clientIds` are sorted the same way at every member; a client that is not
 * among them gets nothing. Throws `ArgumentError` for a strategy that makes no sense, for an empty client id, and when there
 * are no queues or no clients; what a function of the strategy throws goes through.
 */
export function allocateQueues(
  core: Core,
  strategy: AllocateStrategy,
  group: string,
  clientId: string,
  queues: readonly MessageQueue[],
  clientIds: readonly string[],
): readonly MessageQueue[] {
  const checked = checkStrategy(strategy);
  // Java gives what is configured to whoever asks.
  if (isObject(checked) && "queues" in checked && !("allocate" in checked)) return checked.queues;
  if (!clientId) throw new ArgumentError("Cannot allocate queues: the client id is empty");
  if (queues.length === 0) throw new ArgumentError("Cannot allocate queues: there are none");
  if (clientIds.length === 0) throw new ArgumentError("Cannot allocate queues: the group has no members");
  const index = clientIds.indexOf(clientId);
  if (index < 0) return [];
  const counted = (number: number, from: readonly MessageQueue[]): MessageQueue[] =>
    core.allocate(number, from.length, clientIds.length, index).map((at) => from[at]!);
  if (checked === "AVG") return counted(STRATEGY_AVG, queues);
  if (checked === "AVG_BY_CIRCLE") return counted(STRATEGY_AVG_BY_CIRCLE, queues);
  if (checked === "CONSISTENT_HASH") {
    return core.allocateByHash(clientId, queues.map(queueText), clientIds, RING_NODES).map((at) => queues[at]!);
  }
  if ("allocate" in checked) return (checked as Own).allocate(group, clientId, queues, clientIds);
  if (checked.name === "MACHINE_ROOM") return counted(STRATEGY_MACHINE_ROOM, inRooms(queues, (checked as Rooms).rooms));
  return nearby(core, checked as Nearby, group, clientId, queues, clientIds);
}

type Own = Extract<AllocateStrategy, { allocate: unknown }>;
type Rooms = Extract<AllocateStrategy, { name: "MACHINE_ROOM" }>;
type Nearby = Extract<AllocateStrategy, { name: "MACHINE_ROOM_NEARBY" }>;

/** As Java's `MessageQueue.toString()`, which the ring hashes. */
export const queueText = ({ topic, brokerName, queueId }: MessageQueue): string =>
  `MessageQueue [topic=${topic}, brokerName=${brokerName}, queueId=${queueId}]`;

/** MACHINE_ROOM: queues whose broker is called `<room>@<name>`. */
function inRooms(queues: readonly MessageQueue[], rooms: readonly string[]): MessageQueue[] {
  const wanted = new Set(rooms);
  return queues.filter(({ brokerName }) => {
    // Java's split() leaves out empty parts at the end.
    const parts = brokerName.replace(/@+$/, "").split("@");
    return parts.length === 2 && wanted.has(parts[0]!);
  });
}

/** MACHINE_ROOM_NEARBY: the queues of this client's room, then a share of each room without clients. */
function nearby(
  core: Core,
  { inner, roomOf }: Nearby,
  group: string,
  clientId: string,
  queues: readonly MessageQueue[],
  clientIds: readonly string[],
): MessageQueue[] {
  const queuesOf = byRoom(queues, roomOf, queueText), clientsOf = byRoom(clientIds, roomOf, (id) => id);
  const room = roomOf(clientId), mine: MessageQueue[] = [];
  const take = (from: readonly MessageQueue[], among: readonly string[]): void => {
    for (const queue of allocateQueues(core, inner, group, clientId, from, among)) mine.push(queue);
  };
  const near = queuesOf.get(room);
  if (near) take(near, clientsOf.get(room) ?? []);
  for (const other of [...queuesOf.keys()].sort(inOrder)) {
    if (!clientsOf.has(other)) take(queuesOf.get(other)!, clientIds);
  }
  return mine;
}

function byRoom<Owner extends MessageQueue | string>(
  owners: readonly Owner[],
  roomOf: Nearby["roomOf"],
  nameOf: (owner: Owner) => string,
): Map<string, Owner[]> {
  const rooms = new Map<string, Owner[]>();
  for (const owner of owners) {
    const room = roomOf(owner);
    if (typeof room !== "string" || room === "") {
      throw new ArgumentError(`Cannot allocate queues: roomOf gives no room for ${nameOf(owner)}`);
    }
    const others = rooms.get(room);
    if (others) others.push(owner);
    else rooms.set(room, [owner]);
  }
  return rooms;
}

const inOrder = (one: string, other: string): number => one < other ? -1 : one > other ? 1 : 0;

/** The strategy, if it is one. Throws `ArgumentError` otherwise. */
export function checkStrategy(strategy: AllocateStrategy): AllocateStrategy {
  if (strategy === "AVG" || strategy === "AVG_BY_CIRCLE" || strategy === "CONSISTENT_HASH") return strategy;
  if (!isObject(strategy)) throw new ArgumentError(`There is no strategy ${JSON.stringify(strategy)}`);
  const { name, allocate, queues, rooms, inner, roomOf } = strategy as unknown as Record<string, unknown>;
  if (allocate !== undefined) need(name, "allocate", "a function", typeof allocate === "function");
  else if (name === "CONFIG") need(name, "queues", "a list of queues", Array.isArray(queues) && queues.every(isQueue));
  else if (name === "MACHINE_ROOM") need(name, "rooms", "a list of names", Array.isArray(rooms) && rooms.every(isText));
  else if (name === "MACHINE_ROOM_NEARBY") {
    need(name, "roomOf", "a function", typeof roomOf === "function");
    checkStrategy(inner as AllocateStrategy);
  } else throw new ArgumentError(`There is no strategy ${JSON.stringify(name)}`);
  return strategy;
}

function need(name: unknown, field: string, kind: string, isThere: boolean): void {
  if (!isThere) throw new ArgumentError(`Strategy ${JSON.stringify(name)} needs ${field}: ${kind}`);
}

const isText = (value: unknown): boolean => typeof value === "string";

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

function isQueue(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { topic, brokerName, queueId } = value as Partial<MessageQueue>;
  return isText(topic) && isText(brokerName) && Number.isInteger(queueId);
}
