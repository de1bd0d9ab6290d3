import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allocateQueues, type AllocateStrategy, queueText } from "../../client/allocate.ts";
import { ArgumentError } from "../../client/errors.ts";
import type { MessageQueue } from "../../client/message.ts";
import * as abi from "../../core-as/abi.ts";
import { everyRow } from "../protocol/oracle.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import { freshSeed, Random } from "./random.ts";
import { hashOf, modelShare } from "./ring_model.ts";

interface OracleRow {
  readonly strategy: string;
  readonly group: string;
  readonly clientId: string;
  readonly queues: readonly string[] | null;
  readonly clients: readonly string[] | null;
  readonly result?: readonly number[];
  readonly throws?: { readonly message: string };
  /** Of CONFIG. */
  readonly configured?: readonly string[];
  /** Of MACHINE_ROOM. */
  readonly consumerIdcs?: readonly string[];
  /** Of MACHINE_ROOM_NEARBY. */
  readonly inner?: "AVG" | "AVG_BY_CIRCLE";
  /** Of CONSISTENT_HASH. */
  readonly virtualNodes?: number;
}

const core = openCore();

function queueOf(text: string): MessageQueue {
  const [topic, brokerName, queueId] = text.split("|") as [string, string, string];
  return { topic, brokerName, queueId: Number(queueId) };
}

/** The oracle's rooms: what is before the first hyphen. */
const roomOf = (owner: MessageQueue | string): string =>
  (typeof owner === "string" ? owner : owner.brokerName).split("-")[0]!;

function strategyOf({ strategy, configured, consumerIdcs, inner }: OracleRow): AllocateStrategy {
  if (configured) return { name: "CONFIG" as const, queues: configured.map(queueOf) };
  if (consumerIdcs) return { name: "MACHINE_ROOM" as const, rooms: consumerIdcs };
  if (inner) return { name: "MACHINE_ROOM_NEARBY" as const, inner, roomOf };
  return strategy as "AVG" | "AVG_BY_CIRCLE" | "CONSISTENT_HASH";
}

test("every strategy gives each client what Java gives it, and refuses what Java refuses", () => {
  const counts: Record<string, number> = {};
  everyRow<OracleRow>("oracle-allocate", (row) => {
    const queues = (row.queues ?? []).map(queueOf), { clientId, group, clients, virtualNodes = 10 } = row;
    const allocate = () => allocateQueues(core, strategyOf(row), group, clientId, queues, clients ?? []);
    if (row.throws) expect(allocate, row.throws.message).toThrow(ArgumentError);
    else if (virtualNodes === 10) expect(allocate(), row.strategy).toEqual(row.result!.map((index) => queues[index]));
    else {
      // Only Java's default can be asked for; the core knows others.
      const isThere = clients!.includes(clientId);
      const share = core.allocateByHash(clientId, queues.map(queueText), clients!, virtualNodes);
      expect(isThere ? share : []).toEqual(row.result);
    }
    counts[row.strategy] = (counts[row.strategy] ?? 0) + 1;
  });
  expect(counts).toEqual({
    AVG: 60,
    AVG_BY_CIRCLE: 60,
    CONFIG: 60,
    CONSISTENT_HASH: 60,
    MACHINE_ROOM: 60,
    "MACHINE_ROOM_NEARBY-AVG": 30,
    "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE": 30,
  });
});

test("CONSISTENT_HASH agrees with the vector of protocol.md", () => {
  const clients = ["10.0.0.1@1#1", "10.0.0.2@2#2", "10.0.0.3@3#3"];
  const queues = Array.from({ length: 8 }, (_, queueId) => ({ topic: "TopicA", brokerName: "broker-a", queueId }));
  const owners = queues.map((queue) =>
    clients.findIndex((id) => allocateQueues(core, "CONSISTENT_HASH", "G", id, queues, clients).includes(queue)) + 1
  );
  expect(owners).toEqual([1, 3, 1, 3, 1, 3, 3, 2]);
  expect(hashOf(queueText(queues[0]!))).toBe(0x709701a9);
});

// ── properties ───────────────────────────────────────────────────────────────────────────────────────────────────────

const ROOMS = ["bj", "hz", "sh"];

/** Queues and clients of a few rooms; broker names are `<room>@<name>`, client ids `<room>-<number>`. */
const group = fc.record({
  queues: fc.uniqueArray(
    fc.record({
      topic: fc.constant("Orders"),
      brokerName: fc.tuple(fc.constantFrom(...ROOMS), fc.integer({ min: 0, max: 3 })).map(([room, n]) =>
        `${room}@b${n}`
      ),
      queueId: fc.integer({ min: 0, max: 40 }),
    }),
    { minLength: 1, maxLength: 200, selector: queueText },
  ),
  clientIds: fc.uniqueArray(
    fc.tuple(fc.constantFrom(...ROOMS), fc.integer({ min: 0, max: 999 })).map(([room, n]) => `${room}-${n}`),
    { minLength: 1, maxLength: 60 },
  ).map((ids) => ids.sort()),
});
const placeOf = (owner: MessageQueue | string): string =>
  (typeof owner === "string" ? owner : owner.brokerName).split(/[-@]/)[0]!;

const STRATEGIES: readonly AllocateStrategy[] = [
  "AVG",
  "AVG_BY_CIRCLE",
  "CONSISTENT_HASH",
  { name: "MACHINE_ROOM", rooms: ROOMS },
  ...(["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"] as const).map((inner) => ({
    name: "MACHINE_ROOM_NEARBY" as const,
    inner,
    roomOf: placeOf,
  })),
  { name: "MACHINE_ROOM_NEARBY", inner: { name: "MACHINE_ROOM", rooms: ROOMS }, roomOf: placeOf },
];
const nameOf = (strategy: AllocateStrategy): string =>
  typeof strategy === "string"
    ? strategy
    : "inner" in strategy
    ? `${strategy.name}-${nameOf(strategy.inner)}`
    : strategy.name;

const sharesOf = (strategy: AllocateStrategy, queues: readonly MessageQueue[], clientIds: readonly string[]) =>
  clientIds.map((id) => allocateQueues(core, strategy, "G", id, queues, clientIds));

describe.each(STRATEGIES.map((strategy) => [nameOf(strategy), strategy] as const))("%s", (_, strategy) => {
  test("gives every queue to exactly one client", () => {
    fc.assert(fc.property(group, ({ queues, clientIds }) => {
      const given = sharesOf(strategy, queues, clientIds).flat();
      expect(given.length).toBe(queues.length);
      expect(new Set(given)).toEqual(new Set(queues));
    }));
  });

  test("gives a stranger nothing", () => {
    fc.assert(fc.property(group, ({ queues, clientIds }) => {
      expect(allocateQueues(core, strategy, "G", "hz-1000", queues, clientIds)).toEqual([]);
    }));
  });
});

test.each(["AVG", "AVG_BY_CIRCLE", { name: "MACHINE_ROOM", rooms: ROOMS }] as const)(
  "%s: no client has two queues more than another",
  (strategy) => {
    fc.assert(fc.property(group, ({ queues, clientIds }) => {
      const counts = sharesOf(strategy, queues, clientIds).map(({ length }) => length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }));
  },
);

test("AVG gives neighbours, AVG_BY_CIRCLE every nth", () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 80 }), (queues, clients) => {
    let next = 0;
    for (let index = 0; index < clients; index++) {
      for (const queue of core.allocate(abi.STRATEGY_AVG, queues, clients, index)) expect(queue).toBe(next++);
      const circle = core.allocate(abi.STRATEGY_AVG_BY_CIRCLE, queues, clients, index);
      expect(circle.every((queue, turn) => queue === index + turn * clients)).toBe(true);
    }
    expect(next).toBe(queues);
  }));
});

test("CONSISTENT_HASH: a member that leaves moves no queue but its own, one that comes takes from the others only", () => {
  fc.assert(fc.property(group, fc.nat(), ({ queues, clientIds }, pick) => {
    const leaving = clientIds[pick % clientIds.length]!, others = clientIds.filter((id) => id !== leaving);
    fc.pre(others.length > 0);
    const before = sharesOf("CONSISTENT_HASH", queues, others);
    const after = sharesOf("CONSISTENT_HASH", queues, clientIds);
    for (const [index, id] of others.entries()) {
      const still = after[clientIds.indexOf(id)]!;
      expect(still.every((queue) => before[index]!.includes(queue))).toBe(true);
    }
  }));
});

test("CONSISTENT_HASH is as with a ring that is kept, for names of any length, many members, and one listed twice", () => {
  const seed = freshSeed(), random = new Random(seed);
  const names = (count: number, most: number) =>
    Array.from({ length: count }, () => {
      const alphabet = random.pick(["abc@#-0123456789", "aä€😀"]);
      return Array.from({ length: random.below(most) }, () => random.pick([...alphabet])).join("");
    });
  for (let round = 0; round < 60; round++) {
    const queues = names(random.below(300), random.pick([8, 60, 200])), nodes = random.pick([1, 2, 10, 10, 24]);
    const clientIds = names(1 + random.below(100), random.pick([3, 60, 3000]));
    const clientId = random.pick(clientIds), place = `seed ${seed}, round ${round}`;
    const ours = core.allocateByHash(clientId, queues, clientIds, nodes);
    expect(ours, place).toEqual(modelShare(clientId, queues, clientIds, nodes));
  }
});

test("CONSISTENT_HASH takes more queues than one ring has room for", () => {
  const queues = Array.from({ length: abi.RING_QUEUES + 100 }, (_, index) => `queue ${index}`);
  const clientIds = ["a", "b", "c"];
  const all = clientIds.flatMap((id) => core.allocateByHash(id, queues, clientIds, 10));
  expect(all.sort((one, other) => one - other)).toEqual(queues.map((_, index) => index));
  const last = queues.slice(-100);
  expect(core.allocateByHash("b", queues, clientIds, 10).filter((at) => at >= abi.RING_QUEUES)).toEqual(
    modelShare("b", last, clientIds, 10).map((at) => at + abi.RING_QUEUES),
  );
});

// ── rules of single strategies ───────────────────────────────────────────────────────────────────────────────────────

const queue = (brokerName: string, queueId = 0): MessageQueue => ({ topic: "Orders", brokerName, queueId });

test("rebalance-1: MACHINE_ROOM shares out only the queues of its rooms, all of them, each once", () => {
  const queues = ["r1", "r2", "r3"].flatMap((room) => [0, 1, 2, 3, 4].map((id) => queue(`${room}@a`, id)));
  const shares = sharesOf({ name: "MACHINE_ROOM", rooms: ["r1", "r3"] }, queues, ["a", "b", "c"]);
  expect(new Set(shares.flat())).toEqual(new Set([...queues.slice(0, 5), ...queues.slice(10)]));
  expect(shares.map(({ length }) => length)).toEqual([4, 3, 3]);
});

test("MACHINE_ROOM cuts broker names as Java's split does", () => {
  const names = ["r@a", "r@a@", "r@a@@", "r@", "r", "@a", "@", "r@a@b", "q@r", "@@a"];
  const share = (rooms: readonly string[]) =>
    allocateQueues(core, { name: "MACHINE_ROOM", rooms }, "G", "c", names.map((name) => queue(name)), ["c"])
      .map(({ brokerName }) => brokerName);
  expect(share(["r"])).toEqual(["r@a", "r@a@", "r@a@@"]);
  expect(share([""])).toEqual(["@a"]);
});

test("MACHINE_ROOM_NEARBY names who has no room, and takes the rooms without clients in order", () => {
  const queues = ["z@b", "a@b", "m@b"].map((name) => queue(name)), clientIds = ["m-1", "m-2"];
  const near = (roomOf: (owner: MessageQueue | string) => string, clientId = "m-1") =>
    allocateQueues(core, { name: "MACHINE_ROOM_NEARBY", inner: "AVG", roomOf }, "G", clientId, queues, clientIds);
  expect(near(placeOf)).toEqual([queues[2], queues[1], queues[0]]);
  expect(near(placeOf, "m-2")).toEqual([]);
  expect(() => near((owner) => typeof owner === "string" ? "m" : "")).toThrow(
    /no room for MessageQueue \[topic=Orders, brokerName=z@b, queueId=0\]/,
  );
  expect(() => near((owner) => owner === "m-2" ? "" : "m")).toThrow(/no room for m-2/);
});

// ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("OP_ALLOCATE refuses a client that is not there, and a strategy that is not known", () => {
  const driver = new TinyDriver({ pages: 16 });
  const run = (flags: number, queues: number, clients: number, index: number) =>
    driver.run({ opcode: abi.OP_ALLOCATE, flags, handle: queues, len: clients, token: index }).result;
  for (const strategy of [abi.STRATEGY_AVG, abi.STRATEGY_AVG_BY_CIRCLE, abi.STRATEGY_MACHINE_ROOM]) {
    expect(run(strategy, 4, 0, 0)).toBe(abi.E_BAD_ARGUMENT);
    expect(run(strategy, 4, 2, 2)).toBe(abi.E_BAD_ARGUMENT);
    expect(run(strategy, 0xffffffff, 0xffffffff, 0xfffffffe)).toBe(0);
  }
  expect(run(0, 4, 2, 1)).toBe(abi.E_BAD_ARGUMENT);
  expect(run(99, 4, 2, 1)).toBe(abi.E_BAD_ARGUMENT);
});

test("ring commands out of order, with too much, or with lengths that lie, are refused", () => {
  const driver = new TinyDriver();
  const run = (opcode: number, more: object = {}) => driver.run({ opcode, ...more }).result;
  expect(run(abi.OP_RING_CLIENTS)).toBe(abi.E_BAD_ARGUMENT);
  expect(run(abi.OP_RING_SHARE)).toBe(abi.E_BAD_ARGUMENT);
  expect(run(abi.OP_RING_QUEUES, { handle: 1 })).toBe(abi.E_BAD_ARGUMENT);
  driver.writeArguments([Uint8Array.of(97)]);
  expect(run(abi.OP_RING_QUEUES, { flags: 1 })).toBe(0);
  expect(run(abi.OP_RING_QUEUES, { flags: 1, handle: 2 })).toBe(abi.E_BAD_ARGUMENT);
  expect(run(abi.OP_RING_QUEUES, { flags: 65, handle: 1 })).toBe(abi.E_BAD_ARGUMENT);
  expect(run(abi.OP_RING_CLIENTS, { flags: 1, len: 1001 })).toBe(abi.E_BAD_ARGUMENT);
  expect(run(abi.OP_RING_CLIENTS, { flags: 1, len: 1, handle: 999_999 })).toBe(0);
  expect(run(abi.OP_RING_CLIENTS, { flags: 1, len: 2, handle: 999_999 })).toBe(abi.E_BAD_ARGUMENT);
  driver.view.setUint32(driver.control + abi.ARGUMENT_LENGTHS, 65_537, true);
  expect(run(abi.OP_RING_CLIENTS, { flags: 1, len: 1 })).toBe(abi.E_BAD_ARGUMENT);
  driver.writeArguments(Array.from({ length: 64 }, () => Uint8Array.of(97)));
  for (let first = 0; first < abi.RING_QUEUES; first += 64) {
    expect(run(abi.OP_RING_QUEUES, { flags: 64, handle: first })).toBe(0);
  }
  expect(run(abi.OP_RING_QUEUES, { flags: 1, handle: abi.RING_QUEUES })).toBe(abi.E_BAD_ARGUMENT);
  expect(run(abi.OP_RING_CLIENTS, { flags: 1, len: 1, token: 0 })).toBe(0);
  expect(run(abi.OP_RING_SHARE)).toBe(abi.RING_QUEUES);
  // Whoever takes the scratch memory ends the ring.
  expect(run(abi.OP_LZ4_READ_BEGIN, { value: 1 })).toBe(0);
  expect(run(abi.OP_RING_SHARE)).toBe(abi.E_BAD_ARGUMENT);
});
