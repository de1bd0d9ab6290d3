// The rows of a walk, held against the walk in TypeScript (always) and the test's own model (now and then); then a process
// queue that takes them in.

import { type Core, type Frame, TagFilter } from "../../client/core.ts";
import { walkRecords } from "../../client/protocol/record_walk.ts";
import * as abi from "../../core-as/abi.ts";
import { type Row, rowsAt } from "../core/row.ts";
import { modelTake } from "../core/take_model.ts";
import { modelWalk } from "../core/walk_model.ts";

let rows = new Uint8Array(64 * abi.ROW_SIZE);

/** Walks a frame's body and compares. Returns how many rows were records: 0 when the walk found nothing but a rest. */
export function checkWalk(core: Core, frame: Frame, queue: number, checkCrc: boolean, thoroughly: boolean): number {
  const body = frame.source.subarray(frame.bodyPtr, frame.bodyPtr + frame.bodyLength);
  const expected = walkRecords(body, checkCrc);
  if (frame.inArena) {
    requireSame(rowsOf(core, body, (from) => core.walk(frame, from, checkCrc)), expected, body);
    if (thoroughly) checkTaking(core, frame, queue, checkCrc);
  }
  if (thoroughly) requireModel(expected, body, checkCrc);
  return recordsAmong(expected);
}

/** The rows of a body are the same where a runtime compares the checksums of long ones. `core` has such a runtime. */
export function checkLongSums(core: Core, body: Uint8Array): void {
  const block = core.allocateBlock(body.length);
  core.write(block, body);
  requireSame(rowsOf(core, body, (from) => core.walkAt(block, body.length, from, true)), walkRecords(body, true), body);
  core.freeBlock(block);
}

/** All rows of a body; good until the next call. */
function rowsOf(core: Core, body: Uint8Array, walk: (from: number) => number): Uint8Array {
  let filled = 0;
  for (let from = 0; from < body.length; from = core.walkedTo) {
    const count = walk(from), end = filled + count * abi.ROW_SIZE;
    if (end > rows.length) rows = grown(rows, end * 2);
    core.copyRows(count, rows, filled);
    filled = end;
    if (core.walkedTo <= from || core.walkedTo > body.length) {
      throw new Error(`the walk goes from ${from} to ${core.walkedTo}`);
    }
  }
  return rows.subarray(0, filled);
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
const describeRows = (all: readonly Row[]) =>
  JSON.stringify(all, (_, value) => typeof value === "bigint" ? String(value) : value);

function recordsAmong(bytes: Uint8Array): number {
  let count = 0;
  for (let at = abi.ROW_STATUS; at < bytes.length; at += abi.ROW_SIZE) count += Number(bytes[at] !== abi.ROW_BAD_REST);
  return count;
}

/** Takes the records into an empty queue, with or without tags, and empties it again. */
function checkTaking(core: Core, frame: Frame, queue: number, checkCrc: boolean): void {
  const body = frame.source.subarray(frame.bodyPtr, frame.bodyPtr + frame.bodyLength);
  const tags = body.length % 3 === 0 ? ["vvv", "v", "paid", "TagA"] : undefined, lowest = BigInt(body.length % 5 * 100);
  const noteAscii = body.length % 2 === 0;
  const expected = modelTake(modelWalk(body, checkCrc), body, { lowest, tags, held: new Set(), noteAscii });
  const taking = { queue, lowest, tags: tags && new TagFilter(tags), checkCrc, noteAscii };
  const found: Row[] = [];
  for (let from = 0; from < frame.bodyLength && found.length < expected.rows.length; from = core.walkedTo) {
    const count = core.takeIn(frame, from, taking), table = new Uint8Array(count * abi.ROW_SIZE);
    if (count === 0) throw new Error(`no room for offset ${core.failedOffset}`);
    core.copyRows(count, table, 0);
    found.push(...rowsAt(table, 0, count));
  }
  if (describeRows(found) !== describeRows(expected.rows)) {
    throw new Error(`taken in: ${describeRows(found)}, the model has ${describeRows(expected.rows)}`);
  }
  const sorted = [...expected.entered.keys()].sort((left, right) => left < right ? -1 : 1);
  const { count } = core.queueState(queue);
  const taken = core.takeOffsets(queue, sorted.length + 1);
  if (count !== sorted.length || taken.join() !== sorted.join()) throw new Error(`took ${taken} of ${sorted}`);
  const next = BigInt(core.commitTaken(queue)), last = sorted.at(-1);
  if (last !== undefined && last < 2n ** 63n - 1n && next !== last + 1n) throw new Error(`${next} follows ${sorted}`);
  core.clearQueue(queue);
}
