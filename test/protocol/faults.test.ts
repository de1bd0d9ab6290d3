import { afterEach, describe, expect, test, vi } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { ArgumentError, FrameError } from "../../client/errors.ts";
import { decodeBatch, encodeBatch } from "../../client/protocol/batch.ts";
import { decodeCommand, encodeCommand, readCommand, type SerializeType } from "../../client/protocol/command.ts";
import { readHeader, SERIALIZE_JSON } from "../../client/protocol/header.ts";
import { decodeOffsetMsgId } from "../../client/protocol/ids.ts";
import { parseJson } from "../../client/protocol/json.ts";
import { checkTopic } from "../../client/protocol/names.ts";
import { decodeProperties, encodeProperties } from "../../client/protocol/properties.ts";
import { readPullAnswer } from "../../client/protocol/pull.ts";
import { decodeRecord, encodeRecord } from "../../client/protocol/record.ts";
import { walkRecords } from "../../client/protocol/record_walk.ts";
import { decodeRoute } from "../../client/protocol/route.ts";
import { decodeSendRequest, readSendAnswer, sendProgram, sendRequest } from "../../client/protocol/send.ts";
import { decodeText, encodeText } from "../../client/protocol/text.ts";
import { ColdPrograms } from "../../client/remoting/cold_programs.ts";
import { openCore } from "../support/core.ts";
import { answer, feed, kindOf, lend, lendUnread, runProgram } from "./frames.ts";
import { newRecord } from "./new_record.ts";

const kinds: readonly SerializeType[] = ["JSON", "ROCKETMQ"];
const nothing = new Uint8Array(0);

/** Statuses of all rows, from the core and from the slow walk, which must agree. */
function statusesOf(body: Uint8Array, checkCrc: boolean): number[] {
  const core = openCore();
  const block = core.allocateBlock(body.length);
  core.write(block, body);
  const count = core.walkAt(block, body.length, 0, checkCrc);
  const rows = new Uint8Array(count * abi.ROW_SIZE);
  core.copyRows(count, rows, 0);
  expect(rows).toEqual(walkRecords(body, checkCrc));
  return Array.from({ length: count }, (_, row) => rows[row * abi.ROW_SIZE + abi.ROW_STATUS]!);
}

describe("codec-1: bare integer JSON keys", () => {
  const queueDatas = `"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":4,"writeQueueNums":4}]`;
  const route = (brokerAddrs: string, brokerName: string) =>
    encodeText(
      `{"brokerDatas":[{"brokerAddrs":${brokerAddrs},"brokerName":${brokerName},"cluster":"c"}],${queueDatas}}`,
    );

  test("codec-1: ids 0 and 1 are found in both spellings, text in a value is never rewritten", () => {
    const addrs = new Map([[0, "10.0.0.1:10911"], [1, "10.0.0.2:10911"]]);
    for (const ids of [`{0:"10.0.0.1:10911",1:"10.0.0.2:10911"}`, `{"0":"10.0.0.1:10911","1":"10.0.0.2:10911"}`]) {
      expect(decodeRoute(route(ids, `"a"`)).brokerDatas[0]).toEqual({
        brokerName: "a",
        cluster: "c",
        brokerAddrs: addrs,
      });
    }
    expect(decodeRoute(route(`{0:"h:1"}`, `"x{0:\\"y\\"}"`)).brokerDatas[0]!.brokerName).toBe(`x{0:"y"}`);
  });

  test("codec-1: a text that is still broken fails alone", () => {
    expect(() => decodeRoute(route(`{0:}`, `"a"`))).toThrow(FrameError);
    expect(decodeRoute(route(`{0:"h:1"}`, `"a"`)).queueDatas).toHaveLength(1);
  });
});

describe("codec-4: reader buffer limit below a legal frame", () => {
  const bodyOf = (index: number) => new Uint8Array(200 * 1024).map((_, at) => at * (2 * index + 1) + (at >> 8));
  const records = Array.from(
    { length: 32 },
    (_, index) => newRecord({ queueOffset: BigInt(index), body: bodyOf(index) }),
  );
  const ext = { nextBeginOffset: "32", minOffset: "0", maxOffset: "32", suggestWhichBrokerId: "0" };
  const joined = (parts: readonly Uint8Array[]): Uint8Array => {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  };
  const frame = (serializeType: SerializeType): Uint8Array =>
    encodeCommand({
      code: 0,
      opaque: 7,
      flag: 1,
      extFields: ext,
      body: joined(records.map(encodeRecord)),
      serializeType,
      language: "JAVA",
    });

  for (const [where, coreMemory] of [["in the arena", 32], ["outside it, where there is no room", 2]] as const) {
    test(`codec-4: a pull answer of 32 records of 200 KiB is decoded whole, ${where}`, () => {
      for (const serializeType of kinds) {
        const core = openCore(coreMemory), bytes = frame(serializeType);
        expect(bytes.length).toBeGreaterThan(6.25 * 1024 * 1024);
        let answers = 0;
        feed(core, core.openConnection(), bytes, (lent) => {
          answers++;
          expect(lent.inArena).toBe(coreMemory === 32);
          expect(readPullAnswer(lent)).toMatchObject({ code: 0, nextBeginOffset: 32, maxOffset: 32 });
          const body = lent.body(), rows = walkRecords(body, true);
          expect(rows.length).toBe(32 * abi.ROW_SIZE);
          if (lent.inArena) {
            expect(core.walk(lent, 0, true)).toBe(32);
            expect(core.walkedTo).toBe(body.length);
            const table = new Uint8Array(32 * abi.ROW_SIZE);
            core.copyRows(32, table, 0);
            expect(table).toEqual(rows);
          }
          const view = new DataView(rows.buffer);
          for (const [index, { queueOffset, body: sent }] of records.entries()) {
            const row = index * abi.ROW_SIZE, at = view.getUint32(row + abi.ROW_BODY, true);
            expect(view.getUint8(row + abi.ROW_STATUS)).toBe(abi.ROW_OK);
            expect(view.getBigInt64(row + abi.ROW_QUEUE_OFFSET, true)).toBe(queueOffset);
            const read = body.subarray(at, at + view.getUint32(row + abi.ROW_BODY_LEN, true));
            expect(read.length === sent.length && read.every((byte, i) => byte === sent[i]), `record ${index}`).toBe(
              true,
            );
          }
        });
        expect(answers).toBe(1);
      }
    });
  }

  test("codec-4: one byte more than the largest frame is an error that says how much is allowed", () => {
    const core = openCore(), connection = core.openConnection();
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, abi.FRAME_MAX - 3);
    expect(() => feed(core, connection, length, () => {})).toThrow(`longer than ${abi.FRAME_MAX} bytes`);
  });
});

describe("codec-5, codec-6: nonsense instead of a frame, read by the cold decoder", () => {
  test("codec-5: other protocols and nonsense lengths are one FrameError", () => {
    const texts = ["HTTP/1.1 400 Bad Request\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"].map(encodeText);
    const lengths = [0x50524920, 0x7fffffff, 0x80000000, 0].map((length) => {
      const bytes = new Uint8Array(12);
      new DataView(bytes.buffer).setUint32(0, length);
      return bytes;
    });
    for (const bytes of [...texts, ...lengths]) expect(() => decodeCommand(bytes)).toThrow(FrameError);
  });

  test("codec-6: malformed headers are one FrameError each", () => {
    const frames = [
      [0, 0, 0, 8, 0, 0, 0xff, 0xff, 0, 0, 0, 0],
      [0, 0, 0, 2, 0, 0],
      [0, 0, 0, 8, 7, 0, 0, 4, 0, 0, 0, 0],
      [0, 0, 0, 12, 0, 0, 0, 8, ...encodeText(`{"code":`)],
    ];
    for (const frame of frames) expect(() => decodeCommand(Uint8Array.from(frame))).toThrow(FrameError);
  });
});

describe("codec-7: properties longer than a signed short", () => {
  const element = (length: number) => ({
    flag: 0,
    body: nothing,
    properties: `p\u0001${"x".repeat(length - 3)}\u0002`,
  });

  test("codec-7: a batch with 40,000 bytes of properties is refused with size and limit, one with 32,767 is encoded", () => {
    expect(() => encodeBatch([element(10), element(40_000)])).toThrow(ArgumentError);
    expect(() => encodeBatch([element(10), element(40_000)])).toThrow(/40000 bytes: at most 32767/);
    expect(() => encodeBatch([element(32_768)])).toThrow(ArgumentError);
    const elements = [element(10), element(32_767)];
    expect(decodeBatch(encodeBatch(elements))).toEqual(elements);
  });

  test("codec-7: the limit counts UTF-8 bytes, and holds for stored records", () => {
    const properties = (count: number) => `p\u0001${"中".repeat(count)}\u0002`;
    expect(() => encodeRecord(newRecord({ properties: properties(10_922) }))).toThrow(/32769 bytes/);
    expect(decodeRecord(encodeRecord(newRecord({ properties: properties(10_921) }))).properties).toBe(
      properties(10_921),
    );
  });
});

describe("codec-8: IPv6 host flags not honoured one by one", () => {
  const v6 = "[2001:db8:85a3:0:0:8a2e:370:7334]:65535";
  for (const sysFlag of [0x10, 0x20, 0x30, 0x04, 0x80, 0x00]) {
    test(`codec-8: sysFlag 0x${sysFlag.toString(16)}`, () => {
      const given = newRecord({
        sysFlag,
        bornHost: sysFlag & 0x10 ? v6 : "10.0.0.9:50000",
        storeHost: sysFlag & 0x20 ? v6 : "10.0.0.1:10911",
      });
      const bytes = encodeRecord(given);
      const { totalSize, bodyCRC, ...decoded } = decodeRecord(bytes);
      expect(decoded).toEqual(given);
      expect(totalSize).toBe(91 + 5 + 6 + 7 + (sysFlag & 0x10 ? 12 : 0) + (sysFlag & 0x20 ? 12 : 0));
      expect(bodyCRC).toBeGreaterThan(0);
      expect(statusesOf(bytes, true)).toEqual([abi.ROW_OK]);
      const rows = new DataView(walkRecords(bytes, true).buffer);
      const part = (at: number, length: number) => decodeText(bytes.subarray(at, at + length));
      expect(part(rows.getUint32(abi.ROW_BODY, true), rows.getUint32(abi.ROW_BODY_LEN, true))).toBe("hello");
      expect(part(rows.getUint32(abi.ROW_TOPIC, true), rows.getUint16(abi.ROW_TOPIC_LEN, true))).toBe("TopicA");
      expect(part(rows.getUint32(abi.ROW_TAGS, true), rows.getUint16(abi.ROW_TAGS_LEN, true))).toBe("a");
    });
  }
});

test("codec-9: a missing last property separator merges nothing", () => {
  for (const text of ["TAGS\u0001a\u0002DELAY\u00014", "TAGS\u0001a\u0002DELAY\u00014\u0002"]) {
    const properties = decodeProperties(text);
    expect({ ...properties }).toEqual({ TAGS: "a", DELAY: "4" });
    properties["X"] = "1";
    expect({ ...decodeProperties(encodeProperties(properties)) }).toEqual({ TAGS: "a", DELAY: "4", X: "1" });
  }
});

test("codec-10: a checksum of zero is a checksum", () => {
  const body = Uint8Array.of(0x9d, 0x0a, 0xd9, 0x6d);
  const good = encodeRecord(newRecord({ body })), bad = encodeRecord(newRecord({ body, bodyCRC: 1 }));
  expect(decodeRecord(good).bodyCRC).toBe(0);
  expect(statusesOf(good, true)).toEqual([abi.ROW_OK]);
  expect(statusesOf(bad, true)).toEqual([abi.ROW_BAD_CRC]);
  expect(statusesOf(bad, false)).toEqual([abi.ROW_OK]);
});

test("codec-11: topic names of more than 127 bytes are refused with the limit, also with a namespace before them", () => {
  checkTopic("t".repeat(127));
  expect(() => checkTopic("t".repeat(128))).toThrow(ArgumentError);
  expect(() => checkTopic("t".repeat(128))).toThrow(/128 characters, at most 127/);
  expect(() => checkTopic(`namespace%${"t".repeat(120)}`)).toThrow(/130 characters, at most 127/);
});

test("codec-12: offset message ids are read as hexadecimal, and bad ones are errors", () => {
  expect(decodeOffsetMsgId("C0A8017B00002A9F0000000000000C60")).toEqual({
    host: "192.168.1.123",
    port: 10911,
    offset: 0xc60n,
  });
  expect(decodeOffsetMsgId("20010DB885A3000000008A2E0370733400002A9F0000000000000C60")).toEqual({
    host: "2001:db8:85a3:0:0:8a2e:370:7334",
    port: 10911,
    offset: 0xc60n,
  });
  for (const id of ["C0A8017B00002A9F0000000000000C6", "C0A8017B00002A9F0000000000000CZ0", "", "0x"]) {
    expect(() => decodeOffsetMsgId(id), id).toThrow(ArgumentError);
  }
});

describe("codec-13: header field presence differs between versions", () => {
  const unknown = { a1: "x", a2: "", a3: "1", "": "y", NaN: "NaN" };
  const sent = { msgId: "0A00000100002A9F0000000000000000", queueId: "3", queueOffset: "17" };
  const pulled = { nextBeginOffset: "18", minOffset: "0", maxOffset: "20", suggestWhichBrokerId: "0" };
  const extra = (serializeType: SerializeType) => {
    const { "": _, ...named } = unknown;
    return serializeType === "JSON" ? unknown : named;
  };

  for (const serializeType of kinds) {
    test(`codec-13: unknown fields are ignored, optional ones may be missing (${serializeType})`, () => {
      for (const fields of [{}, extra(serializeType)]) {
        for (const through of [lend, lendUnread]) {
          const send = through(answer(0, { ...sent, ...fields }, serializeType), readSendAnswer);
          expect(send).toMatchObject({ msgId: sent.msgId, queueId: 3, queueOffset: 17n });
          const pull = through(answer(0, { ...pulled, ...fields }, serializeType), readPullAnswer);
          expect(pull).toMatchObject({
            code: 0,
            nextBeginOffset: 18,
            minOffset: 0,
            maxOffset: 20,
            suggestWhichBrokerId: 0,
          });
          for (const value of [...Object.values(send), ...Object.values(pull)]) {
            expect(value === undefined || Number.isNaN(value)).toBe(false);
          }
        }
      }
    });

    test(`codec-13: a mandatory field that is missing or no number is an error that names it (${serializeType})`, () => {
      for (const [fields, read] of [[sent, readSendAnswer], [pulled, readPullAnswer]] as const) {
        for (const name of Object.keys(fields)) {
          const { [name]: _, ...rest } = fields as Record<string, string>;
          const broken: Record<string, string>[] = [
            rest,
            ...(name === "msgId" ? [] : ["x", "1.5", "NaN", "1e3"].map((value) => ({ ...fields, [name]: value }))),
          ];
          for (const each of broken) {
            expect(() => lend<unknown>(answer(0, each, serializeType), read), name).toThrow(FrameError);
            expect(() => lend<unknown>(answer(0, each, serializeType), read), name).toThrow(`"${name}"`);
          }
        }
      }
    });
  }
});

describe("codec-14: byte length confused with character length", () => {
  const text = "中文é", body = encodeText("日本語");

  test("codec-14: both header kinds count UTF-8 bytes and come back", () => {
    for (const serializeType of kinds) {
      const frame = encodeCommand({
        code: 1,
        opaque: 2,
        flag: 1,
        remark: text,
        extFields: { [text]: text },
        body,
        serializeType,
      });
      expect(new DataView(frame.buffer).getInt32(0)).toBe(frame.length - 4);
      expect(decodeCommand(frame)).toMatchObject({ remark: text, extFields: { [text]: text }, body });
    }
  });

  test("codec-14: header programs count UTF-8 bytes too", () => {
    const to = { producerGroup: "PG", topic: "T", brokerName: text, defaultTopic: "TBW102", defaultTopicQueueNums: 4 };
    for (const serializeType of kinds) {
      const steps = sendProgram(to, kindOf({ [text]: text }), text, serializeType);
      const frame = runProgram(steps, serializeType, { opaque: 1, value: 0, now: 1, args: ["0", text], body, id: 1 });
      const i = `UNIQ_KEY\u0001${text}000000000001\u0002${text}\u0001${text}\u0002`;
      expect(decodeCommand(frame)).toMatchObject({ extFields: { n: text, i }, body });
    }
  });

  test("codec-14: records and batches count UTF-8 bytes", () => {
    const properties = `${text}\u0001${text}\u0002`;
    expect(decodeRecord(encodeRecord(newRecord({ topic: text, properties, body })))).toMatchObject({
      topic: text,
      properties,
      body,
    });
    expect(decodeBatch(encodeBatch([{ flag: 1, body, properties }]))).toEqual([{ flag: 1, body, properties }]);
  });
});

describe("codec-15: user properties dropped while encoding", () => {
  const properties = {
    TAGS: "paid",
    KEYS: "k1 k2",
    UNIQ_KEY: "7F00000100002A9F0000000000000001",
    color: "blue",
    size: "42",
  };
  const to = { producerGroup: "PG", topic: "T", brokerName: "b", defaultTopic: "TBW102", defaultTopicQueueNums: 4 };
  const fields = {
    queueId: 0,
    sysFlag: 0,
    bornTimestamp: 1,
    flag: 0,
    properties: encodeProperties(properties),
    reconsumeTimes: 0,
    unitMode: false,
    batch: false,
  };

  test("codec-15: every property arrives exactly once, in both forms of the header and both kinds", () => {
    for (const serializeType of kinds) {
      for (const code of [10, 310] as const) {
        const request = sendRequest(to, fields, nothing, code);
        const arrived = decodeCommand(encodeCommand({ ...request, opaque: 1, flag: 0, serializeType }));
        const text = decodeSendRequest(arrived.extFields, code).properties;
        expect({ ...decodeProperties(text) }).toEqual(properties);
        for (const name of Object.keys(properties)) expect(text.split(`${name}\u0001`)).toHaveLength(2);
      }
      const { UNIQ_KEY, ...others } = properties;
      const steps = sendProgram(to, kindOf(others), UNIQ_KEY.slice(0, 20), serializeType);
      const args = ["0", ...Object.values(others)];
      const frame = runProgram(steps, serializeType, { opaque: 1, value: 0, now: 1, args, id: 1 });
      expect({ ...decodeProperties(decodeCommand(frame).extFields["i"]!) }).toEqual(properties);
    }
  });
});

describe("wasm-5: text functions refuse shared memory", () => {
  afterEach(() => vi.restoreAllMocks());

  test("wasm-5: the core's memory is not shared, and no text function is ever given a shared view", () => {
    const isShared = (view: ArrayBufferView | ArrayBuffer | undefined) =>
      ArrayBuffer.isView(view) && Object.prototype.toString.call(view.buffer) === "[object SharedArrayBuffer]";
    let calls = 0;
    const guard = (view: ArrayBufferView | ArrayBuffer | undefined) => {
      calls++;
      if (isShared(view)) throw new TypeError("a shared view");
    };
    const { decode } = TextDecoder.prototype, { encodeInto } = TextEncoder.prototype;
    vi.spyOn(TextDecoder.prototype, "decode").mockImplementation(function (this: TextDecoder, view, options) {
      guard(view as Uint8Array);
      return decode.call(this, view, options);
    });
    vi.spyOn(TextEncoder.prototype, "encodeInto").mockImplementation(function (this: TextEncoder, text, view) {
      guard(view);
      return encodeInto.call(this, text, view);
    });
    const core = openCore(), connection = core.openConnection();
    expect(isShared(core.room(connection))).toBe(false);
    const to = { producerGroup: "PG", topic: "T", brokerName: "b", defaultTopic: "TBW102", defaultTopicQueueNums: 4 };
    const steps = sendProgram(to, kindOf({ a: "" }), "", "JSON");
    runProgram(steps, "JSON", { opaque: 1, value: 0, now: 1, args: ["0", "a\u0001".repeat(50)] });
    let read = 0;
    feed(core, connection, answer(0, { msgId: "A".repeat(40), queueId: "1", queueOffset: "2" }), (frame) => {
      read++;
      expect(frame.text()).toBe("A".repeat(40));
      expect(readSendAnswer(frame).msgId).toBe("A".repeat(40));
      expect(readHeader(frame.headerBytes(), SERIALIZE_JSON).extFields["queueId"]).toBe("1");
    });
    expect(read).toBe(1);
    expect(calls).toBeGreaterThan(3);
  });
});

describe("wasm-9: long text overflows the call stack", () => {
  test("wasm-9: properties and remarks of 30,000 units and a JSON body of 5 MiB are exact", () => {
    const long = 'a中\u{1f680}"\\\n'.repeat(4500).slice(0, 30_000);
    const to = { producerGroup: "PG", topic: "T", brokerName: "b", defaultTopic: "TBW102", defaultTopicQueueNums: 4 };
    for (const serializeType of kinds) {
      const frame = encodeCommand({ code: 1, opaque: 1, flag: 1, remark: long, extFields: { long }, serializeType });
      expect(lend(frame, (lent) => readHeader(lent.headerBytes(), lent.serializeType))).toMatchObject({
        remark: long,
        extFields: { long },
      });
      const steps = sendProgram(to, kindOf({ a: long }), "", serializeType);
      const sent = runProgram(steps, serializeType, { opaque: 1, value: 0, now: 1, args: ["0", long] });
      expect(decodeCommand(sent).extFields["i"]!.split("\u0002")[1]).toBe(`a\u0001${long}`);

      // The remark of a request goes into the core as an argument, that of an answer comes out of it.
      const core = openCore(), segment = core.openSegment(), cold = new ColdPrograms(core, serializeType);
      const { program, value, args, body } = cold.request({ code: 1, flag: 1, remark: long, extFields: {} })!;
      expect(core.encode(program, segment, 1, value, args, body)).toBe(true);
      const remarked = core.segmentBytes(segment).slice();
      expect(decodeCommand(remarked).remark).toBe(long);
      expect(lend(remarked, (lent) => readCommand(lent)).remark).toBe(long);
      const texts: string[] = [];
      const msgId = serializeType === "JSON" ? long.replaceAll(/["\\\n]/g, "x") : long;
      feed(core, core.openConnection(), answer(0, { msgId, queueId: "1", queueOffset: "2" }, serializeType), (lent) => {
        expect(lent.fields & abi.FIELD_TEXT).toBe(abi.FIELD_TEXT);
        texts.push(lent.text());
      });
      expect(texts).toEqual([msgId]);
    }
    const item = "x\\n中".repeat(1000);
    const text = `{"list":[${Array.from({ length: 1100 }, () => `"${item}"`).join(",")}]}`;
    const frame = encodeCommand({ code: 0, opaque: 1, flag: 1, body: encodeText(text), serializeType: "JSON" });
    expect(frame.length).toBeGreaterThan(5 << 20);
    const core = openCore(64), connection = core.openConnection();
    let read = false;
    feed(core, connection, frame, (lent) => {
      const { entries } = parseJson(decodeText(lent.body())) as unknown as { entries: [string, string[]][] };
      const list = entries[0]![1];
      expect(list.length).toBe(1100);
      expect(list.every((each) => each === item.replaceAll("\\n", "\n"))).toBe(true);
      read = true;
    });
    expect(read).toBe(true);
    const giant = `"${"y".repeat(5 << 20)}"`;
    expect((parseJson(giant) as string).length).toBe(5 << 20);
  });
});
