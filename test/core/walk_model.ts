// The record walk once more, as simple as it can be: a `DataView` over just the record throws when something lies beyond it.

import * as abi from "../../core-as/abi.ts";
import { crc32 } from "./crc32_model.ts";
import { MAGIC_V1, MAGIC_V2 } from "./record_bytes.ts";
import type { Row } from "./row.ts";

type Open = { -readonly [K in keyof Row]: Row[K] };

/** The rows of a whole pull body. `entries` is how many rows one walk has. */
export function modelWalk(body: Uint8Array, checkCrc: boolean, entries: number = abi.ROW_ENTRIES): Row[] {
  const rows: Row[] = [];
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  let at = 0;
  while (at < body.length) {
    const rest = body.length - at;
    const length = rest < 91 ? 0 : view.getUint32(at);
    if (length < 91 || length > rest) {
      rows.push({ ...emptyRow(at, rest), status: abi.ROW_BAD_REST });
      break;
    }
    rows.push(...recordRows(body, at, length, checkCrc, entries));
    at += length;
  }
  return rows;
}

function emptyRow(record: number, recordLength: number): Open {
  return {
    record,
    recordLength,
    body: 0,
    bodyLength: 0,
    topic: 0,
    topicLength: 0,
    properties: 0,
    propertiesLength: 0,
    status: abi.ROW_OK,
    kind: abi.ROW_PLAIN,
    innerIndex: 0,
    queueOffset: 0n,
    sysFlag: 0,
    tags: 0,
    tagsLength: 0,
    keys: 0,
    keysLength: 0,
    uniqKey: 0,
    uniqKeyLength: 0,
    isAscii: 0,
  };
}

function recordRows(body: Uint8Array, at: number, length: number, checkCrc: boolean, entries: number): Row[] {
  const row = emptyRow(at, length);
  try {
    readRecord(row, body, at, length, checkCrc);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ ...emptyRow(at, length), status: abi.ROW_BAD_RECORD }];
  }
  const isBatch = (row.sysFlag & 0xc0) === 0xc0;
  if (!isBatch) return [row];
  row.kind = abi.ROW_BATCH;
  if (row.status !== abi.ROW_OK || row.sysFlag & 1) return [row];
  const elements = elementRows(row, body);
  return elements.length > entries ? [row] : elements;
}

function readRecord(row: Open, body: Uint8Array, start: number, length: number, checkCrc: boolean): void {
  const view = new DataView(body.buffer, body.byteOffset + start, length);
  const magic = view.getUint32(4);
  if (magic !== MAGIC_V1 && magic !== MAGIC_V2) throw new RangeError("magic");
  row.queueOffset = view.getBigInt64(20);
  row.sysFlag = view.getUint32(36);
  let at = 40 + 8 + (row.sysFlag & 0x10 ? 20 : 8);
  at += 8 + (row.sysFlag & 0x20 ? 20 : 8);
  at += 4 + 8;
  row.bodyLength = view.getInt32(at);
  row.body = start + at + 4;
  at += 4 + take(view, at + 4, row.bodyLength);
  row.topicLength = magic === MAGIC_V1 ? view.getInt8(at) : view.getInt16(at);
  at += magic === MAGIC_V1 ? 1 : 2;
  row.topic = start + at;
  at += take(view, at, row.topicLength);
  readProperties(row, view, at, start, body);
  const stored = body.subarray(row.body, row.body + row.bodyLength);
  if (checkCrc && (crc32(stored) & 0x7fffffff) !== view.getUint32(8)) row.status = abi.ROW_BAD_CRC;
}

/** `length`, when so many bytes are there. */
function take(view: DataView, at: number, length: number): number {
  if (length < 0 || at + length > view.byteLength) throw new RangeError("length");
  return length;
}

/** Notes the properties whose length is at `at`; `start` is where the view begins in the body. */
function readProperties(row: Open, view: DataView, at: number, start: number, body: Uint8Array): void {
  row.propertiesLength = take(view, at + 2, view.getInt16(at));
  row.properties = start + at + 2;
  const text = latin1(body.subarray(row.properties, row.properties + row.propertiesLength));
  let position = row.properties;
  for (const pair of text.split("\x02")) {
    const split = pair.indexOf("\x01");
    const name = split < 0 ? "" : pair.slice(0, split), valueLength = pair.length - split - 1;
    if (name !== "" && valueLength > 0) noteProperty(row, name, position + split + 1, valueLength);
    position += pair.length + 1;
  }
}

function noteProperty(row: Open, name: string, at: number, length: number): void {
  if (name === "TAGS") [row.tags, row.tagsLength] = [at, length];
  if (name === "KEYS") [row.keys, row.keysLength] = [at, length];
  if (name === "UNIQ_KEY") [row.uniqKey, row.uniqKeyLength] = [at, length];
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i]!);
  return text;
}

function elementRows(batch: Row, body: Uint8Array): Row[] {
  const rows: Row[] = [];
  const end = batch.body + batch.bodyLength;
  let at = batch.body;
  while (at < end) {
    const row: Open = {
      ...emptyRow(batch.record, batch.recordLength),
      topic: batch.topic,
      topicLength: batch.topicLength,
      queueOffset: BigInt.asIntN(64, batch.queueOffset + BigInt(rows.length)),
      sysFlag: batch.sysFlag,
      kind: abi.ROW_ELEMENT,
      innerIndex: rows.length & 0xffff,
    };
    rows.push(row);
    try {
      at += readElement(row, body, at, end);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      row.status = abi.ROW_BAD_RECORD;
      break;
    }
  }
  return rows;
}

/** The element's total size. The row is filled only when all of it is fine. */
function readElement(row: Open, body: Uint8Array, at: number, end: number): number {
  const rest = new DataView(body.buffer, body.byteOffset + at, end - at);
  const length = rest.getInt32(0);
  if (length < 22 || length > end - at) throw new RangeError("element");
  const view = new DataView(body.buffer, body.byteOffset + at, length);
  const bodyLength = take(view, 20, view.getInt32(16));
  readProperties(row, view, 20 + bodyLength, at, body);
  row.body = at + 20;
  row.bodyLength = bodyLength;
  return length;
}
