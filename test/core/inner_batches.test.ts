import { describe, expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { openCore } from "../support/core.ts";
import { concat } from "../support/frames.ts";
import { elementBytes, recordBytes } from "./record_bytes.ts";
import { type Row, walkAll } from "./row.ts";
import { modelWalk } from "./walk_model.ts";

const text = new TextEncoder();
const decoder = new TextDecoder();
const statuses = (rows: readonly Row[]) => rows.map((row) => row.status);
const part = (body: Uint8Array, at: number, length: number) => decoder.decode(body.subarray(at, at + length));

/** What a row points at, as text. */
const read = (body: Uint8Array, row: Row) => ({
  body: part(body, row.body, row.bodyLength),
  topic: part(body, row.topic, row.topicLength),
  tags: part(body, row.tags, row.tagsLength),
});

describe("inner batches", () => {
  const element = (index: number) => elementBytes(text.encode(`body ${index}`), `TAGS\x01t${index}\x02`, index);
  const batch = (count: number, sysFlag = 0xc0) =>
    recordBytes({
      sysFlag,
      queueOffset: 1000n,
      topic: "Batches",
      properties: `INNER_NUM\x01${count}\x02`,
      body: concat(Array.from({ length: count }, (_, index) => element(index))),
    });

  test("a row for each element: its own body and properties, the record's topic, an offset that counts up", () => {
    const body = concat([recordBytes(), batch(3), recordBytes()]);
    const rows = walkAll(openCore(), body);
    expect(rows.map((row) => row.kind)).toEqual([
      abi.ROW_PLAIN,
      abi.ROW_ELEMENT,
      abi.ROW_ELEMENT,
      abi.ROW_ELEMENT,
      abi.ROW_PLAIN,
    ]);
    rows.slice(1, 4).forEach((row, index) => {
      expect(row).toMatchObject({ queueOffset: 1000n + BigInt(index), innerIndex: index, sysFlag: 0xc0 });
      expect(row.record).toBe(rows[1]!.record);
      expect(read(body, row)).toMatchObject({ body: `body ${index}`, tags: `t${index}`, topic: "Batches" });
    });
  });

  test("one of the two bits alone makes no batch", () => {
    const core = openCore();
    for (const sysFlag of [0x40, 0x80]) expect(walkAll(core, batch(3, sysFlag))[0]!.kind).toBe(abi.ROW_PLAIN);
  });

  test("a compressed batch is left whole", () => {
    const rows = walkAll(openCore(), batch(3, 0xc1));
    expect(rows.length).toBe(1);
    expect(rows[0]).toMatchObject({ kind: abi.ROW_BATCH, status: abi.ROW_OK, queueOffset: 1000n });
  });

  test("a batch whose checksum is wrong is not taken apart", () => {
    const damaged = recordBytes({ sysFlag: 0xc0, bodyCRC: 5, body: element(0) });
    const rows = walkAll(openCore(), damaged);
    expect(rows.length).toBe(1);
    expect(rows[0]).toMatchObject({ kind: abi.ROW_BATCH, status: abi.ROW_BAD_CRC });
  });

  test("a broken element is its batch's last, the next record is delivered", () => {
    const broken = element(1);
    broken[16] = 0x7f;
    const body = concat([element(0), broken, element(2)]);
    const rows = walkAll(openCore(), concat([recordBytes({ sysFlag: 0xc0, body, queueOffset: 5n }), recordBytes()]));
    expect(statuses(rows)).toEqual([abi.ROW_OK, abi.ROW_BAD_RECORD, abi.ROW_OK]);
    expect(rows[1]).toMatchObject({ kind: abi.ROW_ELEMENT, innerIndex: 1, queueOffset: 6n, bodyLength: 0 });
  });

  test("a batch cut at any place gives its whole elements and one bad one", () => {
    const core = openCore(), whole = concat([element(0), element(1), element(2)]);
    for (let length = 0; length <= whole.length; length++) {
      const record = recordBytes({ sysFlag: 0xc0, body: whole.subarray(0, length) });
      expect(walkAll(core, record)).toEqual(modelWalk(record, true));
    }
  });

  test("an empty batch has no row", () => {
    expect(statuses(walkAll(openCore(), concat([batch(0), recordBytes()])))).toEqual([abi.ROW_OK]);
  });
});

describe("more rows than the table has", () => {
  const element = elementBytes(text.encode("x"));
  const batch = (count: number) =>
    recordBytes({ sysFlag: 0xc0, queueOffset: 9n, body: concat(Array<Uint8Array>(count).fill(element)) });

  test("a walk goes on where the rows ended", () => {
    const body = concat(Array<Uint8Array>(2500).fill(recordBytes()));
    const rows = walkAll(openCore(), body);
    expect(rows.length).toBe(2500);
    expect(rows).toEqual(modelWalk(body, true));
  });

  test("a batch that does not fit the rows left waits for the next walk", () => {
    const core = openCore(), body = concat([recordBytes(), batch(abi.ROW_ENTRIES), recordBytes()]);
    const rows = walkAll(core, body);
    expect(rows.length).toBe(abi.ROW_ENTRIES + 2);
    expect(rows).toEqual(modelWalk(body, true));
  });

  test("a batch that fits exactly is taken apart, one element more leaves it whole", () => {
    const core = openCore();
    expect(walkAll(core, batch(abi.ROW_ENTRIES)).length).toBe(abi.ROW_ENTRIES);
    const rows = walkAll(core, concat([batch(abi.ROW_ENTRIES + 1), recordBytes()]));
    expect(rows.map((row) => row.kind)).toEqual([abi.ROW_BATCH, abi.ROW_PLAIN]);
  });
});
