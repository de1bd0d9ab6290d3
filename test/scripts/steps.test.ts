import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
// @ts-expect-error: the scripts are plain JavaScript, without types.
import { at, isFresh, root, step } from "../../scripts/steps.mjs";

let folder = "";

beforeEach(() => {
  mkdirSync(at("build"), { recursive: true });
  folder = relative(root, mkdtempSync(at("build/steps-test-")));
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(at(folder), { recursive: true, force: true });
});

const write = (name: string, text: string): void => writeFileSync(at(`${folder}/${name}`), text);

/** A step that counts how often it ran, and can be interrupted. */
function counting(): { runs: number; interrupt: boolean; definition: object } {
  const state = { runs: 0, interrupt: false, definition: {} };
  state.definition = {
    title: "counted",
    inputs: [`${folder}/in`],
    outputs: [`${folder}/out`],
    stamp: `${folder}/stamps/counted`,
    run() {
      state.runs++;
      write("out", "made");
      if (state.interrupt) throw new Error("interrupted");
    },
  };
  return state;
}

test("a step runs once, and again when an input's contents or an output is gone", async () => {
  mkdirSync(at(`${folder}/in`));
  write("in/a.txt", "1");
  const state = counting();
  expect(await step(state.definition)).toBe(true);
  expect(await step(state.definition)).toBe(false);
  expect(isFresh(state.definition)).toBe(true);
  write("in/a.txt", "2");
  expect(isFresh(state.definition)).toBe(false);
  await step(state.definition);
  rmSync(at(`${folder}/out`));
  await step(state.definition);
  write("in/b.txt", "2");
  await step(state.definition);
  rmSync(at(`${folder}/in/b.txt`));
  await step(state.definition);
  expect(state.runs).toBe(5);
});

test("an interrupted step runs again, although its output is there and it was fresh before", async () => {
  write("in", "1");
  const state = counting();
  await step(state.definition);
  write("in", "2");
  state.interrupt = true;
  await expect(step(state.definition)).rejects.toThrow("interrupted");
  state.interrupt = false;
  expect(await step(state.definition)).toBe(true);
  write("in", "1");
  expect(await step(state.definition)).toBe(true);
});
