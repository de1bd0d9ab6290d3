import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { concat } from "../support/frames.ts";
import { freshSeed, Random } from "./random.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import { MAGIC_V1, MAGIC_V2, recordBytes } from "./record_bytes.ts";
import { randomBody } from "./random_records.ts";
import { type Row, rowsAt, walkAll } from "./row.ts";
import { modelWalk } from "./walk_model.ts";

const text = new TextEncoder();
const decoder = new TextDecoder();
const statuses = (rows: readonly Row[]) => rows.map((row) => row.status);
const part = (body: Uint8Array, at: number, length: number) => decoder.decode(body.subarray(at, at + length));

/** What a row points at, as text. */
const read = (body: Uint8Array, row: Row) => ({
  body: part(body, row.body, row.bodyLength),
  topic: part(body, row.topic, row.topicLength),
  properties: part(body, row.properties, row.propertiesLength),
  tags: row.tags ? part(body, row.tags, row.tagsLength) : undefined,
  keys: row.keys ? part(body, row.keys, row.keysLength) : undefined,
  uniqKey: row.uniqKey ? part(body, row.uniqKey, row.uniqKeyLength) : undefined,
});

describe("one record", () => {
  test("every part is found where it is", () => {
    const properties = "UNIQ_KEY\x010A00\x02WAIT\x01true\x02TAGS\x01paid\x02KEYS\x01order-1 order-2\x02";
    const record = recordBytes({ body: text.encode("hello"), topic: "Größe", properties, queueOffset: 2n ** 40n });
    const [row] = walkAll(openCore(), record);
    expect(row).toMatchObject({ record: 0, recordLength: record.length, status: abi.ROW_OK, kind: abi.ROW_PLAIN });
    expect(row!.queueOffset).toBe(2n ** 40n);
    expect(read(record, row!)).toEqual({
      body: "hello",
      topic: "Größe",
      properties,
      tags: "paid",
      keys: "order-1 order-2",
      uniqKey: "0A00",
    });
  });

  test("codec-8: IPv6 host flags are honoured one by one", () => {
    const core = openCore();
    for (const sysFlag of [0x10, 0x20, 0x30, 0x04, 0x80, 0x00]) {
      const record = recordBytes({ sysFlag, body: text.encode("body"), topic: "Orders", properties: "TAGS\x01a\x02" });
      const rows = walkAll(core, concat([record, record]));
      expect(rows.map((row) => ({ ...row, record: 0, ...read(concat([record, record]), row) }))).toEqual(
        rows.map((row) => ({
          ...row,
          record: 0,
          status: abi.ROW_OK,
          sysFlag,
          body: "body",
          topic: "Orders",
          properties: "TAGS\x01a\x02",
          tags: "a",
          keys: undefined,
          uniqKey: undefined,
        })),
      );
      expect(rows.length).toBe(2);
    }
  });

  test("codec-10: a checksum of zero is a checksum", () => {
    const core = openCore(), body = Uint8Array.of(0x9d, 0x0a, 0xd9, 0x6d);
    expect(statuses(walkAll(core, recordBytes({ body, bodyCRC: 0 })))).toEqual([abi.ROW_OK]);
    expect(statuses(walkAll(core, recordBytes({ body, bodyCRC: 1 })))).toEqual([abi.ROW_BAD_CRC]);
    expect(statuses(walkAll(core, recordBytes({ body: text.encode("x"), bodyCRC: 0 })))).toEqual([abi.ROW_BAD_CRC]);
    expect(statuses(walkAll(core, recordBytes({ body, bodyCRC: 1 }), false))).toEqual([abi.ROW_OK]);
  });

  test("a topic of a V2 record may be longer than 127 bytes, that of a V1 record may not", () => {
    const core = openCore(), topic = "T".repeat(300);
    const record = recordBytes({ magic: MAGIC_V2, topic });
    expect(read(record, walkAll(core, record)[0]!).topic).toBe(topic);
    expect(statuses(walkAll(core, recordBytes({ topic: "T".repeat(127) })))).toEqual([abi.ROW_OK]);
    expect(statuses(walkAll(core, recordBytes({ topic: "T".repeat(128) })))).toEqual([abi.ROW_BAD_RECORD]);
  });

  test("bytes behind the properties belong to the record", () => {
    const record = recordBytes({ trailing: new Uint8Array(9), properties: "TAGS\x01a" });
    const rows = walkAll(openCore(), concat([record, record]));
    expect(statuses(rows)).toEqual([abi.ROW_OK, abi.ROW_OK]);
    expect(rows[1]!.record).toBe(record.length);
  });
});

describe("properties", () => {
  const find = (properties: string) => {
    const record = recordBytes({ properties });
    const { tags, keys, uniqKey } = read(record, walkAll(openCore(), record)[0]!);
    return { tags, keys, uniqKey };
  };
  const nothing = { tags: undefined, keys: undefined, uniqKey: undefined };

  test("the last separator may be missing", () => {
    expect(find("TAGS\x01a\x02KEYS\x01k")).toEqual({ ...nothing, tags: "a", keys: "k" });
    expect(find("UNIQ_KEY\x01u")).toEqual({ ...nothing, uniqKey: "u" });
  });

  test("empty values are no values, and pairs without a name or a separator are no pairs", () => {
    expect(find("TAGS\x01\x02KEYS\x01")).toEqual(nothing);
    expect(find("TAGS\x02\x01TAGS\x02KEYS")).toEqual(nothing);
    expect(find("")).toEqual(nothing);
    expect(find("\x02\x02TAGS\x01t\x02\x02")).toEqual({ ...nothing, tags: "t" });
  });

  test("the last of several wins, an empty one does not count", () => {
    expect(find("TAGS\x01a\x02TAGS\x01b\x02TAGS\x01\x02")).toEqual({ ...nothing, tags: "b" });
  });

  test("the first separator splits; a value may hold another", () => {
    expect(find("TAGS\x01a\x01b\x02")).toEqual({ ...nothing, tags: "a\x01b" });
    expect(find("A\x01TAGS\x01b\x02")).toEqual(nothing);
  });

  test("other names that begin or end alike are other names", () => {
    expect(find("TAGSX\x01a\x02XTAGS\x01a\x02tags\x01a\x02UNIQ_KEYS\x01u\x02UNIQ_KE\x01u\x02")).toEqual(nothing);
  });

  test("a pair is found at every place of a vector", () => {
    for (let length = 1; length < 40; length++) {
      const filler = `F\x01${"f".repeat(length)}\x02`;
      expect(find(`${filler}TAGS\x01${"t".repeat(length)}\x02KEYS\x01k\x02${filler}UNIQ_KEY\x01u`)).toEqual({
        tags: "t".repeat(length),
        keys: "k",
        uniqKey: "u",
      });
    }
  });

  test("what follows the properties is not read as one of them", () => {
    const core = openCore();
    for (let length = 1; length < 40; length++) {
      for (const trailing of ["\x02", "v\x02", "\x02TAGS\x01x\x02", "TAGS\x01x\x02"]) {
        const tags = "t".repeat(length);
        const record = recordBytes({ trailing: text.encode(trailing), properties: `TAGS\x01${tags}` });
        expect(read(record, walkAll(core, record)[0]!).tags).toBe(tags);
      }
    }
  });
});

describe("broken bytes", () => {
  test("a bad record is reported alone, the others are delivered", () => {
    const good = recordBytes({ body: text.encode("good") }), bad = good.slice();
    bad[4] = 0;
    expect(statuses(walkAll(openCore(), concat([good, bad, good])))).toEqual([
      abi.ROW_OK,
      abi.ROW_BAD_RECORD,
      abi.ROW_OK,
    ]);
  });

  test("a total size that makes no sense ends the walk with one row for the rest", () => {
    const good = recordBytes(), core = openCore();
    for (const size of [0, 1, 90, good.length * 2 + 1, 0x7fffffff, 0x80000000, 0xffffffff]) {
      const bad = good.slice();
      new DataView(bad.buffer).setUint32(0, size);
      const rows = walkAll(core, concat([good, bad, good]));
      expect(statuses(rows)).toEqual([abi.ROW_OK, abi.ROW_BAD_REST]);
      expect(rows[1]).toMatchObject({ record: good.length, recordLength: 2 * good.length });
    }
  });

  test("a body cut at any place gives its whole records and one row for the rest", () => {
    const record = recordBytes({ body: text.encode("0123456789"), properties: "TAGS\x01a\x02" }), core = openCore();
    const body = concat([record, record]);
    for (let length = 0; length < body.length; length++) {
      const cut = body.subarray(0, length), whole = Math.floor(length / record.length);
      const expected = Array<number>(whole).fill(abi.ROW_OK);
      if (length % record.length) expected.push(abi.ROW_BAD_REST);
      expect(statuses(walkAll(core, cut))).toEqual(expected);
    }
  });

  test("a record cut at any place inside its total size is bad or complete, never something else", () => {
    const core = openCore();
    for (const sysFlag of [0, 0x10, 0x20, 0x30]) {
      const record = recordBytes({ sysFlag, body: text.encode("body"), topic: "T", properties: "TAGS\x01a\x02" });
      for (let length = 91; length <= record.length; length++) {
        const cut = record.slice(0, length);
        new DataView(cut.buffer).setUint32(0, length);
        expect(statuses(walkAll(core, cut))).toEqual([length === record.length ? abi.ROW_OK : abi.ROW_BAD_RECORD]);
      }
    }
  });

  test("lengths beyond the record are found before anything behind it is read, at the end of the memory too", () => {
    const core = new TinyDriver({ pages: 16 });
    for (const sysFlag of [0, 0x10, 0x20, 0x30]) {
      for (let at = 0; at < 95; at++) {
        const record = recordBytes({
          sysFlag,
          magic: at % 2 ? MAGIC_V2 : MAGIC_V1,
          body: new Uint8Array(3),
          topic: "T",
        });
        for (const value of [0xff, 0x7f, 0x80]) {
          const broken = record.slice();
          broken.fill(value, at + 4, at + 8);
          const ptr = core.bytes.length - abi.SLACK - broken.length;
          core.bytes.set(broken, ptr);
          const { result } = core.run({ opcode: abi.OP_WALK, ptr, len: broken.length, flags: abi.WALK_CRC });
          expect(result).toBe(1);
          expect(rowsAt(core.bytes, core.control + abi.ROWS, 1)).toEqual(modelWalk(broken, true));
        }
      }
    }
  });

  test("a walk outside the arena, or from a position that is none, is refused", () => {
    const core = new TinyDriver({ pages: 16 }), end = core.bytes.length;
    const run = (ptr: number, len: number, value = 0) => core.run({ opcode: abi.OP_WALK, ptr, len, value }).result;
    expect(run(end, 1)).toBe(abi.E_BAD_POINTER);
    expect(run(end - 64, 1)).toBe(abi.E_BAD_POINTER);
    expect(run(4096, 0xffffffff)).toBe(abi.E_BAD_POINTER);
    for (const value of [-1, 0.5, 101, NaN, Infinity, 2 ** 40]) {
      expect(run(end - 164, 100, value)).toBe(abi.E_BAD_ARGUMENT);
    }
    expect(run(end - 164, 100, 100)).toBe(0);
    expect(run(end - 164, 0)).toBe(0);
  });
});

test("any walk equals the model's, for records of all kinds and their mutations", () => {
  const seed = freshSeed(), random = new Random(seed), core = openCore();
  for (let round = 0; round < 3000; round++) {
    const body = randomBody(random), checkCrc = !random.once(4);
    expect(walkAll(core, body, checkCrc), `seed ${seed}, round ${round}`).toEqual(modelWalk(body, checkCrc));
  }
});

test("records of Java's encoder are read as Java reads them", () => {
  const lines = readFileSync(new URL("../vectors/oracle-record.jsonl", import.meta.url), "utf8").trim().split("\n");
  const core = openCore();
  let compared = 0;
  for (const line of lines) {
    const { result: { encoded, decoded } } = JSON.parse(line);
    if (!encoded || !decoded) continue;
    const record = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    const [row] = walkAll(core, record, false);
    expect(row).toMatchObject({ status: abi.ROW_OK, recordLength: decoded.storeSize });
    expect(row!.queueOffset).toBe(BigInt(decoded.queueOffset));
    expect(read(record, row!).topic).toBe(decoded.topic);
    expect(read(record, row!).uniqKey ?? null).toBe(decoded.uniqKey);
    compared++;
  }
  expect(compared).toBe(lines.length);
});
