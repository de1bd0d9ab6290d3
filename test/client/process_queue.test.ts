import { expect, test } from "vitest";
import { ProcessQueue } from "../../client/consumer/process_queue.ts";
import type { Offset } from "../../client/core.ts";
import { openCore } from "../support/core.ts";

test("a dropped queue ends what depends on it once, but for what was taken back, before its signals fire", () => {
  const core = openCore();
  const before = core.bytesInUse;
  const queue = new ProcessQueue(core, { topic: "Orders", brokerName: "broker-a", queueId: 0 }, 0);
  const seen: string[] = [];
  const reason = new Error("dropped"), signals = [0, 1, 2].map(() => queue.openSignal());
  for (const { signal } of signals) signal.addEventListener("abort", () => seen.push("signal"));
  queue.closeSignal(signals[1]!);
  const takeBack = queue.whenDropped(() => seen.push("taken back"));
  for (let i = 0; i < 100; i++) queue.whenDropped(() => seen.push("task"));
  takeBack();
  queue.drop(reason);
  queue.drop(new Error("dropped again"));
  expect(seen).toEqual([...Array<string>(100).fill("task"), "signal", "signal"]);
  expect(signals.map(({ signal }) => signal.reason as unknown)).toEqual([reason, undefined, reason]);
  expect(queue.openSignal().signal.reason).toBe(reason);
  expect(core.bytesInUse).toBe(before);
});

test("what is finished in one turn leaves the queue at once, in runs, however large its offsets are", () => {
  const core = openCore(), last = BigInt(Number.MAX_SAFE_INTEGER);
  const queue = new ProcessQueue(core, { topic: "Orders", brokerName: "broker-a", queueId: 0 }, 0);
  const offsets: Offset[] = [3, 4, 5, 7, 8, 100, Number(last), last + 1n, last + 2n];
  for (const offset of offsets) expect(queue.enter(offset, 1)).toBe(true);
  expect([4, 5, 7, 3].map((offset) => queue.finish(offset))).toEqual([true, false, false, false]);
  expect(queue.removeFinished()).toBe(8);
  expect(queue.state).toMatchObject({ count: 5, min: 8 });
  // Not the run of the turn before.
  expect([8, Number(last), last + 1n].map((offset) => queue.finish(offset))).toEqual([true, false, false]);
  expect(queue.removeFinished()).toBe(100);
  expect([100, last + 2n].map((offset) => queue.finish(offset))).toEqual([true, false]);
  expect(queue.removeFinished()).toBe(last + 3n);
  expect(queue.finish(5)).toBe(true);
  expect(queue.removeFinished()).toBe(-1);
  expect(queue.finish(6)).toBe(true);
  queue.drop(undefined);
  expect(queue.removeFinished()).toBe(-1);
});
