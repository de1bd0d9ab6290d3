import { expect, test } from "vitest";
import { ProcessQueue } from "../../client/consumer/process_queue.ts";
import { openCore } from "../support/core.ts";

test("a dropped queue ends what depends on it once, but for what was taken back, before its signal fires", () => {
  const core = openCore();
  const before = core.bytesInUse;
  const queue = new ProcessQueue(core, { topic: "Orders", brokerName: "broker-a", queueId: 0 }, 0);
  const seen: string[] = [];
  queue.signal.addEventListener("abort", () => seen.push("signal"));
  const takeBack = queue.whenDropped(() => seen.push("taken back"));
  for (let i = 0; i < 100; i++) queue.whenDropped(() => seen.push("task"));
  takeBack();
  queue.drop(new Error("dropped"));
  queue.drop(new Error("dropped again"));
  expect(seen).toEqual([...Array<string>(100).fill("task"), "signal"]);
  expect(core.bytesInUse).toBe(before);
});
