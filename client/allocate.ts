import { STRATEGY_AVG } from "../core-as/abi.ts";
import type { Core } from "./core.ts";
import { ArgumentError, UnsupportedError } from "./errors.ts";
import type { MessageQueue } from "./message.ts";

/** How the queues of a topic are shared out among the members of a group. All members must use the same. */
export type AllocateStrategy =
  | "AVG"
  | "AVG_BY_CIRCLE"
  | "CONSISTENT_HASH"
  | { readonly name: "CONFIG"; readonly queues: readonly MessageQueue[] }
  | { readonly name: "MACHINE_ROOM"; readonly rooms: readonly string[] }
  | {
    readonly name: "MACHINE_ROOM_NEARBY";
    readonly inner: AllocateStrategy;
    readonly roomOf: (owner: MessageQueue | string) => string;
  }
  | {
    readonly name: string;
    allocate(
      group: string,
      clientId: string,
      queues: readonly MessageQueue[],
      clientIds: readonly string[],
    ): readonly MessageQueue[];
  };

/**
 * The queues that are `clientId`'s. `queues` and `clientIds` are sorted the same way at every member; a client that is not
 * among them gets nothing. Throws `UnsupportedError` for a strategy that is not built yet.
 */
export function allocateQueues(
  core: Core,
  strategy: AllocateStrategy,
  group: string,
  clientId: string,
  queues: readonly MessageQueue[],
  clientIds: readonly string[],
): readonly MessageQueue[] {
  checkStrategy(strategy);
  if (!clientId) throw new ArgumentError("Cannot allocate queues: the client id is empty");
  if (queues.length === 0) throw new ArgumentError("Cannot allocate queues: there are none");
  if (clientIds.length === 0) throw new ArgumentError("Cannot allocate queues: the group has no members");
  const index = clientIds.indexOf(clientId);
  if (index < 0) return [];
  if (typeof strategy === "object") return (strategy as Custom).allocate(group, clientId, queues, clientIds);
  const { start, count } = core.allocate(STRATEGY_AVG, queues.length, clientIds.length, index);
  return queues.slice(start, start + count);
}

/** Throws `UnsupportedError` unless `allocateQueues` can do it. */
export function checkStrategy(strategy: AllocateStrategy): void {
  if (strategy === "AVG" || (typeof strategy === "object" && "allocate" in strategy)) return;
  const name = typeof strategy === "string" ? strategy : strategy.name;
  throw new UnsupportedError(
    `Cannot allocate queues with strategy "${name}": only AVG and strategies of your own are built yet`,
  );
}

type Custom = Extract<AllocateStrategy, { allocate: unknown }>;
