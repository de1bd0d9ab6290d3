import * as abi from "../core-as/abi.ts";
import { type MessageBatch, walkedBatch } from "./message_batch.ts";
import { decodeBatch } from "./protocol/batch.ts";
import { recordsOfBatch } from "./protocol/inner_batch.ts";
import { decodeRecord, type StoredRecord } from "./protocol/record.ts";
import { COMPRESSED } from "./protocol/sys_flag.ts";
import { inflateBody, type Reading } from "./pulled_message.ts";

/** The messages of an inner batch that the walk left whole, as a batch of their own. Throws what inflating throws. */
export async function unwrapBatch(batch: MessageBatch, row: number, reading: Inflating): Promise<MessageBatch> {
  const outer = outerRecord(batch, row);
  const { sysFlag, body } = outer;
  return elementsOf(outer, sysFlag & COMPRESSED ? await inflateBody(reading, sysFlag, body, true) : body);
}

type Inflating = Pick<Reading<unknown>, "host" | "core" | "maxBodyBytes">;

/** The record of an inner batch. */
export const outerRecord = (batch: MessageBatch, row: number): StoredRecord =>
  decodeRecord(batch.bytes, batch.records + batch.u32(row, abi.ROW_RECORD));

/** The messages of an inner batch whose body is `inflated`. */
export const elementsOf = (outer: StoredRecord, inflated: Uint8Array): MessageBatch =>
  walkedBatch(recordsOfBatch(outer, decodeBatch(inflated)), false);
