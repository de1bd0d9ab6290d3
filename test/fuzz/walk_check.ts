// The rows of a walk, held against the walk in TypeScript (always) and the test's own model (now and then); then a process
// queue that takes them in.

import type { Core, Frame } from "../../client/core.ts";
import { walkRecords } from "../../client/protocol/record_walk.ts";
import * as abi from "../../core-as/abi.ts";
import { rowsAt } from "../core/row.ts";
import { modelWalk } from "../core/walk_model.ts";

let rows = new Uint8Array(64 * abi.ROW_SIZE);

/** Walks a frame's body and compares. Returns how many rows were records: 0 when the walk found nothing but a rest. */
export function checkWalk(core: Core, frame: Frame, queue: number, checkCrc: boolean, thoroughly: boolean): number {
  const body = frame.source.subarray(frame.bodyPtr, frame.bodyPtr + frame.bodyLength);
  const expected = walkRecords(body, checkCrc);
  let filled = 0;
  if (frame.inArena) {
    for (let from = 0; from < frame.bodyLength; from = core.walkedTo) {
      const count = core.walk(frame, from, checkCrc);
      const end = filled + count * abi.ROW_SIZE;
      if (end > rows.length) rows = grown(rows, end * 2);
      core.copyRows(count, rows, filled);
      filled = end;
      if (core.walkedTo <= from || core.walkedTo > frame.bodyLength) {
        throw new Error(`the walk goes from ${from} to ${core.walkedTo}`);
      }
      if (thoroughly) checkQueue(core, queue, count, rows.subarray(end - count * abi.ROW_SIZE, end));
    }
    requireSame(rows.subarray(0, filled), expected, body);
  }
  if (thoroughly) requireModel(expected, body, checkCrc);
  return recordsAmong(expected);
}

function grown(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length);
  larger.set(bytes);
  return larger;
}

function requireSame(found: Uint8Array, expected: Uint8Array, body: Uint8Array): void {
  if (found.length === expected.length) {
    let i = 0;
    while (i < found.length && found[i] === expected[i]) i++;
    if (i === found.length) return;
  }
  throw new Error(`rows of a body of ${body.length} bytes: ${describe(found)}, expected ${describe(expected)}`);
}

function requireModel(found: Uint8Array, body: Uint8Array, checkCrc: boolean): void {
  const expected = describeRows(modelWalk(body, checkCrc));
  if (describe(found) !== expected) throw new Error(`rows: ${describe(found)}, the model has ${expected}`);
}

const describe = (bytes: Uint8Array) => describeRows(rowsAt(bytes, 0, bytes.length / abi.ROW_SIZE));
const describeRows = (all: readonly object[]) =>
  JSON.stringify(all, (_, value) => typeof value === "bigint" ? String(value) : value);

function recordsAmong(bytes: Uint8Array): number {
  let count = 0;
  for (let at = abi.ROW_STATUS; at < bytes.length; at += abi.ROW_SIZE) count += Number(bytes[at] !== abi.ROW_BAD_REST);
  return count;
}

/** Enters the rows that the core has just filled into an empty queue, and empties it again. */
function checkQueue(core: Core, queue: number, count: number, filled: Uint8Array): void {
  const offsets = new Set<number>();
  for (const row of rowsAt(filled, 0, count)) {
    const isOffset = row.queueOffset >= 0n && row.queueOffset <= BigInt(Number.MAX_SAFE_INTEGER);
    if (row.status === abi.ROW_OK && isOffset) offsets.add(Number(row.queueOffset));
  }
  const sorted = [...offsets].sort((left, right) => left - right);
  const added = core.putRows(queue, 0, count);
  const { count: held, min, span } = core.queueState(queue);
  if (added !== sorted.length || held !== sorted.length) {
    throw new Error(`${added} of ${sorted.length} offsets are new`);
  }
  if (sorted.length > 0) {
    if (min !== sorted[0] || span !== sorted.at(-1)! - min) throw new Error(`lowest ${min}, span ${span} of ${sorted}`);
    const taken = core.takeOffsets(queue, sorted.length);
    if (taken.join() !== sorted.join()) throw new Error(`took ${taken} of ${sorted}`);
    const next = core.removeOffsets(queue, taken);
    if (next !== sorted.at(-1)! + 1) throw new Error(`${next} follows ${sorted}`);
  }
  core.clearQueue(queue);
}
