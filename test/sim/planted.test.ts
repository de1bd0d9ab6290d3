import { afterEach, expect, test } from "vitest";
import { type Plant, plant, PLANTS } from "./plants.ts";
import { type Outcome, runSeed } from "./run_seed.ts";

const CLEAN = 20;
/** So many seeds may pass before a fault is found; in practice it takes a few. */
const SEEDS_MAX = 200;

/** What the violations that a fault leads to say: found for the right reason, not because something else broke. */
const SYMPTOMS: Readonly<Record<Plant, RegExp>> = {
  "commit-early": /committed, .+ not consumed/,
  "drop-ack": /all \d+ consumed, never more than -?\d+ committed/,
  "double-settle": /has ended 2 times/,
  "keep-lease": /a consumer .*bytes/,
};

let unplant: (() => void) | undefined;

afterEach(() => {
  unplant?.();
  unplant = undefined;
});

test(`the simulation finds nothing in ${CLEAN} seeds when nothing is planted`, async () => {
  for (let seed = 1; seed <= CLEAN; seed++) expect((await runSeed(seed)).violations, `seed ${seed}`).toEqual([]);
}, 60_000);

test("a seed is the same run each time", async () => {
  expect(await runSeed(5)).toEqual(await runSeed(5));
});

for (const name of PLANTS) {
  test(`the simulation finds ${name} within ${SEEDS_MAX} seeds`, async () => {
    unplant = plant(name);
    const outcome = await firstThatFails(SYMPTOMS[name]);
    expect(outcome?.violations.join("\n")).toMatch(SYMPTOMS[name]);
  }, 60_000);
}

async function firstThatFails(symptom: RegExp): Promise<Outcome | undefined> {
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    const outcome = await runSeed(seed);
    if (outcome.violations.some((violation) => symptom.test(violation))) return outcome;
  }
  return undefined;
}
