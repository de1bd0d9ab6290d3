import { describe, expect, test } from "vitest";
import type { Case } from "../../bench/operation.ts";
import {
  familyOf,
  isGate,
  lineOf,
  lowestFacts,
  type MeasuredFact,
  type Pair,
  pairsOf,
  peerPairs,
  verdictOf,
} from "../../bench/result.ts";
import { missedBars, summaryOf, tableOf } from "../../bench/report/table.ts";

const measured: Case = {
  name: "encode",
  bodyBytes: 128,
  unit: "frame",
  perRun: 64,
  variants: [],
  bars: [
    { ours: "ours", baseline: "typical JS", goal: 0.5 },
    { ours: "ours", baseline: "best JS", isBestJs: true },
  ],
};

const timings = new Map([
  ["ours", { best: 100, median: 110, spread: 0.1 }],
  ["typical JS", { best: 400, median: 480, spread: 0.2 }],
  ["best JS", { best: 80, median: 84, spread: 0.05 }],
  ["its part", { best: 60, median: 60, spread: 0 }],
]);

const pair = (change: Partial<Pair> = {}): Pair => ({ ...pairsOf(measured, timings, "node 20.1.0")[0]!, ...change });

describe("pairs", () => {
  test("hold the best of both, their ratio and the larger spread", () => {
    expect(pairsOf(measured, timings, "node 20.1.0")).toEqual([
      {
        name: "encode",
        runtime: "node 20.1.0",
        bodyBytes: 128,
        ours: "ours",
        baseline: "typical JS",
        ns: 100,
        baselineNs: 400,
        ratio: 0.25,
        goal: 0.5,
        spread: 0.2,
        unit: "frame",
        isBestJs: false,
      },
      expect.objectContaining({ baseline: "best JS", ratio: 1.25, spread: 0.1, isBestJs: true }),
    ]);
  });

  test("without a goal have no field for it", () => {
    expect(pairsOf(measured, timings, "node 20.1.0")[1]).not.toHaveProperty("goal");
  });

  test("take off what is part of another variant", () => {
    const [first] = pairsOf({ ...measured, without: [["ours", "its part"]] }, timings, "node 20.1.0");
    expect(first).toMatchObject({ ns: 40, ratio: 0.1 });
  });

  test("need the variants that their bars name", () => {
    const bars = [{ ours: "ours", baseline: "nobody" }];
    expect(() => pairsOf({ ...measured, bars }, timings, "node 20.1.0")).toThrow(`no variant "nobody"`);
  });
});

describe("verdicts", () => {
  test("are met up to the goal itself, and missed above it", () => {
    expect(verdictOf(pair({ ratio: 0.5 }))).toBe("met");
    expect(verdictOf(pair({ ratio: 0.501 }))).toBe("missed");
  });

  test("are none without a goal", () => {
    const { goal: _, ...without } = pair({ ratio: 9 });
    expect(verdictOf(without)).toBe("");
  });

  test("hold facts against their limit", () => {
    const fact = { name: "module", runtime: "node 20.1.0", value: 0, unit: "data segments", limit: 0 };
    expect(verdictOf(fact)).toBe("met");
    expect(verdictOf({ ...fact, value: 1 })).toBe("missed");
  });

  test("decide on Node 20 and Deno, nowhere else", () => {
    expect(["node 20.19.0", "deno 2.9.6"].map(isGate)).toEqual([true, true]);
    expect(["node 22.1.0", "node 26.0.0", "node 200.1.0", "bun 1.4.5"].map(isGate)).toEqual([
      false,
      false,
      false,
      false,
    ]);
    const missed = ["node 20.1.0", "bun 1.4.5"].map((runtime) => pair({ runtime, ratio: 2 }));
    expect(missedBars(missed)).toEqual([missed[0]]);
  });
});

describe("a line of JSON", () => {
  test("has exactly the fields that are promised", () => {
    expect(JSON.parse(lineOf(pair()))).toEqual({
      name: "encode",
      runtime: "node 20.1.0",
      bodyBytes: 128,
      baseline: "typical JS",
      ns: 100,
      baselineNs: 400,
      ratio: 0.25,
      goal: 0.5,
      spread: 0.2,
    });
  });

  test("has no goal where none is set, and says which variant of ours it is", () => {
    const { goal: _, ...without } = pair({ ours: "ours, leased", ns: 123.456 });
    const line = JSON.parse(lineOf(without)) as Record<string, unknown>;
    expect(line).not.toHaveProperty("goal");
    expect(line).toMatchObject({ name: "encode, leased", ns: 123.5 });
  });

  test("of a fact has its value and its limit", () => {
    const fact: MeasuredFact = { name: "start", runtime: "bun 1.4.5", value: 0.123456, unit: "ms", limit: 15 };
    expect(JSON.parse(lineOf(fact))).toEqual({
      name: "start",
      runtime: "bun 1.4.5",
      value: 0.1235,
      unit: "ms",
      limit: 15,
    });
  });
});

describe("peers in a process of their own", () => {
  test("are held against the first of ours in the same case, on every runtime", () => {
    const results = [
      pair(),
      pair({ baseline: "best JS" }),
      pair({ runtime: "deno 2.9.6", ns: 200 }),
      pair({ bodyBytes: 1 }),
    ];
    const lines = [{ name: "encode", bodyBytes: 128, best: 50, median: 75 }, {
      name: "unknown",
      bodyBytes: 0,
      best: 1,
      median: 1,
    }];
    const pairs = peerPairs(results, "Java", lines);
    expect(pairs.map(({ runtime, baseline, ratio, spread }) => ({ runtime, baseline, ratio, spread }))).toEqual([
      { runtime: "node 20.1.0", baseline: "Java", ratio: 2, spread: 0.5 },
      { runtime: "deno 2.9.6", baseline: "Java", ratio: 4, spread: 0.5 },
    ]);
    expect(pairs[0]).not.toHaveProperty("goal");
  });
});

describe("facts that were measured more than once", () => {
  const fact = (value: number, runtime = "bun 1.4.5"): MeasuredFact => ({ name: "start", runtime, value, unit: "ms" });

  test("count by the lowest, once, runtime by runtime", () => {
    const results = [fact(3), pair(), fact(2), fact(2), fact(9, "deno 2.9.6")];
    expect(lowestFacts(results)).toEqual([pair(), fact(2), fact(9, "deno 2.9.6")]);
  });
});

describe("the table", () => {
  test("has a line for each result, runtime by runtime, and says what was missed", () => {
    const text = tableOf([pair(), pair({ ratio: 0.9 }), pair({ runtime: "bun 1.4.5" })]);
    const lines = text.split("\n");
    expect(lines.filter((line) => line.includes("typical JS"))).toHaveLength(3);
    expect(lines[0]).toBe("node 20.1.0");
    expect(lines).toContain("bun 1.4.5");
    expect(lines.filter((line) => line.endsWith("MISSED"))).toHaveLength(1);
  });

  test("is summed up by the bars that decide", () => {
    const summary = summaryOf([pair(), pair({ ratio: 0.9 }), pair({ runtime: "bun 1.4.5", ratio: 3 })]);
    expect(summary.split("\n")).toEqual([
      "missed: encode on node 20.1.0: 0.90 x typical JS, at most 0.5",
      "node 20.1.0: 1 of 2 bars hold",
      "bun 1.4.5: 0 of 1 bars hold, which decide nothing here",
    ]);
  });
});

describe("a runtime's family", () => {
  test("is its name without the version", () => {
    expect(["node 24.1.0", "deno 2.9.6", "bun 1.4.5"].map(familyOf)).toEqual(["node", "deno", "bun"]);
    expect(() => familyOf("workerd 1")).toThrow("workerd");
  });
});
