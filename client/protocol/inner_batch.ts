import type { BatchElement } from "./batch.ts";
import { encodeRecord, type StoredRecord } from "./record.ts";
import { COMPRESSED, INNER_BATCH, NEED_UNWRAP } from "./sys_flag.ts";
import { concat } from "./text.ts";

/**
 * The elements of an inner batch as records of their own, back to back: flag, body and properties are the element's, the
 * rest is the batch's, and queue offsets count up from it.
 */
export function recordsOfBatch(batch: StoredRecord, elements: readonly BatchElement[]): Uint8Array {
  const { bodyCRC: _, ...common } = batch;
  const sysFlag = batch.sysFlag & ~(COMPRESSED | NEED_UNWRAP | INNER_BATCH);
  return concat(
    elements.map((element, index) =>
      encodeRecord({ ...common, ...element, sysFlag, queueOffset: batch.queueOffset + BigInt(index) })
    ),
  );
}
