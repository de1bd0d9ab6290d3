import { expect, test } from "vitest";
import { ProcessQueue } from "../../client/consumer/process_queue.ts";
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
