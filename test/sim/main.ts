// Many simulated clusters, one for each seed. Prints the seeds in which something happened that must not.

import { fork } from "node:child_process";
import { availableParallelism } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { optionsOf } from "../support/command_line.ts";
import { parseArguments, type SimArguments, USAGE } from "./arguments.ts";
import { plant } from "./plants.ts";
import { type Counts, type Outcome, runSeed } from "./run_seed.ts";

/** Given to a process that runs a share of the seeds: which share, of how many. */
const SHARE = "--share";
/** A seed's world lives about as long as the usual young generation: copying it would cost a quarter of the time. */
const YOUNG = "--max-semi-space-size=64";
const FAILURES_SHOWN = 10;
const PROCESSES_MAX = 2;

async function main(args: readonly string[]): Promise<void> {
  const options = optionsOf(args, parseArguments, USAGE);
  if (options) await run(options, args);
}

/** Shares the seeds among processes, and adds up what they say. */
async function run(options: SimArguments, args: readonly string[]): Promise<void> {
  const started = performance.now();
  const processes = Math.min(PROCESSES_MAX, availableParallelism(), options.seeds);
  const totals = new Totals();
  await Promise.all(Array.from({ length: processes }, (_, index) =>
    new Promise<void>((resolve) => {
      const share = [...args, SHARE, String(index), String(processes)];
      const child = fork(fileURLToPath(import.meta.url), share, { execArgv: [...process.execArgv, YOUNG] });
      child.on("message", (outcome: Outcome) => {
        totals.add(outcome);
        if (totals.failed.length >= FAILURES_SHOWN) child.kill();
      });
      child.on("error", (error) => totals.broke(String(error)));
      child.on("exit", (code) => {
        if (code !== 0 && totals.failed.length < FAILURES_SHOWN) totals.broke(`a process ended with code ${code}`);
        resolve();
      });
    })));
  totals.print(options, (performance.now() - started) / 1_000);
}

async function runShare({ seed, seeds, plant: planted }: SimArguments, index: number, of: number): Promise<void> {
  if (planted) plant(planted);
  for (let i = index; i < seeds; i += of) {
    const outcome = await runSeed(seed + i);
    await new Promise<void>((resolve) => process.send!(outcome, undefined, undefined, () => resolve()));
  }
  process.disconnect();
}

const NAMES: readonly (keyof Counts)[] = ["cuts", "splits", "retries", "sendBacks", "rebalances"];

class Totals {
  readonly failed: Outcome[] = [];
  readonly #sums = new Map<keyof Counts, number>();
  readonly #seedsWith = new Map<keyof Counts, number>();
  #seeds = 0;
  #isBroken = false;

  add(outcome: Outcome): void {
    this.#seeds++;
    for (const name of NAMES) {
      const count = outcome.counts[name];
      this.#sums.set(name, (this.#sums.get(name) ?? 0) + count);
      if (count > 0) this.#seedsWith.set(name, (this.#seedsWith.get(name) ?? 0) + 1);
    }
    if (outcome.violations.length === 0) return;
    this.failed.push(outcome);
    console.log(`seed ${outcome.seed} failed:`);
    for (const violation of outcome.violations) console.log(`  ${violation}`);
  }

  broke(why: string): void {
    this.#isBroken = true;
    console.log(why);
  }

  print({ seed, seeds, plant: planted }: SimArguments, seconds: number): void {
    for (const name of NAMES) {
      const share = this.#seeds === 0 ? 0 : Math.floor(100 * (this.#seedsWith.get(name) ?? 0) / this.#seeds);
      console.log(`${name.padEnd(10)} ${String(this.#sums.get(name) ?? 0).padStart(9)}  in ${share} % of the seeds`);
    }
    const failed = this.failed.map((outcome) => outcome.seed);
    console.log(
      `${this.#seeds} of ${seeds} seeds from ${seed}${planted ? ` with ${planted}` : ""} in ${seconds.toFixed(1)} s, ${
        (this.#seeds / seconds).toFixed(1)
      } seeds/s: ${failed.length} failed${failed.length > 0 ? `, the first is ${Math.min(...failed)}` : ""}`,
    );
    if (failed.length > 0 || this.#isBroken || this.#seeds < seeds) process.exitCode = 1;
  }
}

const share = process.argv.indexOf(SHARE);
const args = process.argv.slice(2, share < 0 ? undefined : share);
if (share < 0) await main(args);
else await runShare(parseArguments(args), Number(process.argv[share + 1]), Number(process.argv[share + 2]));
