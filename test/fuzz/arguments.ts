import { parseArgs } from "node:util";
import { wholeNumber } from "../support/command_line.ts";

export interface FuzzArguments {
  readonly seed: number;
  /** The first case. */
  readonly from: number;
  readonly count: number;
  readonly seconds: number;
  readonly help: boolean;
}

export const USAGE = `npm run fuzz -- [options]

  --seconds T   how long it runs (default: five minutes; without end when --count is given)
  --count N     how many cases it runs (default: without end)
  --seed S      where random numbers begin (default: a new one, which is printed)
  --from CASE   the first case (default 0)

Exit code 0 when no fault is found, 1 when one is, 2 for wrong options.`;

/** Throws an `Error` that says what is wrong with the arguments. */
export function parseArguments(args: readonly string[]): FuzzArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string" },
      count: { type: "string" },
      seed: { type: "string" },
      from: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const count = wholeNumber("--count", values.count, 1);
  return {
    seed: wholeNumber("--seed", values.seed) ?? Math.floor(Math.random() * 2 ** 31),
    from: wholeNumber("--from", values.from) ?? 0,
    count: count ?? Infinity,
    seconds: wholeNumber("--seconds", values.seconds) ?? (count === undefined ? 300 : Infinity),
    help: values.help,
  };
}
