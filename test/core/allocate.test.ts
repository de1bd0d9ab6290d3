import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { openCore, TinyDriver } from "../support/core.ts";

interface OracleRow {
  readonly strategy: string;
  readonly clientId: string;
  readonly queues: readonly string[];
  readonly clients: readonly string[] | null;
  readonly result?: readonly number[] | null;
}

test("AVG gives each client what Java gives it", () => {
  const lines = readFileSync(new URL("../vectors/oracle-allocate.jsonl", import.meta.url), "utf8").trim().split("\n");
  const rows = lines.map((line) => JSON.parse(line) as OracleRow).filter((row) => row.strategy === "AVG");
  const core = openCore();
  let compared = 0;
  for (const { clientId, queues, clients, result } of rows) {
    const index = clients?.indexOf(clientId) ?? -1;
    // Java throws without queues or clients, and gives a stranger nothing; neither is asked of the core.
    if (!clients || !result || index < 0) continue;
    const { start, count } = core.allocate(abi.STRATEGY_AVG, queues.length, clients.length, index);
    expect(Array.from({ length: count }, (_, i) => start + i)).toEqual(result);
    compared++;
  }
  expect(rows.length).toBe(60);
  expect(compared).toBeGreaterThan(40);
});

test("AVG gives each queue to exactly one client, neighbours in order, and no client two more than another", () => {
  const core = openCore();
  fc.assert(fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 80 }), (queues, clients) => {
    const shares = Array.from(
      { length: clients },
      (_, index) => core.allocate(abi.STRATEGY_AVG, queues, clients, index),
    );
    let next = 0;
    for (const { start, count } of shares) {
      if (count > 0) expect(start).toBe(next);
      next += count;
    }
    expect(next).toBe(queues);
    const counts = shares.map((share) => share.count);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  }));
});

test("allocation is refused without clients, for a client that is not there, and for a strategy that is not known", () => {
  const core = new TinyDriver({ pages: 16 });
  const run = (flags: number, queues: number, clients: number, index: number) =>
    core.run({ opcode: abi.OP_ALLOCATE, flags, handle: queues, len: clients, token: index }).result;
  expect(run(abi.STRATEGY_AVG, 4, 0, 0)).toBe(abi.E_BAD_ARGUMENT);
  expect(run(abi.STRATEGY_AVG, 4, 2, 2)).toBe(abi.E_BAD_ARGUMENT);
  expect(run(0, 4, 2, 1)).toBe(abi.E_BAD_ARGUMENT);
  expect(run(99, 4, 2, 1)).toBe(abi.E_BAD_ARGUMENT);
  expect(run(abi.STRATEGY_AVG, 0xffffffff, 0xffffffff, 0xfffffffe)).toBe(0);
});
