import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { decodeBatch } from "../../client/protocol/batch.ts";
import { BINARY_CODE_MAX } from "../../client/protocol/codes.ts";
import type { Frame } from "../../client/core.ts";
import { decodeCommand, encodeCommand, readCommand, type RemotingCommand } from "../../client/protocol/command.ts";
import { decodeProperties } from "../../client/protocol/properties.ts";
import { decodeRecord, encodeRecord, offsetMsgIdOf, type StoredRecord } from "../../client/protocol/record.ts";
import { walkRecords } from "../../client/protocol/record_walk.ts";
import { COMPRESSED, compressionOf } from "../../client/protocol/sys_flag.ts";
import { decodeText } from "../../client/protocol/text.ts";
import { openCore } from "../support/core.ts";
import { feed } from "./frames.ts";
import { everyOne } from "./oracle.ts";
import {
  bodyVector,
  type ElementVector,
  expand,
  type FrameVector,
  javaHost,
  present,
  readFrames,
  readLines,
  type RecordVector,
  toBase64,
} from "./vectors.ts";

const frames = readFrames();

test("every recorded frame is there", () => {
  const withRecords = frames.filter((frame) => frame.expect.records).length;
  console.log(`${frames.length} frames, ${withRecords} with records`);
  expect(frames.length).toBe(3322);
  expect(withRecords).toBe(186);
});

test("every line of the other files is there: their tests go over what they find", () => {
  const lines = readdirSync(new URL("../vectors/", import.meta.url))
    .filter((name) => name.endsWith(".jsonl") && !name.startsWith("frames-")).sort()
    .map((name) => [name.replace(".jsonl", ""), readLines(name).length]);
  expect(Object.fromEntries(lines)).toEqual({
    "body-4.4.0": 38,
    "body-4.9.7": 38,
    "body-5.3.3": 44,
    "body-5.5.0": 44,
    "oracle-allocate": 360,
    "oracle-batch": 20,
    "oracle-command": 68,
    "oracle-compression": 15,
    "oracle-crc32": 336,
    "oracle-delay": 26,
    "oracle-hash": 95,
    "oracle-header": 99,
    "oracle-ids": 92,
    "oracle-lz4": 655,
    "oracle-names": 25,
    "oracle-properties": 79,
    "oracle-record": 60,
    "oracle-subscription": 78,
    "oracle-validate": 89,
  });
});

test("every frame is decoded as Java decoded it", () => {
  const kinds = { json: "JSON", binary: "RocketMQSerializable" } as const;
  for (const header of ["json", "binary"] as const) {
    const given = frames.filter((frame) => frame.header === header);
    everyOne(`frames with ${kinds[header]} headers`, given, (frame) => {
      expectAsJava(decodeCommand(frame.bytes), frame);
    });
  }
});

test("every frame goes through the core: cut anywhere, numbers and headers as Java decoded them", () => {
  const core = openCore(64), before = core.bytesInUse, connection = core.openConnection();
  let read = 0;
  for (const [index, vector] of frames.entries()) {
    const cut = index % vector.bytes.length;
    const seen: string[] = [];
    for (const part of [vector.bytes.subarray(0, cut), vector.bytes.subarray(cut)]) {
      feed(core, connection, part, (frame) => {
        seen.push(vector.id);
        if (frame.fields & abi.FIELD_READ) {
          read++;
          expectNumbers(frame, vector);
        }
        expectAsJava(readCommand(frame), vector);
      });
    }
    expect(seen).toEqual([vector.id]);
  }
  core.closeConnection(connection);
  expect(core.bytesInUse).toBe(before);
  // Java's own headers hardly ever need the slow way.
  expect(read / frames.length).toBeGreaterThan(0.95);
});

test("the core's record walk and the slow one fill the same rows, and they are what Java decoded", () => {
  const core = openCore(64), connection = core.openConnection();
  let walked = 0;
  for (const { id, bytes, expect: { records } } of frames) {
    if (!records) continue;
    feed(core, connection, bytes, (frame) => {
      const count = core.walk(frame, 0, true);
      expect(core.walkedTo, id).toBe(frame.bodyLength);
      const rows = new Uint8Array(count * abi.ROW_SIZE);
      core.copyRows(count, rows, 0);
      const body = frame.body();
      expect(rows, id).toEqual(walkRecords(body, true));
      expectRows(rows, body, records, id);
      walked++;
    });
  }
  expect(walked).toBe(186);
});

test("every frame is encoded again to the same fields, in both header kinds", () => {
  for (const frame of frames) {
    const command = decodeCommand(frame.bytes);
    const json = decodeCommand(encodeCommand({ ...command, serializeType: "JSON" }));
    expect(plain(json), frame.id).toEqual(plain({ ...command, serializeType: "JSON" }));
    const binary = decodeCommand(encodeCommand({ ...command, serializeType: "ROCKETMQ" }));
    const kind = command.code > BINARY_CODE_MAX ? "JSON" : "ROCKETMQ";
    expect(plain(binary), frame.id).toEqual(plain(kind === "JSON" ? json : afterBinary(command)));
  }
});

test("records are decoded as Java decoded them, and encoded again to the same bytes", () => {
  let unread = 0;
  everyOne("frames with records", frames.filter((frame) => frame.expect.records), ({ id, bytes, expect: wanted }) => {
    const body = decodeCommand(bytes).body, records = wanted.records!;
    let at = 0;
    for (const [index, wanted] of records.entries()) {
      const record = decodeRecord(body, at);
      if (!expectRecord(record, wanted, `${id} record ${index}`)) unread++;
      expect(toBase64(encodeRecord(record)), id).toBe(toBase64(body.subarray(at, at + record.totalSize)));
      at += record.totalSize;
    }
    expect(at, id).toBe(body.length);
  });
  if (unread > 0) {
    console.log(`${unread} ZSTD bodies compared by length and checksum only: this runtime cannot read them`);
  }
});

test("the slow record walk finds in every pull body what Java decoded", () => {
  for (const { id, bytes, expect: { records } } of frames) {
    if (!records) continue;
    const body = decodeCommand(bytes).body;
    expectRows(walkRecords(body, true), body, records, id);
  }
});

test("batches, raw bodies and text bodies are what Java decoded", () => {
  for (const { id, bytes, expect: wanted } of frames) {
    const { body } = decodeCommand(bytes);
    if (wanted.batch) expectElements(decodeBatch(body), wanted.batch, id);
    if (wanted.body !== undefined) expect(bodyVector(body, wanted.body), id).toEqual(wanted.body);
    if (wanted.bodyText !== undefined) expect(decodeText(body), id).toBe(wanted.bodyText);
  }
});

/** What the core says it has read must be what Java read. */
function expectNumbers(frame: Frame, { id, expect: { code, opaque, flag, remark, extFields } }: FrameVector): void {
  expect({ code: frame.code, opaque: frame.opaque, flag: frame.flag }, id).toEqual({ code, opaque, flag });
  const { fields } = frame;
  const given = extFields ?? {};
  const among = (...names: readonly string[]) => names.map((name) => given[name]).find((value) => value != null);
  const number = (bit: number, value: number) => fields & bit ? String(value) : undefined;
  expect({
    a: number(abi.FIELD_A, frame.a),
    b: number(abi.FIELD_B, frame.b),
    c: number(abi.FIELD_C, frame.c),
    brokerId: number(abi.FIELD_BROKER_ID, frame.brokerId),
    text: fields & abi.FIELD_TEXT ? frame.text() : undefined,
    remark: (fields & abi.FIELD_REMARK) !== 0,
  }, id).toEqual({
    a: among("queueOffset", "nextBeginOffset", "offset"),
    b: among("queueId", "minOffset"),
    c: among("maxOffset"),
    brokerId: among("suggestWhichBrokerId"),
    text: among("msgId"),
    remark: !!remark,
  });
}

function expectAsJava(command: RemotingCommand, { id, header, expect: wanted }: FrameVector): void {
  expect({
    code: command.code,
    language: command.language,
    version: command.version,
    opaque: command.opaque,
    flag: command.flag,
    remark: command.remark ?? null,
    extFields: { ...command.extFields },
    bodyLength: command.body.length,
    serializeType: command.serializeType,
  }, id).toEqual({
    code: wanted.code,
    language: wanted.language ?? "",
    version: wanted.version,
    opaque: wanted.opaque,
    flag: wanted.flag,
    remark: wanted.remark,
    extFields: header === "json" ? present(wanted.extFields) : withoutEmpty(present(wanted.extFields)),
    bodyLength: wanted.bodyLength,
    serializeType: header === "json" ? "JSON" : "ROCKETMQ",
  });
}

/** An empty value in a binary header is null for Java 5.x, empty for 4.x, and none for us. */
const withoutEmpty = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));

/** Quick to compare: bodies as text. */
const plain = (command: RemotingCommand) => ({
  ...command,
  extFields: { ...command.extFields },
  body: toBase64(command.body),
});

/** What a binary header leaves of a command: an empty value or remark is none. */
function afterBinary(command: RemotingCommand): RemotingCommand {
  const { remark, ...rest } = command;
  return {
    ...rest,
    extFields: withoutEmpty(command.extFields),
    ...(remark ? { remark } : {}),
    serializeType: "ROCKETMQ",
  };
}

/** Java clears the compression flag when it has decompressed. False when the body could not be compared, because it is ZSTD and the runtime cannot read that. */
function expectRecord(record: StoredRecord & { totalSize: number }, wanted: RecordVector, what: string): boolean {
  const { properties: wantedProperties, body: wantedBody, inner, msgId, uniqKey, ...rest } = wanted;
  const properties = decodeProperties(record.properties);
  expect({
    topic: record.topic,
    queueId: record.queueId,
    queueOffset: String(record.queueOffset),
    physicalOffset: String(record.physicalOffset),
    storeSize: record.totalSize,
    flag: record.flag,
    sysFlag: record.sysFlag & ~COMPRESSED,
    bornTimestamp: record.bornTimestamp,
    bornHost: javaHost(record.bornHost),
    storeTimestamp: record.storeTimestamp,
    storeHost: javaHost(record.storeHost),
    reconsumeTimes: record.reconsumeTimes,
    preparedTransactionOffset: String(record.preparedTransactionOffset),
    bodyCRC: record.bodyCRC,
    offsetMsgId: offsetMsgIdOf(record),
  }, what).toEqual({ ...rest, sysFlag: rest.sysFlag & ~COMPRESSED });
  expect(properties["UNIQ_KEY"] ?? null, what).toBe(uniqKey);
  expect(properties["UNIQ_KEY"] ?? offsetMsgIdOf(record), what).toBe(msgId);
  // The receipt handle of a popped message is written into it by the Java client, not by the broker.
  const { POP_CK, ...others } = present(wantedProperties);
  expect({ ...properties }, what).toEqual(POP_CK && properties["POP_CK"] ? { ...others, POP_CK } : others);
  if (inner) expectElements(decodeBatch(record.body), inner, what);
  const body = record.sysFlag & COMPRESSED ? expand(record.body, compressionOf(record.sysFlag)) : record.body;
  if (body) expect(bodyVector(body, wantedBody), what).toEqual(wantedBody);
  return body !== undefined;
}

function expectElements(
  elements: ReturnType<typeof decodeBatch>,
  wanted: readonly ElementVector[],
  what: string,
): void {
  expect(
    elements.map((element, index) => ({
      flag: element.flag,
      body: bodyVector(element.body, wanted[index]?.body ?? null),
      properties: { ...decodeProperties(element.properties) },
    })),
    what,
  ).toEqual(wanted.map(({ flag, body, properties }) => ({ flag, body, properties: present(properties) })));
}

/** Rows of a walk against what Java decoded; an inner batch has a row for each element. */
export function expectRows(rows: Uint8Array, body: Uint8Array, wanted: readonly RecordVector[], what: string): void {
  const view = new DataView(rows.buffer, rows.byteOffset, rows.length);
  const u16 = (row: number, field: number) => view.getUint16(row * abi.ROW_SIZE + field, true);
  const u32 = (row: number, field: number) => view.getUint32(row * abi.ROW_SIZE + field, true);
  const text = (row: number, at: number, length: number) =>
    decodeText(body.subarray(u32(row, at), u32(row, at) + u16(row, length)));
  const value = (row: number, at: number, length: number) => u32(row, at) === 0 ? undefined : text(row, at, length);
  let row = 0, start = 0;
  for (const record of wanted) {
    for (const [index, element] of (record.inner ?? [record]).entries()) {
      const at = row * abi.ROW_SIZE;
      const properties = decodeProperties(text(row, abi.ROW_PROPERTIES, abi.ROW_PROPERTIES_LEN));
      expect({
        record: u32(row, abi.ROW_RECORD),
        length: u32(row, abi.ROW_RECORD_LEN),
        status: view.getUint8(at + abi.ROW_STATUS),
        kind: view.getUint8(at + abi.ROW_KIND),
        index: u16(row, abi.ROW_INNER_INDEX),
        queueOffset: view.getBigInt64(at + abi.ROW_QUEUE_OFFSET, true),
        sysFlag: u32(row, abi.ROW_SYS_FLAG) & ~COMPRESSED,
        topic: text(row, abi.ROW_TOPIC, abi.ROW_TOPIC_LEN),
        tags: value(row, abi.ROW_TAGS, abi.ROW_TAGS_LEN),
        keys: value(row, abi.ROW_KEYS, abi.ROW_KEYS_LEN),
        uniqKey: value(row, abi.ROW_UNIQ_KEY, abi.ROW_UNIQ_KEY_LEN),
      }, what).toEqual({
        record: start,
        length: record.storeSize,
        status: abi.ROW_OK,
        kind: record.inner ? abi.ROW_ELEMENT : abi.ROW_PLAIN,
        index,
        queueOffset: BigInt(record.queueOffset) + BigInt(index),
        sysFlag: record.sysFlag & ~COMPRESSED,
        topic: record.topic,
        tags: element.properties?.["TAGS"],
        keys: element.properties?.["KEYS"],
        uniqKey: element.properties?.["UNIQ_KEY"],
      });
      expect(properties["TAGS"], what).toBe(element.properties?.["TAGS"]);
      if (!(u32(row, abi.ROW_SYS_FLAG) & COMPRESSED)) {
        const from = u32(row, abi.ROW_BODY);
        expect(bodyVector(body.subarray(from, from + u32(row, abi.ROW_BODY_LEN)), element.body), what).toEqual(
          element.body,
        );
      }
      row++;
    }
    start += record.storeSize;
  }
  expect(rows.length, what).toBe(row * abi.ROW_SIZE);
}
