import { expect } from "vitest";
import { readLines, type Row } from "./vectors.ts";

/**
 * How many rows each oracle has, and which test asks every one of them. `notOurs`: rows about something that this project does
 * not have; the test names it.
 */
export const ORACLES: Readonly<
  Record<string, { readonly rows: number; readonly notOurs?: number; readonly test: string }>
> = {
  "oracle-allocate": { rows: 360, test: "core/allocate.test.ts" },
  "oracle-batch": { rows: 20, test: "protocol/oracles.test.ts" },
  "oracle-command": { rows: 68, test: "protocol/command.test.ts" },
  "oracle-compression": { rows: 15, test: "protocol/oracles.test.ts" },
  "oracle-crc32": { rows: 336, test: "protocol/oracles.test.ts" },
  "oracle-delay": { rows: 26, test: "protocol/oracles.test.ts" },
  "oracle-hash": { rows: 95, notOurs: 10, test: "protocol/oracles.test.ts" },
  "oracle-header": { rows: 99, test: "protocol/command.test.ts" },
  "oracle-ids": { rows: 92, notOurs: 6, test: "protocol/oracles.test.ts" },
  "oracle-lz4": { rows: 655, test: "core/lz4.test.ts" },
  "oracle-names": { rows: 25, test: "protocol/oracles.test.ts" },
  "oracle-properties": { rows: 79, test: "protocol/oracles.test.ts" },
  "oracle-record": { rows: 60, test: "protocol/oracles.test.ts" },
  "oracle-subscription": { rows: 78, test: "protocol/oracles.test.ts" },
  "oracle-validate": { rows: 89, notOurs: 4, test: "protocol/oracles.test.ts" },
};

/** What a check says of a row about something that this project does not have. */
export class NotOurs {
  readonly what: string;

  constructor(what: string) {
    this.what = what;
  }
}

/**
 * Asks an oracle: `check` throws for each row that it does not agree with, and returns `NotOurs` for one that is about something
 * else. All rows are asked; the count is printed, then the first failure thrown.
 */
export function everyRow<R = Row>(oracle: string, check: (row: R, index: number) => void | NotOurs): void {
  const rows = readLines(`${oracle}.jsonl`) as R[], notOurs = everyOne(oracle, rows, check);
  const wanted = ORACLES[oracle];
  expect({ rows: rows.length, notOurs }).toEqual({ rows: wanted?.rows, notOurs: wanted?.notOurs ?? 0 });
}

/** The same for rows from anywhere; returns how many were not ours. */
export function everyOne<R>(
  name: string,
  rows: readonly R[],
  check: (row: R, index: number) => void | NotOurs,
): number {
  const others = new Map<string, number>(), failures: unknown[] = [];
  let notOurs = 0;
  for (const [index, row] of rows.entries()) {
    try {
      const answer = check(row, index);
      if (!(answer instanceof NotOurs)) continue;
      notOurs++;
      others.set(answer.what, (others.get(answer.what) ?? 0) + 1);
    } catch (error) {
      failures.push(error);
    }
  }
  const asked = rows.length - notOurs;
  console.log(countLine(name, asked - failures.length, asked, others));
  if (failures.length > 0) throw failures[0];
  return notOurs;
}

/** "oracle-hash: 1,234 of 1,234", and what was left out. */
function countLine(name: string, passed: number, all: number, others: ReadonlyMap<string, number> = new Map()) {
  const text = (count: number): string => count.toLocaleString("en-US");
  const rest = [...others].map(([what, count]) => `; ${text(count)} not ours: ${what}`).join("");
  return `${name}: ${text(passed)} of ${text(all)}${rest}`;
}
