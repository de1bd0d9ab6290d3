import { describe, expect, test } from "vitest";
import { readSendFrames } from "../../bench/inputs/frames.ts";
import { crc32 } from "../../bench/inputs/crc32.ts";
import { FIRST_OFFSET, pullBody } from "../../bench/inputs/records.ts";
import * as answers from "../../bench/inputs/responses.ts";
import { decodeCommand } from "../../client/protocol/command.ts";
import { decodeRecord } from "../../client/protocol/record.ts";
import { crc32 as slowCrc32 } from "../../client/protocol/crc32.ts";
import { readFrames } from "../protocol/vectors.ts";

const captured = new Map(readFrames().map((frame) => [frame.id, frame.bytes]));
const bytesOf = (id: string): Uint8Array => captured.get(id)!;

const headerText = (frame: Uint8Array): string => {
  const length = new DataView(frame.buffer, frame.byteOffset).getInt32(4) & 0xffffff;
  return new TextDecoder("latin1").decode(frame.subarray(8, 8 + length));
};

/** What is left of a header without the ids and numbers that differ from answer to answer. */
const shape = (text: string): string => text.replace(/[0-9A-F]{32}/g, "ID").replace(/\d+/g, "N");

describe("answers that are decoded", () => {
  test("are, in JSON, byte for byte what a 5.5.0 broker wrote, but for ids and numbers", () => {
    expect(shape(answers.sendAnswerJson(5))).toBe(shape(headerText(bytesOf("550-550-json-012"))));
    expect(shape(answers.pullAnswerJson(5))).toBe(shape(headerText(bytesOf("550-550-json-097"))));
    expect(answers.sendAnswerJson(5)).toMatch(/"version":513}$/);
  });

  test("have, in binary, the fields of a 5.5.0 broker in its order", () => {
    for (
      const [header, id] of [[answers.sendAnswerBinary(5), "550-550-bin-010"], [
        answers.pullAnswerBinary(5),
        "550-550-bin-054",
      ]] as const
    ) {
      const ours = decodeCommand(answers.frameOf(header)), theirs = decodeCommand(bytesOf(id));
      expect(Object.keys(ours.extFields)).toEqual(Object.keys(theirs.extFields));
      expect({ ...ours, opaque: 0, extFields: {}, body: 0 }).toEqual({ ...theirs, opaque: 0, extFields: {}, body: 0 });
    }
  });

  test("that never repeat differ in their version", () => {
    expect(answers.sendAnswerJson(5, 405)).toBe(answers.sendAnswerJson(5).replace(`"version":513`, `"version":405`));
  });
});

describe("records that are walked", () => {
  test("are sound, one behind the other, with the properties of a 5.5.0 broker in its order", () => {
    const body = pullBody(3, 100);
    let at = 0;
    for (let index = 0; index < 3; index++) {
      const record = decodeRecord(body, at);
      expect(record.queueOffset).toBe(BigInt(FIRST_OFFSET + index));
      expect(record.body).toHaveLength(100);
      expect(record.bodyCRC).toBe(slowCrc32(record.body) & 0x7fffffff);
      at += record.totalSize;
    }
    expect(at).toBe(body.length);
    const names = new TextDecoder("latin1").decode(body).match(/[A-Z_]+(?=\u0001)/g)!.slice(0, 7);
    const theirs = new TextDecoder("latin1").decode(bytesOf("550-550-json-097"));
    expect(theirs).toMatch(new RegExp(names.map((name) => `${name}\u0001[^\u0001]*\u0002`).join("")));
  });
});

describe("the checksum that makes inputs", () => {
  test("is CRC-32", () => {
    expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
  });
});

describe("frames that variants have written", () => {
  const frame = (header: object): Uint8Array => answers.frameOf(JSON.stringify(header), new Uint8Array([65]));
  const id = "0123456789ABCDEF0123456789ABCDEF";

  test("are equal whatever the order of their fields and their ids", () => {
    const one = readSendFrames(
      frame({ code: 310, extFields: { a: "x", i: `UNIQ_KEY\u0001${id}\u0002TAGS\u0001t\u0002` } }),
    );
    const two = readSendFrames(
      frame({ extFields: { i: `TAGS\u0001t\u0002UNIQ_KEY\u0001${id.replace("0", "F")}\u0002`, a: "x" }, code: 310 }),
    );
    expect(one).toEqual(two);
    expect(one[0]!.properties).toEqual([["TAGS", "t"], ["UNIQ_KEY", "a unique id"]]);
  });

  test("differ when a value, a body or the form of an id does", () => {
    const read = (i: string, a = "x") => readSendFrames(frame({ code: 310, extFields: { a, i } }));
    expect(read(`UNIQ_KEY\u0001${id}\u0002`)).not.toEqual(read(`UNIQ_KEY\u0001${id}\u0002`, "y"));
    expect(read(`UNIQ_KEY\u0001${id}\u0002`)).not.toEqual(read(`UNIQ_KEY\u0001${id}0\u0002`));
  });
});
