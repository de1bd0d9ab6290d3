import { expect, test } from "vitest";
import { Calls, CALLS_MAX } from "../../client/remoting/calls.ts";
import { Simulation } from "../support/sim.ts";
import { Random } from "../support/sim/random.ts";

const nothing = () => {};
const call = { outgoing: { code: 1 }, settle: nothing, fail: nothing };

function open(sim: Simulation, expired: (slot: number, calls: Calls<string>) => void = () => {}) {
  const calls: Calls<string> = new Calls<string>({
    clock: sim.clock,
    watch: nothing,
    expired(slot) {
      expired(slot, calls);
      calls.release(slot);
    },
  });
  const take = (timeout: number) => calls.take(call, timeout, sim.clock.monotonic());
  return { calls, take };
}

test("calls: an opaque is 31 bits and names its slot until the call is over", () => {
  using sim = new Simulation(1);
  const { calls, take } = open(sim);
  const slot = take(1_000), opaque = calls.opaque(slot);
  expect(calls.slotOf(opaque)).toBe(slot);
  calls.release(slot);
  expect(calls.slotOf(opaque)).toBe(-1);
  for (const stranger of [-1, 0xffff, 0x7fffffff, opaque + 1]) expect(calls.slotOf(stranger)).toBe(-1);
  calls.close();
});

test("calls: the slot that has been free for longest is next, and generations wrap within 31 bits", () => {
  using sim = new Simulation(2);
  const { calls, take } = open(sim);
  const seen = new Set<number>();
  for (let i = 0; i < 100_000; i++) {
    const slot = take(1_000), opaque = calls.opaque(slot);
    expect(opaque).toBeGreaterThanOrEqual(0);
    if (seen.has(opaque)) throw new Error(`opaque ${opaque} came back after ${i} calls`);
    seen.add(opaque);
    calls.release(slot);
  }
  calls.close();
});

test("calls: 65,535 fit, the next finds none, and a released slot can be taken again", () => {
  using sim = new Simulation(3);
  const { calls, take } = open(sim);
  const slots = Array.from({ length: CALLS_MAX }, () => take(1_000));
  expect(new Set(slots).size).toBe(CALLS_MAX);
  expect(take(1_000)).toBe(-1);
  expect(slots).not.toContain(0xffff);
  calls.release(slots[77]!);
  expect(take(1_000)).toBe(77);
  calls.close();
});

test("calls: each expires at its own time, whatever the mixture, with one timer", async () => {
  const seed = 4;
  using sim = new Simulation(seed);
  const random = new Random(seed);
  const due = new Map<number, number>();
  let expiries = 0;
  const { calls, take } = open(sim, (slot, calls) => {
    expiries++;
    const late = sim.now - due.get(slot)!;
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(2);
    expect(calls.timeout(slot)).toBe(due.get(slot)! - calls.started(slot));
    due.delete(slot);
  });
  let released = 0;
  for (let round = 0; round < 200; round++) {
    for (let i = 0; i < 10; i++) {
      const timeout = [50, 3_000, 30_000, 1 + random.below(5_000)][random.below(4)]!;
      const slot = take(timeout);
      due.set(slot, sim.now + timeout);
    }
    for (const slot of [...due.keys()]) {
      if (!random.chance(0.2)) continue;
      due.delete(slot);
      calls.release(slot);
      released++;
    }
    expect(sim.planned).toBeLessThanOrEqual(1);
    await sim.run(random.below(100));
  }
  await sim.run(40_000);
  expect(due.size).toBe(0);
  expect(calls.inFlight).toBe(0);
  expect(expiries + released).toBe(2_000);
  expect(sim.planned).toBe(0);
});

test("calls: a renewed call keeps its slot and deadline under a new opaque", async () => {
  using sim = new Simulation(5);
  let expired = 0;
  const { calls, take } = open(sim, () => expired++);
  const slot = take(1_000), first = calls.opaque(slot);
  await sim.run(400);
  calls.renew(slot);
  expect(calls.opaque(slot)).not.toBe(first);
  expect(calls.slotOf(first)).toBe(-1);
  expect(calls.slotOf(calls.opaque(slot))).toBe(slot);
  await sim.run(599);
  expect(expired).toBe(0);
  await sim.run(2);
  expect(expired).toBe(1);
});

/** Calls whose clock and timers move by hand. */
function openByHand(expired: (slot: number, calls: Calls<string>) => void) {
  const timers: (() => void)[] = [], time = { now: 0 };
  const clock = {
    now: () => time.now,
    monotonic: () => time.now,
    setTimer(_delay: number, task: () => void) {
      timers.push(task);
      return { cancel: nothing };
    },
  };
  const calls: Calls<string> = new Calls<string>({
    clock,
    watch: nothing,
    expired(slot) {
      calls.release(slot);
      expired(slot, calls);
    },
  });
  return { calls, timers, time, take: (timeout: number) => calls.take(call, timeout, time.now) };
}

test("connection-21: after a pause of the event loop the sockets are read before calls expire", () => {
  const expired: number[] = [];
  const { calls, timers, time, take } = openByHand((slot) => expired.push(slot));
  const answered = take(200), silent = take(200);
  // The loop stood still for five seconds: the timer comes first, the answers that lie in the socket after it.
  time.now = 5_000;
  timers.shift()!();
  expect(expired).toEqual([]);
  calls.release(answered);
  timers.shift()!();
  expect(expired).toEqual([silent]);
  calls.close();
});

test("calls: those that are due together expire in the order of their deadlines, whatever their slots", () => {
  const expired: number[] = [];
  const { calls, timers, time, take } = openByHand((slot, calls) => {
    // The end of the first is that of the second too.
    if (expired.push(slot) === 1) calls.release(second);
  });
  const fourth = take(400), second = take(200), first = take(100), third = take(300), later = take(9_000);
  time.now = 4_000;
  timers.at(-1)!();
  timers.at(-1)!();
  expect(expired).toEqual([first, third, fourth]);
  expect(calls.slotOf(calls.opaque(later))).toBe(later);
  expect(calls.inFlight).toBe(1);
  calls.close();
});
