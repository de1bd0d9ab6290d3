import { describe, expect, test } from "vitest";
import { parseArguments } from "./arguments.ts";

describe("the arguments of npm run fuzz", () => {
  test("are five minutes from case 0 on with a seed of its own, unless given", () => {
    const { seed, ...others } = parseArguments([]);
    expect(others).toEqual({ from: 0, count: Infinity, seconds: 300, help: false });
    expect(Number.isSafeInteger(seed)).toBe(true);
  });

  test("with a count do not end by time, unless that is given too", () => {
    expect(parseArguments(["--count", "7", "--seed", "3", "--from", "2"])).toEqual({
      seed: 3,
      from: 2,
      count: 7,
      seconds: Infinity,
      help: false,
    });
    expect(parseArguments(["--count=7", "--seconds=9"])).toMatchObject({ count: 7, seconds: 9 });
  });

  test("may ask for help", () => {
    expect(parseArguments(["--help"]).help).toBe(true);
  });

  test.each([["--seed", ""], ["--seed", "x"], ["--count", "0"], ["--count", "1.5"], ["--seed=-1"], ["--seed"], [
    "--fast",
  ], [
    "7",
  ]])("are refused when they make no sense: %s %s", (...args) => {
    expect(() => parseArguments(args)).toThrow(args[0]!.split("=")[0]);
  });
});
