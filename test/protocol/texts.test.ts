import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { ArgumentError, FrameError } from "../../client/errors.ts";
import * as fields from "../../client/protocol/fields.ts";
import { hostText, parseHost, parseIp } from "../../client/protocol/hosts.ts";
import { createOffsetMsgId, decodeOffsetMsgId, UniqueIds } from "../../client/protocol/ids.ts";
import { decodeProperties, encodeProperties } from "../../client/protocol/properties.ts";
import { decodeText, encodeText, textLength } from "../../client/protocol/text.ts";

describe("properties", () => {
  const name = fc.string({ minLength: 1 }).filter((text) => !/[\u0001\u0002]/.test(text));
  const value = fc.string({ minLength: 1 }).filter((text) => !text.includes("\u0002"));

  test("any names and values come back, whatever they are called", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.oneof(name, fc.constantFrom("__proto__", "constructor", "toString")), value)),
        (pairs) => {
          const properties = Object.fromEntries(pairs);
          expect(Object.entries(decodeProperties(encodeProperties(properties)))).toEqual(Object.entries(properties));
        },
      ),
    );
  });

  test("hostile texts of a megabyte take no time", () => {
    const texts = ["x\u0002", "\u0001", "\u0002", "a\u0001\u0002", "\u0001\u0002"].map((part) => part.repeat(500_000));
    const started = performance.now();
    for (const text of [...texts, `${texts[0]}\u0001`, `${texts[0]}a\u0001b`]) decodeProperties(text);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

describe("unique ids", () => {
  test("are 32 hexadecimal digits: a client's own 20, time and counter", () => {
    const ids = new UniqueIds(1_700_000_000_000);
    expect(ids.prefix).toMatch(/^[0-9A-F]{20}$/);
    expect(ids.prefix.slice(0, 8)).toBe((1_700_000_000_000 % 2 ** 32).toString(16).toUpperCase().padStart(8, "0"));
    expect(ids.text(0)).toBe(`${ids.prefix}000000000000`);
    expect(ids.text(2 ** 48 - 1)).toBe(`${ids.prefix}FFFFFFFFFFFF`);
    expect(ids.text(0x123456789abc)).toBe(`${ids.prefix}123456789ABC`);
  });

  test("say how many milliseconds have passed since the month began in local time", () => {
    for (const [year, month] of [[2024, 1], [2025, 11], [2026, 0]] as const) {
      const start = new Date(year, month, 1).getTime();
      const ids = new UniqueIds(start);
      expect(ids.sinceMonth(start + 12_345)).toBe(12_345);
      expect(ids.sinceMonth(start)).toBe(0);
      expect(ids.sinceMonth(start - 1)).toBe(0);
      const next = new Date(year, month + 1, 1).getTime();
      expect(ids.sinceMonth(next - 1)).toBe(next - 1 - start);
      // The next month begins at 0 again.
      expect(ids.sinceMonth(next + 7)).toBe(7);
    }
  });

  test("of two clients of one process never agree", () => {
    const prefixes = Array.from({ length: 1_000 }, () => new UniqueIds(5).prefix);
    expect(new Set(prefixes).size).toBe(1_000);
  });
});

describe("hosts and offset ids", () => {
  test("any address comes back", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.ipV4(), fc.ipV6()),
        fc.nat(65_535),
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        (ip, port, offset) => {
          const bytes = parseIp(ip);
          const host = parseHost(
            hostText(new Uint8Array([...bytes, 0, 0, port >> 8, port & 255]), 0, bytes.length === 16),
          );
          expect(host).toEqual({ ip: bytes, port });
          const decoded = decodeOffsetMsgId(createOffsetMsgId(ip, port, offset));
          expect({ ...decoded, host: parseIp(decoded.host) }).toEqual({ host: bytes, port, offset });
        },
      ),
    );
  });

  test("what is no numeric address is an ArgumentError", () => {
    for (
      const text of [
        "",
        "localhost",
        "1.2.3",
        "1.2.3.256",
        "1.2.3.4.5",
        "::1::",
        ":::",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "g::",
        "12345::",
      ]
    ) {
      expect(() => parseIp(text), text).toThrow(ArgumentError);
    }
    for (const text of ["1.2.3.4", "1.2.3.4:", "1.2.3.4:x", ":80", "host:80"]) {
      expect(() => parseHost(text), text).toThrow(ArgumentError);
    }
    expect(parseHost("/10.0.0.1:80")).toEqual({ ip: Uint8Array.of(10, 0, 0, 1), port: 80 });
    expect(parseIp("::ffff:1.2.3.4")).toEqual(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4));
    expect(parseIp("fe80::1%eth0")).toHaveLength(16);
  });
});

test("header numbers are exact or refused by name", () => {
  const given = {
    int: "-2147483648",
    long: "9223372036854775807",
    safe: "9007199254740991",
    plus: "+5",
    empty: "",
    float: "1.0",
    hex: "0x10",
    space: " 1",
    huge: "9223372036854775808",
  };
  expect(fields.requireInt(given, "int")).toBe(-2147483648);
  expect(fields.requireInt(given, "plus")).toBe(5);
  expect(fields.requireLong(given, "long")).toBe(9223372036854775807n);
  expect(fields.requireSafe(given, "safe")).toBe(Number.MAX_SAFE_INTEGER);
  for (const name of ["empty", "float", "hex", "space", "missing"]) {
    for (const read of [fields.requireInt, fields.requireLong, fields.requireSafe]) {
      expect(() => read(given, name), name).toThrow(FrameError);
      expect(() => read(given, name), name).toThrow(`"${name}"`);
    }
  }
  expect(() => fields.requireInt(given, "safe")).toThrow(FrameError);
  expect(() => fields.requireSafe(given, "long")).toThrow(FrameError);
  expect(() => fields.requireLong(given, "huge")).toThrow(FrameError);
  expect([
    fields.optionalInt(given, "empty", 7),
    fields.optionalLong(given, "none", 8n),
    fields.optionalSafe(given, "none", 9),
  ]).toEqual([7, 8n, 9]);
  expect([fields.optionalBoolean({ a: "TRUE" }, "a", false), fields.optionalBoolean({ a: "yes" }, "a", true)]).toEqual([
    true,
    false,
  ]);
});

test("text: a byte order mark is part of it, and lengths count UTF-8 bytes", () => {
  for (const text of ["\ufeffx", "", "中é\u{1f680}", "\ud800", "\udc00\ud800", "a\ud800b"]) {
    expect(textLength(text)).toBe(encodeText(text).length);
    expect(decodeText(encodeText(text))).toBe(text.replaceAll(/\p{Surrogate}/gu, "\ufffd"));
  }
});
