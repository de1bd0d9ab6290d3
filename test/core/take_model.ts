// What becomes of the rows of a walk, as simple as it can be.

import * as abi from "../../core-as/abi.ts";
import type { Row } from "./row.ts";

export interface TakeOptions {
  readonly lowest: bigint;
  /** Undefined: all are wanted. */
  readonly tags: readonly string[] | undefined;
  /** Offsets that the queue has already. */
  readonly held: ReadonlySet<bigint>;
  readonly noteAscii: boolean;
}

export interface Take {
  /** Rows up to the first inner batch that has to be unwrapped elsewhere, with what became of them. */
  readonly rows: readonly Row[];
  /** Offsets and sizes that are new in the queue. */
  readonly entered: ReadonlyMap<bigint, number>;
  /** Whether the rows end with such a batch. */
  readonly stops: boolean;
}

export function modelTake(
  walked: readonly Row[],
  body: Uint8Array,
  { lowest, tags, held, noteAscii }: TakeOptions,
): Take {
  const rows: Row[] = [], entered = new Map<bigint, number>();
  for (const row of walked) {
    const isBatch = row.status === abi.ROW_OK && row.kind === abi.ROW_BATCH;
    const isAscii = Number(noteAscii && row.status === abi.ROW_OK && bodyOf(row).every((byte) => byte < 128));
    rows.push({ ...row, isAscii, status: isBatch ? row.status : statusOf(row) });
    if (isBatch) return { rows, entered, stops: true };
  }
  return { rows, entered, stops: false };

  function statusOf(row: Row): number {
    if (row.status !== abi.ROW_OK) return row.status;
    const offset = row.queueOffset;
    if (offset < 0) return abi.ROW_BAD_RECORD;
    if (offset < lowest || !isWanted(row)) return abi.ROW_FILTERED;
    if (held.has(offset) || entered.has(offset)) return abi.ROW_DUPLICATE;
    entered.set(offset, row.bodyLength);
    return abi.ROW_OK;
  }

  function bodyOf(row: Row): Uint8Array {
    return body.subarray(row.body, row.body + row.bodyLength);
  }

  function isWanted(row: Row): boolean {
    if (tags === undefined) return true;
    const tag = body.subarray(row.tags, row.tags + row.tagsLength);
    return row.tags !== 0 && tags.includes(decoder.decode(tag));
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
