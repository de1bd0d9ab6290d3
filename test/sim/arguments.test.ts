import { describe, expect, test } from "vitest";
import { parseArguments } from "./arguments.ts";

describe("the arguments of npm run sim", () => {
  test("are a thousand seeds from 1 on, and one where the first is given", () => {
    expect(parseArguments([])).toEqual({ seeds: 1_000, seed: 1, plant: undefined, help: false });
    expect(parseArguments(["--seed", "7"])).toMatchObject({ seeds: 1, seed: 7 });
    expect(parseArguments(["--seed", "7", "--seeds", "3"])).toMatchObject({ seeds: 3, seed: 7 });
  });

  test("may name a fault to build in, or ask for help", () => {
    expect(parseArguments(["--plant", "drop-ack"]).plant).toBe("drop-ack");
    expect(parseArguments(["-h"]).help).toBe(true);
  });

  test.each([["--seeds", "0"], ["--seeds", ""], ["--seed", "x"], ["--plant", "nothing"], ["--plant"], ["--fast"], [
    "7",
  ]])(
    "are refused when they make no sense: %s %s",
    (...args) => expect(() => parseArguments(args)).toThrow(args[0]),
  );
});
