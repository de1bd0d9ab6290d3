import { parseArgs } from "node:util";
import { type ClientName, CLIENTS } from "./cases.ts";

const RUNTIMES = ["node", "deno", "bun"] as const;
export type RuntimeName = typeof RUNTIMES[number];

export interface EndToEndArguments {
  readonly runtimes: readonly RuntimeName[];
  readonly only: readonly string[];
  readonly clients: readonly ClientName[];
  /** Of each client in each case. */
  readonly runs: number;
  readonly json: boolean;
  readonly results: boolean;
  /** Files of lines that `--json` printed before; nothing is run. */
  readonly from: readonly string[];
  /** Where CPU profiles of ours go. */
  readonly profile: string | undefined;
  readonly help: boolean;
}

export const USAGE = `npm run bench -- e2e [options]      our client and its peers, at a real broker
npm run bench -- canned [options]   clients in JavaScript, at a server that answers with prepared frames

  --runtime NAME    node (default), deno, bun: on which ours runs; may be given several times
  --only NAME       cases whose name contains NAME, such as w64; may be given several times; a wrong NAME lists all
  --client NAME     ours, "raw socket", Java, Go, ali-ons; may be given several times (default: all); for e2e alone
  --runs N          runs of each client in each case, in turns (default 3)
  --json            lines of JSON instead of a table
  --from FILE       shows the lines that --json printed, and runs nothing; may be given several times
  --results         writes the section of bench/RESULTS.md, which has to be measured whole
  --profile FOLDER  CPU profiles of ours, on Node

Exit code 0 when every bar holds on Node 20, 1 when one is missed or something failed, 2 for wrong options.`;

/** Throws an `Error` that says what is wrong with the arguments. */
export function parseEndToEndArguments(args: readonly string[]): EndToEndArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runtime: { type: "string", multiple: true, default: [] },
      only: { type: "string", multiple: true, default: [] },
      client: { type: "string", multiple: true, default: [] },
      runs: { type: "string", default: "3" },
      json: { type: "boolean", default: false },
      from: { type: "string", multiple: true, default: [] },
      results: { type: "boolean", default: false },
      profile: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1) throw new Error(`--runs takes a whole number from 1, got "${values.runs}"`);
  const runtimes = chosenOf(RUNTIMES, values.runtime, "--runtime", ["node"]);
  if (values.profile !== undefined && runtimes.some((runtime) => runtime !== "node")) {
    throw new Error("--profile is for Node alone");
  }
  if (values.results && values.only.length + values.client.length > 0) {
    throw new Error("--results writes a whole section, without --only and --client");
  }
  return {
    runtimes,
    only: values.only,
    clients: chosenOf(CLIENTS, values.client, "--client", CLIENTS),
    runs,
    json: values.json,
    results: values.results,
    from: values.from,
    profile: values.profile,
    help: values.help,
  };
}

function chosenOf<Name extends string>(
  all: readonly Name[],
  given: readonly string[],
  option: string,
  fallback: readonly Name[],
): readonly Name[] {
  for (const name of given) {
    if (!all.some((each) => each === name)) throw new Error(`${option} takes ${all.join(", ")}, got "${name}"`);
  }
  return given.length === 0 ? fallback : all.filter((name) => given.includes(name));
}
