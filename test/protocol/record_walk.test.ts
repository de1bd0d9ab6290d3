import { expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { FrameError } from "../../client/errors.ts";
import { encodeBatch } from "../../client/protocol/batch.ts";
import { decodeCommand } from "../../client/protocol/command.ts";
import { decodeRecord, encodeRecord } from "../../client/protocol/record.ts";
import { walkRecords } from "../../client/protocol/record_walk.ts";
import { encodeText } from "../../client/protocol/text.ts";
import { openCore } from "../support/core.ts";
import { freshSeed, Random } from "../core/random.ts";
import { readFrames } from "./vectors.ts";

const bodies = readFrames().filter(({ expect: { records } }) => records).map(({ bytes }) => decodeCommand(bytes).body);
const core = openCore(64);

/** Rows of the whole body, by the core. */
function coreRows(body: Uint8Array, checkCrc: boolean): Uint8Array {
  const block = core.allocateBlock(Math.max(1, body.length));
  core.write(block, body);
  const rows: number[] = [];
  for (let from = 0; from < body.length; from = core.walkedTo) {
    const count = core.walkAt(block, body.length, from, checkCrc);
    const table = new Uint8Array(count * abi.ROW_SIZE);
    core.copyRows(count, table, 0);
    rows.push(...table);
  }
  core.freeBlock(block);
  return Uint8Array.from(rows);
}

test("the slow walk and the core agree on every prefix of recorded bodies", () => {
  const seed = freshSeed(), random = new Random(seed);
  for (const body of bodies.filter(({ length }) => length < 4000)) {
    for (let i = 0; i < 20; i++) {
      const prefix = body.subarray(0, random.below(body.length + 1));
      expect(walkRecords(prefix, true), `seed ${seed}`).toEqual(coreRows(prefix, true));
    }
  }
});

test("the slow walk and the core agree on damaged bodies, and a row never points outside", () => {
  const seed = freshSeed(), random = new Random(seed);
  const small = bodies.filter(({ length }) => length < 4000);
  const seen = new Set<number>();
  for (let round = 0; round < 4000; round++) {
    const body = random.pick(small).slice();
    for (let damage = random.below(3); damage >= 0; damage--) {
      const at = random.once(2) ? random.below(body.length) : random.below(Math.min(body.length, 100));
      body[at] = random.pick([0, 1, 2, 0x7f, 0x80, 0xc0, 0xff, random.below(256)]);
    }
    const checkCrc = random.once(2), context = `seed ${seed}, round ${round}`;
    const rows = walkRecords(body, checkCrc);
    expect(rows, context).toEqual(coreRows(body, checkCrc));
    const view = new DataView(rows.buffer, rows.byteOffset, rows.length);
    for (let row = 0; row < rows.length; row += abi.ROW_SIZE) {
      seen.add(view.getUint8(row + abi.ROW_STATUS));
      for (
        const [at, length] of [
          [view.getUint32(row + abi.ROW_RECORD, true), view.getUint32(row + abi.ROW_RECORD_LEN, true)],
          [view.getUint32(row + abi.ROW_BODY, true), view.getUint32(row + abi.ROW_BODY_LEN, true)],
          [view.getUint32(row + abi.ROW_TOPIC, true), view.getUint16(row + abi.ROW_TOPIC_LEN, true)],
          [view.getUint32(row + abi.ROW_PROPERTIES, true), view.getUint16(row + abi.ROW_PROPERTIES_LEN, true)],
          [view.getUint32(row + abi.ROW_TAGS, true), view.getUint16(row + abi.ROW_TAGS_LEN, true)],
        ] as const
      ) if (at + length > body.length) throw new Error(`${context}: a row points outside`);
    }
  }
  expect([...seen].sort()).toEqual([abi.ROW_OK, abi.ROW_BAD_CRC, abi.ROW_BAD_RECORD, abi.ROW_BAD_REST]);
});

test("inner batches: broken, empty, compressed and too long for the core's rows give the core's rows", () => {
  const elements = (count: number) =>
    Array.from(
      { length: count },
      (_, flag) => ({ flag, body: encodeText("b"), properties: `TAGS\u0001t${flag}\u0002` }),
    );
  const batch = (body: Uint8Array, sysFlag = 0xc0) =>
    encodeRecord({ ...decodeRecord(bodies[0]!), bodyCRC: undefined as never, sysFlag, body });
  const whole = encodeBatch(elements(3));
  for (
    const body of [
      whole,
      whole.subarray(0, whole.length - 1),
      new Uint8Array(0),
      encodeBatch(elements(1024)),
      encodeBatch(elements(1025)),
    ]
  ) {
    for (const sysFlag of [0xc0, 0xc1, 0x40, 0x80]) {
      const record = batch(body, sysFlag);
      expect(walkRecords(record, true)).toEqual(coreRows(record, true));
      const two = new Uint8Array([...batch(whole), ...record]);
      expect(walkRecords(two, true)).toEqual(coreRows(two, true));
    }
  }
});

test("a record that is cut anywhere, or contradicts itself, is a FrameError for the decoder", () => {
  const record = encodeRecord(decodeRecord(bodies[0]!));
  for (let cut = 0; cut < record.length; cut++) expect(() => decodeRecord(record.subarray(0, cut))).toThrow(FrameError);
  for (const [at, value] of [[4, 0], [0, 0], [84, -1], [84, 0x7fffffff]] as const) {
    const broken = record.slice();
    new DataView(broken.buffer).setInt32(at, value);
    expect(() => decodeRecord(broken), `${at} ${value}`).toThrow(FrameError);
  }
});
