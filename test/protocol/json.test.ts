import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { FrameError } from "../../client/errors.ts";
import { JSON_DEPTH_MAX, JsonObject, type JsonValue, parseJson, writeJson } from "../../client/protocol/json.ts";

/** What JSON.parse would give, for texts that it reads; it knows no bigint. */
function toPlain(value: JsonValue): unknown {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(toPlain);
  if (value instanceof JsonObject) {
    return Object.fromEntries(value.entries.map(([key, each]) => [String(key), toPlain(each)]));
  }
  return typeof value === "bigint" ? Number(value) : value;
}

describe("what fastjson writes", () => {
  test("bare integer keys are found under their digits, quoted ones too", () => {
    for (const text of [`{0:"a",-1:"b",12:"c"}`, `{"0":"a","-1":"b","12":"c"}`]) {
      expect(toPlain(parseJson(text))).toEqual({ 0: "a", "-1": "b", 12: "c" });
    }
    expect((parseJson(`{"0":"a"}`) as JsonObject).get("0")).toBe("a");
  });

  test("an object may be a key, and nests", () => {
    const text = `{{"brokerName":"b","queueId":0,"topic":"T"}:100,{{0:1}:2}:{}}`;
    const value = parseJson(text) as JsonObject;
    expect((value.entries[0]![0] as JsonObject).get("topic")).toBe("T");
    expect(value.entries[0]![1]).toBe(100);
    expect(writeJson(value)).toBe(text);
  });

  test("whole numbers beyond 2^53 stay exact, as values and as keys", () => {
    const text = `{9007199254740993:9223372036854775807,"m":-9223372036854775808}`;
    const value = parseJson(text) as JsonObject;
    expect(value.entries).toEqual([[9007199254740993n, 9223372036854775807n], ["m", -9223372036854775808n]]);
    expect(writeJson(value)).toBe(text);
  });

  test("single quotes, trailing commas, white space and zero bytes behind the text are tolerated", () => {
    expect(toPlain(parseJson(` {'a' : [1 , 2 ,] , } \u0000\n`))).toEqual({ a: [1, 2] });
    expect(parseJson(`'it''`.slice(0, 4))).toBe("it");
  });

  test("text inside a string is never touched", () => {
    expect(toPlain(parseJson(`{"brokerName":"x{0:\\"y\\"}","b":"{0:1,}'"}`))).toEqual({
      brokerName: `x{0:"y"}`,
      b: "{0:1,}'",
    });
  });

  test("of two equal keys the last counts", () => {
    expect((parseJson(`{"a":1,"b":2,"a":3}`) as JsonObject).get("a")).toBe(3);
  });

  test("a key may be called __proto__", () => {
    expect((parseJson(`{"__proto__":{"x":1}}`) as JsonObject).entries[0]![0]).toBe("__proto__");
  });
});

test("any text that JSON.parse reads is read to the same value", () => {
  fc.assert(fc.property(fc.json(), (text) => {
    expect(toPlain(parseJson(text))).toEqual(normalized(JSON.parse(text)));
  }));
});

/** -0 is 0, as Java reads whole numbers; an own __proto__ stays one. */
function normalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalized);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, normalized(each)]));
  }
  return Object.is(value, -0) ? 0 : value;
}

test("broken, hostile and foreign texts are FrameErrors that name the position", () => {
  const texts = [
    ``,
    `   `,
    `{`,
    `{"a"`,
    `{"a":`,
    `{"a":1`,
    `{"a":1]`,
    `[1 2]`,
    `[,]`,
    `{,}`,
    `"a`,
    `"a\\`,
    `"a\\u12`,
    `"a\\u12g4"`,
    `"\\q"`,
    `NaN`,
    `Infinity`,
    `-`,
    `1e999`,
    `-1e999`,
    `nul`,
    `{a:1}`,
    `{true:1}`,
    `{"a":1}x`,
    `HTTP/1.1 400`,
    `9`.repeat(1000),
    `[`.repeat(JSON_DEPTH_MAX + 1) + `]`.repeat(JSON_DEPTH_MAX + 1),
    `{`.repeat(100_000),
    `{"a":`.repeat(100_000),
  ];
  for (const text of texts) expect(() => parseJson(text), text.slice(0, 30)).toThrow(FrameError);
  expect(() => parseJson(`{"code":`)).toThrow(/at 8: expected a value, found the end/);
  expect(toPlain(parseJson(`[`.repeat(JSON_DEPTH_MAX) + `]`.repeat(JSON_DEPTH_MAX)))).toBeInstanceOf(Array);
});

test("damaged texts are read or refused, never anything else", () => {
  const text = `{"a":{0:"x\\n",1:[1,-2.5e3,true,null,"中"]},{"k":1}:9007199254740993,'b':"\\u0041"}`;
  fc.assert(
    fc.property(
      fc.nat(text.length - 1),
      fc.constantFrom(..."{}[],:\"'\\0-e.nu\u0000 ".split("")),
      fc.nat(3),
      (at, with_, cut) => {
        try {
          parseJson(text.slice(0, at) + with_ + text.slice(at + cut));
        } catch (error) {
          expect(error).toBeInstanceOf(FrameError);
        }
      },
    ),
  );
});

test("writing: beans sorted without nulls, maps in their order, keys as they are", () => {
  expect(writeJson({ b: 1, a: [true, null, 'é"\n'], c: undefined, d: null, e: 12345678901234567890n })).toBe(
    `{"a":[true,null,"é\\"\\n"],"b":1,"e":12345678901234567890}`,
  );
  expect(writeJson(new Map<number | string | { x: number }, string>([[2, "b"], [0, "a"], ["z", "c"], [{ x: 1 }, "d"]])))
    .toBe(
      `{2:"b",0:"a","z":"c",{"x":1}:"d"}`,
    );
});
