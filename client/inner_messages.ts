import * as abi from "../core-as/abi.ts";
import { type MessageBatch, walkedBatch } from "./message_batch.ts";
import { FrameError } from "./errors.ts";
import { decodeRecord, encodeRecord, type StoredRecord } from "./protocol/record.ts";
import { COMPRESSED } from "./protocol/sys_flag.ts";
import { inflateBody, type Reading } from "./reading.ts";

/**
 * An inner batch with more messages is refused: their rows alone would take 16 MiB. No sender writes so many, since a batch
 * of 4 MiB has at most 190,650.
 */
const ELEMENTS_MAX = 262_144;

/**
 * The messages of an inner batch that the walk left whole, as a batch of their own. Throws what inflating throws, and
 * `FrameError` when there are too many.
 */
export async function unwrapBatch(batch: MessageBatch, row: number, reading: Inflating): Promise<MessageBatch> {
  const outer = outerRecord(batch, row);
  const { sysFlag, body } = outer;
  return elementsOf(outer, sysFlag & COMPRESSED ? await inflateBody(reading, sysFlag, body, true) : body);
}

type Inflating = Pick<Reading<unknown>, "host" | "core" | "maxBodyBytes">;

/** The record of an inner batch. */
export const outerRecord = (batch: MessageBatch, row: number): StoredRecord =>
  decodeRecord(batch.bytes, batch.records + batch.u32(row, abi.ROW_RECORD));

/** The messages of an inner batch whose body is `inflated`: rows over one record, as of a batch that was never compressed. */
export function elementsOf(outer: StoredRecord, inflated: Uint8Array): MessageBatch {
  const sysFlag = outer.sysFlag & ~COMPRESSED;
  const plain = encodeRecord({ ...outer, sysFlag, body: inflated, properties: "" });
  const batch = walkedBatch(plain, false, ELEMENTS_MAX);
  if (batch.count > 0 && batch.kind(0) === abi.ROW_BATCH) {
    throw new FrameError(`An inner batch has more than ${ELEMENTS_MAX} messages`);
  }
  return batch;
}
