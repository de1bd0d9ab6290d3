import { describe, expect, test } from "vitest";
import { measure, ROUNDS_MIN } from "../../bench/measure.ts";
import { requireAgreement, type Variant } from "../../bench/operation.ts";

const PACE = { rounds: 5, batchMs: 1, warmUpMs: 10 };

/** A clock that only work moves; every variant knows what a run of it takes. */
class Machine {
  time = 0;
  /** Which variant ran, run by run. */
  readonly ran: string[] = [];
  readonly now = (): number => this.time;

  variant(name: string, ms: number | ((run: number) => number), later = false): Variant {
    let runs = 0;
    const work = (): void => {
      this.ran.push(name);
      this.time += typeof ms === "number" ? ms : ms(runs++);
    };
    return { name, run: later ? () => Promise.resolve().then(work) : work, outcome: () => undefined };
  }

  /** Lengths of the batches: runs of one variant in a row. */
  batches(): [string, number][] {
    const batches: [string, number][] = [];
    for (const name of this.ran) {
      const last = batches.at(-1);
      if (last?.[0] === name) last[1]++;
      else batches.push([name, 1]);
    }
    return batches;
  }
}

describe("measuring", () => {
  test("gives nanoseconds a unit", async () => {
    const machine = new Machine();
    const variants = [machine.variant("a", 0.064), machine.variant("b", 0.128)];
    const timings = await measure({ variants, perRun: 64 }, PACE, machine.now);
    expect(timings.get("a")!.best).toBeCloseTo(1_000, 6);
    expect(timings.get("b")!.best).toBeCloseTo(2_000, 6);
  });

  test("lets variants take turns, batch by batch, each about as long as a batch should be", async () => {
    const machine = new Machine();
    const variants = [machine.variant("a", 0.1), machine.variant("b", 0.25)];
    await measure({ variants, perRun: 1 }, PACE, machine.now);
    const turns = machine.batches().slice(-2 * PACE.rounds + 1);
    expect(turns.map(([name]) => name)).toEqual(["b", "a", "b", "a", "b", "a", "b", "a", "b"]);
    expect(new Set(turns.map(([name, runs]) => `${name} ${runs}`))).toEqual(new Set(["a 10", "b 4"]));
  });

  test("runs a variant for the time of the warm-up first, and does not count that", async () => {
    const machine = new Machine();
    let runs = 0;
    // The first ten milliseconds are slow.
    const variant = machine.variant("a", () => machine.time < 10 ? 0.5 : (runs++, 0.1));
    const timings = await measure({ variants: [variant], perRun: 1 }, PACE, machine.now);
    expect(timings.get("a")).toMatchObject({ spread: expect.closeTo(0, 6) as number });
    expect(timings.get("a")!.best).toBeCloseTo(100_000, 3);
    expect(runs).toBeGreaterThan(0);
  });

  test("awaits variants that return promises", async () => {
    const machine = new Machine();
    const timings = await measure({ variants: [machine.variant("a", 0.2, true)], perRun: 1 }, PACE, machine.now);
    expect(timings.get("a")!.best).toBeCloseTo(200_000, 3);
  });

  test("makes batches of whole periods", async () => {
    const machine = new Machine();
    const variants = [machine.variant("a", 0.1), machine.variant("b", 0.1)];
    await measure({ variants, perRun: 1, period: 32 }, PACE, machine.now);
    expect(machine.batches().slice(-2 * PACE.rounds + 1).every(([, runs]) => runs === 32)).toBe(true);
  });

  test("is content with the fewest batches where they have to be long", async () => {
    const machine = new Machine();
    const variants = [machine.variant("a", 0.1), machine.variant("b", 0.1)];
    await measure({ variants, perRun: 1, period: 32 }, { rounds: 1_000, batchMs: 1, warmUpMs: 0 }, machine.now);
    expect(machine.batches().filter(([, runs]) => runs === 32)).toHaveLength(2 * ROUNDS_MIN);
  });

  test("counts the best batch, not the disturbed ones", async () => {
    const machine = new Machine();
    const timings = await measure(
      { variants: [machine.variant("a", (run) => run % 70 === 0 ? 5 : 0.1)], perRun: 1 },
      { ...PACE, rounds: 41 },
      machine.now,
    );
    expect(timings.get("a")!.best).toBeCloseTo(100_000, 3);
  });
});

describe("agreement of variants", () => {
  const variant = (name: string, outcome: unknown): Variant => ({ name, run: () => {}, outcome: () => outcome });

  test("holds when all come to the same", async () => {
    const variants = [variant("a", [1, "x"]), variant("b", [1, "x"]), variant("c", undefined)];
    await expect(requireAgreement({ name: "case", variants })).resolves.toBeUndefined();
  });

  test("fails with both outcomes when one differs, also when it is a promise", async () => {
    const variants = [variant("a", { sum: 1 }), variant("b", Promise.resolve({ sum: 2 }))];
    await expect(requireAgreement({ name: "case", variants })).rejects.toThrow(
      `case: "b" comes to {"sum":2}, but "a" to {"sum":1}`,
    );
  });
});
