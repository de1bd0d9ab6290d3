// What a record of a batch says of its message, field by field, read where it lies. `row` is the message's.
import * as abi from "../core-as/abi.ts";
import type { MessageBatch } from "./message_batch.ts";
import { hostText } from "./protocol/hosts.ts";
import { createOffsetMsgId } from "./protocol/ids.ts";
import { decodeProperties } from "./protocol/properties.ts";
import * as names from "./protocol/property_names.ts";
import * as layout from "./protocol/record_layout.ts";
import * as sysFlags from "./protocol/sys_flag.ts";

export const commitLogOffset = (batch: MessageBatch, row: number): bigint =>
  batch.view.getBigInt64(recordAt(batch, row) + layout.PHYSICAL_OFFSET_AT);

/** The sender's own number. An element of an inner batch has one of its own. */
export function flag(batch: MessageBatch, row: number): number {
  const isElement = batch.kind(row) === abi.ROW_ELEMENT;
  return batch.view.getInt32(
    isElement ? batch.records + batch.u32(row, abi.ROW_BODY) - FLAG_BEFORE_BODY : recordAt(batch, row) + layout.FLAG_AT,
  );
}

export const sysFlag = (batch: MessageBatch, row: number): number => batch.u32(row, abi.ROW_SYS_FLAG);

export const bornTimestamp = (batch: MessageBatch, row: number): number =>
  Number(batch.view.getBigInt64(recordAt(batch, row) + layout.BORN_TIMESTAMP_AT));

export const bornHost = (batch: MessageBatch, row: number): string =>
  hostText(batch.bytes, recordAt(batch, row) + layout.BORN_HOST_AT, isBornAtV6(batch, row));

export const storeTimestamp = (batch: MessageBatch, row: number): number =>
  Number(batch.view.getBigInt64(layout.storeTimestampOf(recordAt(batch, row), sysFlag(batch, row))));

export const storeHost = (batch: MessageBatch, row: number): string =>
  hostText(batch.bytes, storeHostAt(batch, row), isStoredAtV6(batch, row));

export const reconsumeTimes = (batch: MessageBatch, row: number): number =>
  batch.view.getInt32(reconsumeTimesAt(batch, row));

export const preparedTransactionOffset = (batch: MessageBatch, row: number): bigint =>
  batch.view.getBigInt64(reconsumeTimesAt(batch, row) + 4);

export function offsetMsgId(batch: MessageBatch, row: number): string {
  const at = storeHostAt(batch, row), port = at + (isStoredAtV6(batch, row) ? 16 : 4);
  return createOffsetMsgId(batch.bytes.subarray(at, port), batch.view.getInt32(port), commitLogOffset(batch, row));
}

/** The id that the producer gave it; undefined when it gave none. */
export function uniqKey(batch: MessageBatch, row: number): string | undefined {
  const at = batch.u32(row, abi.ROW_UNIQ_KEY);
  return at === 0 ? undefined : batch.text(at, batch.u16(row, abi.ROW_UNIQ_KEY_LEN));
}

export function keys(batch: MessageBatch, row: number): readonly string[] {
  const at = batch.u32(row, abi.ROW_KEYS);
  if (at === 0) return [];
  return batch.text(at, batch.u16(row, abi.ROW_KEYS_LEN)).split(names.KEY_SEPARATOR).filter((key) => key !== "");
}

/** Those of the record, and where its queue begins and ends (`PullAPIWrapper`). */
export function properties(batch: MessageBatch, row: number): Record<string, string> {
  const text = batch.text(batch.u32(row, abi.ROW_PROPERTIES), batch.u16(row, abi.ROW_PROPERTIES_LEN));
  const properties = decodeProperties(text);
  if (batch.bounds) {
    properties[names.MIN_OFFSET] = String(batch.bounds.minOffset);
    properties[names.MAX_OFFSET] = String(batch.bounds.maxOffset);
  }
  return properties;
}

export const bodyLength = (batch: MessageBatch, row: number): number => batch.u32(row, abi.ROW_BODY_LEN);

/** The body's bytes as they lie in the record: perhaps compressed. Throws when they are damaged: nobody may copy them. */
export function body(batch: MessageBatch, row: number): Uint8Array {
  const at = batch.records + batch.u32(row, abi.ROW_BODY);
  if (batch.unreadable) throw batch.unreadable;
  return batch.bytes.subarray(at, at + bodyLength(batch, row));
}

/** In front of the body of an inner batch's element. */
const FLAG_BEFORE_BODY = 8;

const isBornAtV6 = (batch: MessageBatch, row: number): boolean => (sysFlag(batch, row) & sysFlags.BORN_HOST_V6) !== 0;
const isStoredAtV6 = (batch: MessageBatch, row: number): boolean =>
  (sysFlag(batch, row) & sysFlags.STORE_HOST_V6) !== 0;

/** Where the record is in the batch's bytes. */
const recordAt = (batch: MessageBatch, row: number): number => batch.records + batch.u32(row, abi.ROW_RECORD);
const storeHostAt = (batch: MessageBatch, row: number): number =>
  layout.storeHostOf(recordAt(batch, row), sysFlag(batch, row));
const reconsumeTimesAt = (batch: MessageBatch, row: number): number =>
  layout.reconsumeTimesOf(recordAt(batch, row), sysFlag(batch, row));
