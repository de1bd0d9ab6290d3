import { describe, expect, test } from "vitest";
import { chosen, parseArguments, RUNTIMES } from "../../bench/arguments.ts";

describe("the arguments of npm run bench", () => {
  test("are Node 20, everything, at least 41 batches and a table unless given", () => {
    const options = parseArguments([]);
    expect(options).toMatchObject({ runtimes: ["node"], only: [], json: false, svg: undefined, peers: true });
    expect(options.rounds).toBeGreaterThanOrEqual(41);
  });

  test("--quick has fewer batches, but not fewer than 41", () => {
    const quick = parseArguments(["--quick"]);
    expect(quick.rounds).toBe(41);
    expect(quick.rounds).toBeLessThan(parseArguments([]).rounds);
  });

  test("every pace has batches of 0.6 to 3 ms", () => {
    for (const { batchMs } of [parseArguments([]), parseArguments(["--quick"])]) {
      expect(batchMs).toBeGreaterThanOrEqual(0.6);
      expect(batchMs).toBeLessThanOrEqual(3);
    }
  });

  test("name runtimes one by one, with commas, or all", () => {
    expect(parseArguments(["--runtime", "deno", "--runtime", "bun"]).runtimes).toEqual(["deno", "bun"]);
    expect(parseArguments(["--runtime", "node,deno,node"]).runtimes).toEqual(["node", "deno"]);
    expect(parseArguments(["--runtimes", "all"]).runtimes).toEqual([...RUNTIMES]);
  });

  test("that make no sense are refused with what would", () => {
    expect(() => parseArguments(["--runtime", "node18"])).toThrow("node22");
    expect(() => parseArguments(["--runtimes", "some"])).toThrow(`"all"`);
    expect(() => parseArguments(["--fast"])).toThrow("--fast");
    expect(() => parseArguments(["--results", "--only", "crc"])).toThrow("without --only");
    expect(() => parseArguments(["--results", "--no-peers"])).toThrow("--no-peers");
  });
});

describe("the choice of operations", () => {
  const names = ["encode_send", "decode_response", "crc"];

  test("is all of them without --only", () => {
    expect(chosen([], names)).toEqual(names);
  });

  test("is those that fit a name, in their own order", () => {
    expect(chosen(["crc", "encode"], names)).toEqual(["encode_send", "crc"]);
  });

  test("refuses a name that fits none", () => {
    expect(() => chosen(["encode", "walk"], names)).toThrow(`"walk" fits no operation`);
  });
});
