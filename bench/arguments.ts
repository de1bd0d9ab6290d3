import { parseArgs } from "node:util";
import { ROUNDS_MIN } from "./measure.ts";

/** Runtimes by the name that `--runtime` takes. */
export const RUNTIMES = ["node", "deno", "bun", "node22", "node24", "node26"] as const;
export type RuntimeName = typeof RUNTIMES[number];

export interface BenchArguments {
  readonly runtimes: readonly RuntimeName[];
  /** Parts of operation names; empty: all. */
  readonly only: readonly string[];
  /** Batches of each variant. */
  readonly rounds: number;
  readonly batchMs: number;
  readonly warmUpMs: number;
  readonly json: boolean;
  /** Where plots go. */
  readonly svg: string | undefined;
  /** Whether bench/RESULTS.md is written. */
  readonly results: boolean;
  /** Whether the peers' codecs are measured too. */
  readonly peers: boolean;
  readonly help: boolean;
}

export const USAGE = `npm run bench -- [options]
npm run bench -- e2e --help      our client and its peers at a real broker
npm run bench -- canned --help   clients in JavaScript at a server that does no work

  --runtime NAME   node (default), deno, bun, node22, node24, node26; may be given several times
  --runtimes all   all of them
  --only NAME      operations whose name contains NAME, such as decode; may be given several times; a wrong NAME lists all
  --quick          fewer batches: under two minutes a runtime
  --json           one line of JSON for each measured pair
  --svg FOLDER     plots
  --results        writes the runtimes' sections of bench/RESULTS.md, which have to be measured whole, and their plots
  --no-peers       leaves out ali-ons and Java, which are installed under build/bench otherwise

In the table * marks the best JavaScript we know.
Exit code 0 when every bar holds on Node 20 and Deno, 1 when one is missed or something failed, 2 for wrong options.`;

const QUICK = { rounds: ROUNDS_MIN, batchMs: 0.6, warmUpMs: 100 };
const FULL = { rounds: 121, batchMs: 1, warmUpMs: 200 };

/** Throws an `Error` that says what is wrong with the arguments. */
export function parseArguments(args: readonly string[]): BenchArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runtime: { type: "string", multiple: true, default: [] },
      runtimes: { type: "string" },
      only: { type: "string", multiple: true, default: [] },
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      svg: { type: "string" },
      results: { type: "boolean", default: false },
      "no-peers": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.runtimes !== undefined && values.runtimes !== "all") {
    throw new Error(`--runtimes takes "all", got "${values.runtimes}"`);
  }
  if (values.results && (values.only.length > 0 || values["no-peers"])) {
    throw new Error("--results writes whole sections, without --only and --no-peers");
  }
  const named = values.runtime.flatMap((names) => names.split(",")).map(runtimeOf);
  const runtimes: readonly RuntimeName[] = values.runtimes === "all" ? RUNTIMES : named.length > 0 ? named : ["node"];
  return {
    runtimes: [...new Set(runtimes)],
    only: values.only,
    ...(values.quick ? QUICK : FULL),
    json: values.json,
    svg: values.svg,
    results: values.results,
    peers: !values["no-peers"],
    help: values.help,
  };
}

function runtimeOf(name: string): RuntimeName {
  const found = RUNTIMES.find((each) => each === name);
  if (!found) throw new Error(`--runtime takes ${RUNTIMES.join(", ")}, got "${name}"`);
  return found;
}

/** The operations that are asked for, in their order. Throws when a name fits none. */
export function chosen(only: readonly string[], names: readonly string[]): readonly string[] {
  for (const part of only) {
    if (!names.some((name) => name.includes(part))) {
      throw new Error(`--only "${part}" fits no operation: ${names.join(", ")}`);
    }
  }
  return only.length === 0 ? names : names.filter((name) => only.some((part) => name.includes(part)));
}
