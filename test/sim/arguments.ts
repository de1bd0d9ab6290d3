import { parseArgs } from "node:util";
import { wholeNumber } from "../support/command_line.ts";
import { type Plant, PLANTS } from "./plants.ts";

export interface SimArguments {
  readonly seeds: number;
  readonly seed: number;
  readonly plant: Plant | undefined;
  readonly help: boolean;
}

export const USAGE = `npm run sim -- [options]

  --seeds N      how many seeds are run (default 1000; 1 when --seed is given)
  --seed S       the first of them (default 1)
  --plant FAULT  builds a fault in, which is to be found: ${PLANTS.join(", ")}

Exit code 0 when no seed fails, 1 when one does, 2 for wrong options.`;

/** Throws an `Error` that says what is wrong with the arguments. */
export function parseArguments(args: readonly string[]): SimArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: "string" },
      seed: { type: "string" },
      plant: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const seed = wholeNumber("--seed", values.seed);
  return {
    seeds: wholeNumber("--seeds", values.seeds, 1) ?? (seed === undefined ? 1_000 : 1),
    seed: seed ?? 1,
    plant: values.plant === undefined ? undefined : plantOf(values.plant),
    help: values.help,
  };
}

function plantOf(name: string): Plant {
  const found = PLANTS.find((each) => each === name);
  if (!found) throw new Error(`--plant takes ${PLANTS.join(", ")}, got "${name}"`);
  return found;
}
