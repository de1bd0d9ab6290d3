import { describe, expect, test } from "vitest";
import { ArgumentError, FrameError } from "../../client/errors.ts";
import { RequestCode, ResponseCode } from "../../client/protocol/codes.ts";
import { decodeCommand, encodeCommand } from "../../client/protocol/command.ts";
import { readHeader, SERIALIZE_JSON, SERIALIZE_ROCKETMQ } from "../../client/protocol/header.ts";
import { encodeText } from "../../client/protocol/text.ts";
import { LANGUAGES, VERSION } from "../../client/protocol/version.ts";
import { everyRow } from "./oracle.ts";
import { bodyVersions, fromBase64, present, readLines, readTable, type Row, toBase64 } from "./vectors.ts";

const rows = readLines("oracle-command.jsonl");
const commands = rows.filter((row) => row.command);

describe("command", () => {
  test("frames that Java encoded are decoded as Java decodes them, and written again; its broken frames are refused", () => {
    everyRow("oracle-command", (row) => {
      if (row.badFrame) {
        expectRefused(row);
        return;
      }
      expectDecoded(row.JSON);
      expectDecoded(row.ROCKETMQ);
      // Two ways of Java to the same header.
      if (row.rocketMQProtocolEncode) expectSameBinary(row);
    });
  });

  test("what we encode, we decode to what went in", () => {
    for (const { command } of commands) {
      const fields = present(command.extFields);
      const body = command.body === null ? new Uint8Array(0) : fromBase64(command.body);
      // A lone surrogate has no bytes of its own: it becomes U+FFFD, in Java a question mark.
      if (Object.values(fields).some((value) => value === "\ud800")) continue;
      const given = { ...command, extFields: fields, body, remark: command.remark ?? undefined };
      const json = decodeCommand(encodeCommand({ ...given, serializeType: "JSON" }));
      expect(plain(json)).toEqual({ ...plainOf(command), extFields: fields, serializeType: "JSON" });
      if (command.code > 32767) continue;
      if ("" in fields) {
        expect(() => encodeCommand({ ...given, serializeType: "ROCKETMQ" })).toThrow(ArgumentError);
        continue;
      }
      const binary = decodeCommand(encodeCommand({ ...given, serializeType: "ROCKETMQ" }));
      expect(plain(binary)).toEqual({
        ...plainOf(command),
        version: command.version << 16 >> 16,
        remark: command.remark || null,
        extFields: Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== "")),
        serializeType: "ROCKETMQ",
      });
    }
  });

  test("a code above 32767 travels with a JSON header whatever was asked for", () => {
    const command = { code: RequestCode.POP_MESSAGE, opaque: 1, flag: 0, serializeType: "ROCKETMQ" } as const;
    expect(decodeCommand(encodeCommand(command))).toMatchObject({
      code: 200050,
      serializeType: "JSON",
      language: "NODE_JS",
      version: 513,
    });
  });

  test("every prefix of a frame, and every frame with a wrong length, is a FrameError", () => {
    for (const serializeType of ["JSON", "ROCKETMQ"] as const) {
      const frame = encodeCommand({
        code: 1,
        opaque: 2,
        flag: 1,
        remark: "r",
        extFields: { a: "b" },
        body: encodeText("x"),
        serializeType,
      });
      for (let cut = 0; cut < frame.length; cut++) {
        expect(() => decodeCommand(frame.subarray(0, cut))).toThrow(FrameError);
      }
      for (let byte = 0; byte < 8; byte++) {
        const wrong = frame.slice();
        wrong[byte]! ^= 0x40;
        expect(() => decodeCommand(wrong), `${serializeType} byte ${byte}`).toThrow(FrameError);
      }
    }
  });

  test("headers with damaged bytes are read or refused, never anything else", () => {
    for (const { JSON: json, ROCKETMQ: binary } of commands) {
      for (const { frame } of [json, binary]) {
        const bytes = fromBase64(frame);
        for (let at = 8; at < bytes.length; at += 3) {
          const damaged = bytes.slice();
          damaged[at] = (damaged[at]! * 7 + at) & 0xff;
          try {
            const { code, opaque, flag, version } = decodeCommand(damaged);
            for (const number of [code, opaque, flag, version]) expect(Number.isInteger(number)).toBe(true);
          } catch (error) {
            expect(error).toBeInstanceOf(FrameError);
          }
        }
      }
    }
  });

  test("fields that are no strings, and numbers that are none, are refused with their name", () => {
    const command = { code: 1, opaque: 2, flag: 0, serializeType: "JSON" } as const;
    for (const serializeType of ["JSON", "ROCKETMQ"] as const) {
      const extFields = { count: 3 } as unknown as Record<string, string>;
      expect(() => encodeCommand({ ...command, serializeType, extFields })).toThrow(/"count" must be a string/);
    }
    expect(() => encodeCommand({ ...command, opaque: NaN })).toThrow(/opaque/);
    expect(() => encodeCommand({ ...command, code: 2 ** 40 })).toThrow(/code/);
    expect(() => encodeCommand({ ...command, language: "KLINGON" })).toThrow(ArgumentError);
    expect(() => encodeCommand({ ...command, body: new Uint8Array(16_777_216) })).toThrow(ArgumentError);
  });

  test("an unknown language is empty, in both kinds, and survives encoding", () => {
    for (const serializeType of ["JSON", "ROCKETMQ"] as const) {
      const frame = encodeCommand({ code: 1, opaque: 2, flag: 0, language: "", serializeType });
      expect(decodeCommand(frame).language).toBe("");
    }
    expect(readHeader(encodeText(`{"code":1,"language":"KLINGON"}`), SERIALIZE_JSON).language).toBe("");
  });

  test("a field may be called __proto__", () => {
    const extFields = JSON.parse(`{"__proto__":"x","constructor":"y"}`);
    for (const serializeType of ["JSON", "ROCKETMQ"] as const) {
      const decoded = decodeCommand(encodeCommand({ code: 1, opaque: 2, flag: 0, extFields, serializeType }));
      expect(Object.entries(decoded.extFields)).toEqual([["__proto__", "x"], ["constructor", "y"]]);
    }
  });

  test("hostile JSON headers are FrameErrors", () => {
    for (
      const text of [
        "",
        "[]",
        "null",
        `{"code":NaN}`,
        `{"code":1e400}`,
        `{"code":1.5}`,
        `{"code":99999999999}`,
        `{"code":${"9".repeat(100_000)}}`,
        `{"code":{}}`,
        `{"extFields":[]}`,
        `{"extFields":"x"}`,
        `{"extFields":${`{"a":`.repeat(100_000)}1${"}".repeat(100_000)}}`,
        "[".repeat(1_000_000),
        "{".repeat(1_000_000),
      ]
    ) expect(() => readHeader(encodeText(text), SERIALIZE_JSON), text.slice(0, 40)).toThrow(FrameError);
  });

  test("hostile binary headers are FrameErrors", () => {
    const header = new Uint8Array(21);
    const view = new DataView(header.buffer);
    for (const [at, value] of [[13, -1], [13, 0x7fffffff], [17, -1], [17, 1], [17, 0x7fffffff]] as const) {
      header.fill(0);
      view.setInt32(at, value);
      expect(() => readHeader(header, SERIALIZE_ROCKETMQ), `${at} ${value}`).toThrow(FrameError);
    }
    expect(() => readHeader(header, 2)).toThrow(FrameError);
  });
});

test("header: all of Java's header classes are read field by field, from both kinds", () => {
  everyRow("oracle-header", (row) => {
    for (const kind of ["JSON", "ROCKETMQ"]) {
      expect(row[kind].frame, row.header).toBeTypeOf("string");
      const { extFields } = decodeCommand(fromBase64(row[kind].frame));
      expect(withoutEmpty(extFields), row.header).toEqual(withoutEmpty(present(row[kind].decodedExtFields)));
    }
  });
});

test("codes, languages and our version are those of the release tables", () => {
  for (const version of bodyVersions) {
    const table = readTable(version);
    for (const [name, code] of Object.entries(RequestCode)) {
      if (table.RequestCode[name] !== undefined) expect(code, name).toBe(table.RequestCode[name]);
    }
    for (const [name, code] of Object.entries(ResponseCode)) {
      if (table.ResponseCode[name] !== undefined) expect(code, name).toBe(table.ResponseCode[name]);
    }
  }
  const newest = readTable("5.5.0");
  for (const name of Object.keys(RequestCode)) expect(newest.RequestCode, name).toHaveProperty(name);
  for (const name of Object.keys(ResponseCode)) expect(newest.ResponseCode, name).toHaveProperty(name);
  expect(Object.fromEntries(LANGUAGES.map((name, code) => [name, code]))).toEqual(newest.LanguageCode);
  expect(VERSION).toBe(513);
});

/** A broken frame is a FrameError; what Java tolerates we tolerate. */
function expectRefused({ badFrame, decoded }: Row): void {
  const frame = new Uint8Array(Buffer.from(badFrame, "hex"));
  if (decoded.error) {
    expect(() => decodeCommand(frame), badFrame).toThrow(FrameError);
    return;
  }
  const { code, language, version, flag, extFields } = decodeCommand(frame);
  expect({ code, language, version, flag, extFields: { ...extFields } }).toEqual({
    code: decoded.code,
    language: decoded.language,
    version: decoded.version,
    flag: decoded.flag,
    extFields: {},
  });
}

/** Java's binary header, and ours of the same fields in the same order. */
function expectSameBinary({ command, ROCKETMQ: { frame, decoded }, rocketMQProtocolEncode }: Row): void {
  const bytes = fromBase64(frame), headerEnd = 8 + (new DataView(bytes.buffer).getUint32(4) & 0xffffff);
  expect(toBase64(bytes.subarray(8, headerEnd))).toBe(rocketMQProtocolEncode);
  // An empty name is refused, an empty value or remark left out, and a lone surrogate is another character in Java.
  const fields = Object.entries(present(command.extFields));
  if (decoded.error || command.remark === "" || fields.some(([, value]) => value === "" || value === "\ud800")) return;
  expect(toBase64(encodeCommand({ ...decodeCommand(bytes), serializeType: "ROCKETMQ" }))).toBe(frame);
}

function expectDecoded({ frame, decoded }: Row): void {
  const bytes = fromBase64(frame);
  if (decoded.error) {
    expect(() => decodeCommand(bytes), decoded.message).toThrow(FrameError);
    return;
  }
  const { serializeType: _, ...command } = plain(decodeCommand(bytes));
  expect(command).toEqual({
    ...decoded,
    extFields: present(decoded.extFields),
    remark: decoded.remark,
    body: decoded.body ?? "",
  });
}

const plain = ({ extFields, body, remark, ...rest }: ReturnType<typeof decodeCommand>) => ({
  ...rest,
  remark: remark ?? null,
  extFields: { ...extFields },
  body: toBase64(body),
});

const plainOf = (command: Row) => ({ ...command, body: command.body ?? "", remark: command.remark });

const withoutEmpty = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
