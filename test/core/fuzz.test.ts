import { expect, test } from "vitest";
import { Fuzzer } from "../fuzz/fuzzer.ts";
import { loadFrames } from "../fuzz/vectors.ts";
import { freshSeed } from "./random.ts";

test("20,000 mutated frames, records and commands neither trap nor mislead the core, and all memory comes back", () => {
  const seed = freshSeed(), fuzzer = new Fuzzer(seed, loadFrames());
  const { counts } = fuzzer;
  try {
    for (let index = 0; index < 20_000; index++) fuzzer.run(index);
    fuzzer.checkBytesInUse();
  } catch (cause) {
    throw new Error(`seed ${seed}`, { cause });
  }
  expect(counts.cases).toBe(20_000);
  expect(counts.kinds.vector / counts.cases).toBeGreaterThan(0.5);
  expect(counts.walked / counts.cases).toBeGreaterThan(0.3);
  expect(counts.longSums).toBeGreaterThan(5);
  expect(fuzzer.near.nearHits / fuzzer.near.near).toBeGreaterThan(0.3);
});
