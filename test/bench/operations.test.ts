import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { measure } from "../../bench/measure.ts";
import { type Place, requireAgreement } from "../../bench/operation.ts";
import { operations } from "../../bench/operations/mod.ts";
import { dataSegments } from "../../bench/operations/module.ts";
import { pairsOf, verdictOf } from "../../bench/result.ts";
import { isBun, isDeno } from "../support/runtime.ts";

const place: Place = {
  family: isDeno ? "deno" : isBun ? "bun" : "node",
  buildFolder: fileURLToPath(new URL("../../build/bench", import.meta.url)),
  aliOnsFolder: undefined,
};

for (const { name, cases, facts } of operations) {
  describe(`the operation ${name}`, () => {
    for (const [index, open] of cases.entries()) {
      test(`case ${index}: its variants come to the same, before and after they were timed`, async () => {
        const measured = await open(place);
        try {
          await requireAgreement(measured);
          const pace = { rounds: 1, batchMs: 0.01, warmUpMs: 0 };
          // A period is for even batches, and long.
          const timings = await measure({ ...measured, period: 1 }, pace);
          await requireAgreement(measured);
          expect([...timings.values()].every(({ best }) => best > 0)).toBe(true);
          expect(measured.bars.length).toBeGreaterThan(0);
          expect(pairsOf(measured, timings, "bun 0").map(({ bodyBytes }) => bodyBytes)).toContain(measured.bodyBytes);
        } finally {
          await measured.close?.();
        }
      });
    }

    if (facts) {
      test("its facts have a limit and a value", async () => {
        for (const fact of await facts()) {
          expect(fact.limit).toBeGreaterThanOrEqual(0);
          expect(fact.value).toBeGreaterThanOrEqual(0);
        }
      });
    }
  });
}

test("the module is what it promises to be", async () => {
  const found = await operations.find(({ name }) => name === "module")!.facts!();
  expect(found.map((fact) => verdictOf({ ...fact, runtime: "bun 0" }))).toEqual(["met", "met", "met"]);
});

test("data segments of a module are counted", () => {
  const empty = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  const memory = [5, 3, 1, 0, 1];
  // Two active segments of one byte each.
  const data = [11, 13, 2, 0, 0x41, 0, 0x0b, 1, 7, 0, 0x41, 8, 0x0b, 1, 9];
  const wasm = new Uint8Array([...empty, ...memory, ...data]);
  expect(WebAssembly.validate(wasm)).toBe(true);
  expect(dataSegments(wasm)).toBe(2);
  expect(dataSegments(new Uint8Array([...empty, ...memory]))).toBe(0);
});
