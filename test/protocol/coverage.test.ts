import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ORACLES } from "./oracle.ts";
import { bodyVersions, readLines } from "./vectors.ts";

const folder = new URL("../", import.meta.url);
const files = readdirSync(new URL("vectors/", folder)).filter((name) => name !== "README.md").sort();

/** Vector files that are no oracles: their rows, and the tests that go through all of them. */
const others: Readonly<Record<string, number>> = {
  "body-4.4.0.jsonl": 38,
  "body-4.9.7.jsonl": 38,
  "body-5.3.3.jsonl": 44,
  "body-5.5.0.jsonl": 44,
  "frames-440-440-bin.jsonl": 305,
  "frames-440-440-json-v1.jsonl": 27,
  "frames-440-440-json.jsonl": 407,
  "frames-497-497-bin.jsonl": 348,
  "frames-497-497-json-v1.jsonl": 27,
  "frames-497-497-json.jsonl": 458,
  "frames-550-440-bin.jsonl": 308,
  "frames-550-440-json.jsonl": 432,
  "frames-550-550-bin.jsonl": 358,
  "frames-550-550-json-goaway.jsonl": 24,
  "frames-550-550-json-v1.jsonl": 21,
  "frames-550-550-json.jsonl": 607,
};

const source = (name: string): string => readFileSync(new URL(name, folder), "utf8");

test("every oracle is asked, row by row, by the test that says so", () => {
  const oracles = files.filter((name) => name.startsWith("oracle-")).map((name) => name.replace(/\.jsonl$/, ""));
  expect(oracles).toEqual(Object.keys(ORACLES).sort());
  for (const [oracle, { rows, test }] of Object.entries(ORACLES)) {
    expect(readLines(`${oracle}.jsonl`), oracle).toHaveLength(rows);
    expect(source(test), oracle).toMatch(new RegExp(`everyRow(<\\w+>)?\\(\\s*"${oracle}"`));
  }
});

test("every other vector file is one whose rows a test goes through, and has as many as it says", () => {
  const tables = bodyVersions.map((version) => `table-${version}.json`);
  const rest = files.filter((name) => !name.startsWith("oracle-"));
  expect(rest).toEqual([...Object.keys(others), ...tables].sort());
  for (const [name, rows] of Object.entries(others)) expect(readLines(name), name).toHaveLength(rows);
  // These functions give the rows of all of them.
  expect(source("protocol/vectors.test.ts")).toContain("const frames = readFrames();");
  expect(source("protocol/bodies.test.ts")).toContain("bodyVersions.flatMap((version) => readLines(");
  expect(source("protocol/command.test.ts")).toContain("for (const version of bodyVersions)");
});
