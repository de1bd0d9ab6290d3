import type { Core } from "../../client/core.ts";
import * as abi from "../../core-as/abi.ts";

/** One row of the record walk, as `core-as/abi.ts` lays it out. */
export interface Row {
  readonly record: number;
  readonly recordLength: number;
  readonly body: number;
  readonly bodyLength: number;
  readonly topic: number;
  readonly topicLength: number;
  readonly properties: number;
  readonly propertiesLength: number;
  readonly status: number;
  readonly kind: number;
  readonly innerIndex: number;
  readonly queueOffset: bigint;
  readonly sysFlag: number;
  readonly tags: number;
  readonly tagsLength: number;
  readonly keys: number;
  readonly keysLength: number;
  readonly uniqKey: number;
  readonly uniqKeyLength: number;
  readonly isAscii: number;
}

/** Reads the row at `at`. */
export function rowAt(view: DataView, at: number): Row {
  const u32 = (offset: number) => view.getUint32(at + offset, true);
  const u16 = (offset: number) => view.getUint16(at + offset, true);
  return {
    record: u32(abi.ROW_RECORD),
    recordLength: u32(abi.ROW_RECORD_LEN),
    body: u32(abi.ROW_BODY),
    bodyLength: u32(abi.ROW_BODY_LEN),
    topic: u32(abi.ROW_TOPIC),
    topicLength: u16(abi.ROW_TOPIC_LEN),
    properties: u32(abi.ROW_PROPERTIES),
    propertiesLength: u16(abi.ROW_PROPERTIES_LEN),
    status: view.getUint8(at + abi.ROW_STATUS),
    kind: view.getUint8(at + abi.ROW_KIND),
    innerIndex: u16(abi.ROW_INNER_INDEX),
    queueOffset: view.getBigInt64(at + abi.ROW_QUEUE_OFFSET, true),
    sysFlag: u32(abi.ROW_SYS_FLAG),
    tags: u32(abi.ROW_TAGS),
    tagsLength: u16(abi.ROW_TAGS_LEN),
    keys: u32(abi.ROW_KEYS),
    keysLength: u16(abi.ROW_KEYS_LEN),
    uniqKey: u32(abi.ROW_UNIQ_KEY),
    uniqKeyLength: u16(abi.ROW_UNIQ_KEY_LEN),
    isAscii: u16(abi.ROW_IS_ASCII),
  };
}

/** Reads `count` rows from `from` on. */
export function rowsAt(bytes: Uint8Array, from: number, count: number): Row[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: count }, (_, index) => rowAt(view, from + index * abi.ROW_SIZE));
}

/** Puts `body` into a block of the core, walks all of it, however many commands that takes, and frees the block. */
export function walkAll(core: Core, body: Uint8Array, checkCrc = true): Row[] {
  const block = core.allocateBlock(Math.max(1, body.length));
  if (!block) throw new Error(`no block of ${body.length} bytes`);
  core.write(block, body);
  const rows: Row[] = [];
  try {
    for (let from = 0; from < body.length; from = core.walkedTo) {
      const count = core.walkAt(block, body.length, from, checkCrc);
      const copy = new Uint8Array(count * abi.ROW_SIZE);
      core.copyRows(count, copy, 0);
      rows.push(...rowsAt(copy, 0, count));
      if (core.walkedTo <= from) throw new Error(`the walk stays at ${from}`);
    }
  } finally {
    core.freeBlock(block);
  }
  return rows;
}
