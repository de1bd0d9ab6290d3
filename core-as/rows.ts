// The row table: what a walk over records found, for the host and for process queues.

import * as abi from "./abi";
import { inArena, OWNER_HOST, takeBlock } from "./arena";
import { CONTROL, Submission } from "./shared";

/** Where the parts of one record are, counted from the start of the walked body. Written by the core, read by the host. */
@unmanaged
export class Row {
  record: u32;
  recordLength: u32;
  body: u32;
  bodyLength: u32;
  topic: u32;
  topicLength: u16;
  propertiesLength: u16;
  properties: u32;
  status: u8;
  kind: u8;
  innerIndex: u16;
  queueOffset: i64;
  sysFlag: u32;
  tags: u32;
  tagsLength: u16;
  keysLength: u16;
  keys: u32;
  uniqKey: u32;
  uniqKeyLength: u16;
  isAscii: u16;
}

/** The row with this index. */
export function rowAt(index: u32): Row {
  return changetype<Row>(CONTROL + abi.ROWS + index * abi.ROW_SIZE);
}

/** A row without anything of the one that was there before. */
export function freshRow(index: u32, record: u32, length: u32): Row {
  const row = rowAt(index);
  const ptr = changetype<usize>(row);
  const zero = i64x2.splat(0);
  v128.store(ptr, zero);
  v128.store(ptr, zero, 16);
  v128.store(ptr, zero, 32);
  v128.store(ptr, zero, 48);
  row.record = record;
  row.recordLength = length;
  return row;
}

/** OP_LEASE. */
export function lease(entry: Submission): void {
  const ptr = entry.ptr, length = entry.len, count = entry.token;
  if (!inArena(ptr, length) || count > <u32> abi.ROW_ENTRIES) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  const rows = count * abi.ROW_SIZE;
  const block = takeBlock(rows + length, OWNER_HOST);
  if (!block) {
    entry.result = abi.E_NO_ROOM;
    return;
  }
  memory.copy(block, CONTROL + abi.ROWS, rows);
  memory.copy(block + rows, ptr, length);
  entry.result = block;
}

if (offsetof<Row>() != abi.ROW_SIZE) ERROR("Row differs in size from abi.ts");
if (offsetof<Row>("record") != abi.ROW_RECORD) ERROR("Row.record moved");
if (offsetof<Row>("recordLength") != abi.ROW_RECORD_LEN) ERROR("Row.recordLength moved");
if (offsetof<Row>("body") != abi.ROW_BODY) ERROR("Row.body moved");
if (offsetof<Row>("bodyLength") != abi.ROW_BODY_LEN) ERROR("Row.bodyLength moved");
if (offsetof<Row>("topic") != abi.ROW_TOPIC) ERROR("Row.topic moved");
if (offsetof<Row>("topicLength") != abi.ROW_TOPIC_LEN) ERROR("Row.topicLength moved");
if (offsetof<Row>("propertiesLength") != abi.ROW_PROPERTIES_LEN) ERROR("Row.propertiesLength moved");
if (offsetof<Row>("properties") != abi.ROW_PROPERTIES) ERROR("Row.properties moved");
if (offsetof<Row>("status") != abi.ROW_STATUS) ERROR("Row.status moved");
if (offsetof<Row>("kind") != abi.ROW_KIND) ERROR("Row.kind moved");
if (offsetof<Row>("innerIndex") != abi.ROW_INNER_INDEX) ERROR("Row.innerIndex moved");
if (offsetof<Row>("queueOffset") != abi.ROW_QUEUE_OFFSET) ERROR("Row.queueOffset moved");
if (offsetof<Row>("sysFlag") != abi.ROW_SYS_FLAG) ERROR("Row.sysFlag moved");
if (offsetof<Row>("tags") != abi.ROW_TAGS) ERROR("Row.tags moved");
if (offsetof<Row>("tagsLength") != abi.ROW_TAGS_LEN) ERROR("Row.tagsLength moved");
if (offsetof<Row>("keysLength") != abi.ROW_KEYS_LEN) ERROR("Row.keysLength moved");
if (offsetof<Row>("keys") != abi.ROW_KEYS) ERROR("Row.keys moved");
if (offsetof<Row>("uniqKey") != abi.ROW_UNIQ_KEY) ERROR("Row.uniqKey moved");
if (offsetof<Row>("uniqKeyLength") != abi.ROW_UNIQ_KEY_LEN) ERROR("Row.uniqKeyLength moved");
if (offsetof<Row>("isAscii") != abi.ROW_IS_ASCII) ERROR("Row.isAscii moved");
