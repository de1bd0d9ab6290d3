import { describe, expect, test } from "vitest";
import { timingOf } from "../../bench/statistics.ts";

describe("the timing of samples", () => {
  test("is the lowest, the median and how far they are apart, whatever their order", () => {
    expect(timingOf([30, 10, 20])).toEqual({ best: 10, median: 20, spread: 1 });
  });

  test("takes the middle between two medians", () => {
    expect(timingOf([10, 40, 12, 14])).toEqual({ best: 10, median: 13, spread: 0.3 });
  });

  test("of one sample has no spread", () => {
    expect(timingOf([5])).toEqual({ best: 5, median: 5, spread: 0 });
  });

  test("compares numbers, not their digits", () => {
    expect(timingOf([9, 100, 20]).best).toBe(9);
  });

  test("needs a sample", () => {
    expect(() => timingOf([])).toThrow("no samples");
  });
});
