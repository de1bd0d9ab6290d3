import { describe, expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { openCore } from "../support/core.ts";
import { BINARY_KIND, binaryHeader, concat, feedAll, frameBytes, JSON_KIND, utf8 } from "../support/frames.ts";
import { type HotFields, nothingRead, readBinaryModel, readJsonModel } from "./header_model.ts";
import { freshSeed, Random } from "./random.ts";
import { mutatedBytes, mutatedText, randomExtFields, randomJsonHeader, randomText } from "./random_headers.ts";

/** Bodies that would go on where a header was cut. */
const BODIES = ["", "0", "999", '"', "}", '":1}', "null}", ',"opaque":5}'].map(utf8);

/** Reads headers through a core, many to a feed. */
class HeaderReader {
  readonly #core = openCore(4);
  readonly #connection = this.#core.openConnection();

  read(header: string | Uint8Array, kind = JSON_KIND, body?: Uint8Array): HotFields {
    const [frame] = feedAll(this.#core, this.#connection, frameBytes(header, body, kind));
    const { opaque, code, flag, fields, a, b, c, brokerId, text } = frame!;
    return { opaque, code, flag, fields, a, b, c, brokerId, text };
  }
}

const reader = new HeaderReader();
const json = (header: string): HotFields => reader.read(header);

describe("JSON headers", () => {
  test("the answers of a broker are read whole", () => {
    const send =
      '{"code":0,"extFields":{"queueId":"3","TRACE_ON":"true","MSG_REGION":"DefaultRegion","msgId":"0A000001","queueOffset":"42"},' +
      '"flag":1,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":513}';
    const { FIELD_READ, FIELD_A, FIELD_B, FIELD_C, FIELD_TEXT, FIELD_BROKER_ID, FIELD_REMARK, FIELD_OTHER } = abi;
    expect(json(send)).toEqual({
      ...nothingRead(),
      fields: FIELD_READ | FIELD_A | FIELD_B | FIELD_TEXT | FIELD_OTHER,
      opaque: 7,
      flag: 1,
      a: 42,
      b: 3,
      text: "0A000001",
    });
    const pull =
      '{"code":19,"extFields":{"suggestWhichBrokerId":"1","maxOffset":"999999999999999","nextBeginOffset":"-1","minOffset":"0"},' +
      '"flag":1,"opaque":-2147483648,"remark":"no \\"new\\" message"}';
    expect(json(pull)).toEqual({
      ...nothingRead(),
      fields: FIELD_READ | FIELD_A | FIELD_B | FIELD_C | FIELD_BROKER_ID | FIELD_REMARK,
      opaque: -(2 ** 31),
      code: 19,
      flag: 1,
      a: -1,
      c: 999999999999999,
      brokerId: 1,
    });
    expect(json('{"extFields":{"offset":"5"}}')).toEqual({ ...nothingRead(), fields: FIELD_READ | FIELD_A, a: 5 });
  });

  test.each([
    ["nothing but braces", "{}"],
    ["spaces of all kinds around everything", ' { "code" :\t0 ,\r\n"extFields" : { "offset" : "1" } , "x" : null } \n'],
    ["nulls for what may be missing", '{"remark":null,"extFields":null}'],
    ["unknown names with scalars", '{"a":true,"b":false,"c":null,"d":-17,"e":"\\u00e9\\n"}'],
    ["an escape in a value nobody needs", '{"extFields":{"transactionId":"a\\"b"}}'],
    ["an empty remark", '{"remark":""}'],
    ["a name of more than 16 bytes that is unknown", '{"extFields":{"suggestWhichBrokerIdOfAnother":"x"}}'],
    [
      "names that begin like known ones",
      '{"codes":1,"flags":2,"opaques":3,"remarks":"x","extFieldss":null,"languages":"x","versions":1,' +
      '"serializeTypeCurrentRPCs":"x","extFields":{"queueIds":"x","queueOffsets":"x","msgIds":"x","nextBeginOffsets":"x",' +
      '"minOffsets":"x","maxOffsets":"x","offsets":"x","TRACE_ONS":"x","MSG_REGIONS":"x","transactionIds":"x",' +
      '"suggestWhichBrokerIds":"x"}}',
    ],
    ["the longest msgId", `{"extFields":{"msgId":"${"m".repeat(65535)}"}}`],
    ["leading zeroes in a text", '{"extFields":{"queueId":"007"}}'],
  ])("%s is read", (_, header) => {
    expect(json(header)).toEqual(readJsonModel(header));
    expect(json(header).fields & abi.FIELD_READ).toBe(1);
  });

  test.each([
    ["nothing", ""],
    ["space", "  "],
    ["a brace", "{"],
    ["an array", "[]"],
    ["a text", '"x"'],
    ["a comma too much", '{"code":0,}'],
    ["a comma too much among the fields", '{"extFields":{"a":"b",}}'],
    ["a comma missing", '{"code":0 "flag":1}'],
    ["a colon missing", '{"code"0}'],
    ["something behind it", '{"code":0}}'],
    ["a zero behind it", '{"code":0}\0'],
    ["a name twice", '{"opaque":1,"opaque":1}'],
    ["a field twice", '{"extFields":{"queueId":"1","queueId":"1"}}'],
    ["two fields for one place", '{"extFields":{"queueId":"1","minOffset":"1"}}'],
    ["fields twice", '{"extFields":{},"extFields":{}}'],
    ["an escape in a name", '{"\\u0063ode":1}'],
    ["an escape in a field's name", '{"extFields":{"queue\\u0049d":"1"}}'],
    ["an escape in a value that is needed", '{"extFields":{"msgId":"\\u0041"}}'],
    ["an escape JSON does not know", '{"remark":"\\x"}'],
    ["an escape cut short", '{"remark":"\\u00'],
    ["an escape that is not hex", '{"remark":"\\u00g0"}'],
    ["a control character in a text", '{"remark":"a\u0001"}'],
    ["a line feed in a name", '{"a\n":1}'],
    ["nested values", '{"a":{"b":1}}'],
    ["a list", '{"a":[1]}'],
    ["a nested value among the fields", '{"extFields":{"a":{}}}'],
    ["a number among the fields", '{"extFields":{"a":1}}'],
    ["a number that should be a text", '{"extFields":{"queueId":1}}'],
    ["a text that should be a number", '{"code":"0"}'],
    ["null for a code", '{"code":null}'],
    ["a fraction", '{"code":0.5}'],
    ["an exponent", '{"version":1e3}'],
    ["a leading zero", '{"code":01}'],
    ["a plus", '{"code":+1}'],
    ["a lone minus", '{"code":-}'],
    ["a code of more than 32 bits", '{"code":2147483648}'],
    ["an opaque of less than 32 bits", '{"opaque":-2147483649}'],
    ["a field of 16 digits", '{"extFields":{"queueOffset":"9007199254740993"}}'],
    ["a field of 19 digits", '{"extFields":{"queueOffset":"9223372036854775807"}}'],
    ["an empty number", '{"extFields":{"queueOffset":""}}'],
    ["a minus for a number", '{"extFields":{"queueOffset":"-"}}'],
    ["a number with a space", '{"extFields":{"queueOffset":" 1"}}'],
    ["a number with a slash", '{"extFields":{"queueOffset":"1/2"}}'],
    ["a number with a colon", '{"extFields":{"queueOffset":"1:2"}}'],
    ["a broker id of more than 16 bits", '{"extFields":{"suggestWhichBrokerId":"65536"}}'],
    ["a broker id below zero", '{"extFields":{"suggestWhichBrokerId":"-1"}}'],
    ["a msgId that is too long", `{"extFields":{"msgId":"${"m".repeat(65536)}"}}`],
    ["single quotes, as fastjson allows", "{'code':0}"],
    ["bare names, as fastjson allows", "{code:0}"],
    ["half a null", '{"remark":nul'],
    ["a false that is none", '{"a":fals3}'],
  ])("%s is left to TypeScript", (_, header) => {
    for (const body of BODIES) expect(reader.read(header, JSON_KIND, body)).toEqual(nothingRead());
  });

  test("a header cut anywhere is left to TypeScript, whatever its body is", () => {
    const whole =
      '{"code":11,"remark":"\\u0041 long remark","extFields":{"queueId":"12","msgId":"0A0000010000"},"opaque":-12}';
    for (let cut = 0; cut < whole.length; cut++) {
      for (const body of [...BODIES, utf8(whole.slice(cut))]) {
        expect(reader.read(whole.slice(0, cut), JSON_KIND, body)).toEqual(nothingRead());
      }
    }
  });

  test("a number written as -0 is 0", () => {
    const extFields = { nextBeginOffset: "-0", minOffset: "-0", maxOffset: "-0" };
    const hot = reader.read(JSON.stringify({ code: 0, flag: 1, opaque: 9, extFields }), JSON_KIND);
    expect(hot.fields).toBe(abi.FIELD_READ | abi.FIELD_A | abi.FIELD_B | abi.FIELD_C);
    for (const value of [hot.a, hot.b, hot.c]) expect(value).toBe(0);
  });

  test("random headers, whole and damaged: what is read is what JSON.parse reads", () => {
    const seed = freshSeed();
    console.log(`JSON headers seed ${seed}`);
    const random = new Random(seed);
    let read = 0, damagedAndRead = 0;
    for (let round = 0; round < 30_000; round++) {
      const whole = randomJsonHeader(random);
      const header = random.once(2) ? whole : mutatedText(random, whole);
      const hot = reader.read(header, JSON_KIND, random.pick(BODIES));
      const model = readJsonModel(header);
      if (hot.fields) expect(hot, header).toEqual(model);
      else expect(hot, header).toEqual(nothingRead());
      if (header === whole && model && isPlain(header)) {
        expect(hot.fields & abi.FIELD_READ, header).toBe(1);
        read++;
      } else if (hot.fields) damagedAndRead++;
    }
    expect(read).toBeGreaterThan(3_000);
    expect(damagedAndRead).toBeGreaterThan(300);
  });

  test("random bytes neither trap nor pass for a header", () => {
    const seed = freshSeed();
    console.log(`JSON garbage seed ${seed}`);
    const random = new Random(seed);
    const alphabet = utf8('{}",:\\[] 019-unlltrefas\0\u0001');
    for (let round = 0; round < 10_000; round++) {
      const bytes = random.bytes(random.below(random.pick([20, 300])));
      for (let i = 0; i < bytes.length; i++) if (!random.once(20)) bytes[i] = random.pick([...alphabet]);
      const hot = reader.read(bytes);
      if (hot.fields) expect(hot).toEqual(readJsonModel(new TextDecoder().decode(bytes)));
    }
  });
});

/** Nothing in it that the scanner may leave to TypeScript although JSON.parse reads it. */
function isPlain(header: string): boolean {
  return !header.includes("nested") && !header.includes('"more') && !/"msgId"[\s:]+"[^"]*\\/.test(header);
}

describe("ROCKETMQ headers", () => {
  const binary = (header: Uint8Array, body?: Uint8Array): HotFields => reader.read(header, BINARY_KIND, body);

  test("the same fields mean the same as in JSON, in either header kind", () => {
    const seed = freshSeed();
    console.log(`both kinds seed ${seed}`);
    const random = new Random(seed);
    for (let round = 0; round < 5_000; round++) {
      const extFields = Object.fromEntries(
        Object.entries(randomExtFields(random)).filter(([, value]) => value !== "" && !value.includes("\\")),
      );
      const header = {
        code: random.below(65536) - 32768,
        opaque: random.bits() | 0,
        flag: random.bits() | 0,
        remark: randomText(random),
        extFields,
      };
      const hot = binary(binaryHeader(header), random.pick(BODIES));
      if (!isPlain(JSON.stringify(header))) continue;
      expect(hot).toEqual(json(JSON.stringify(header)));
    }
  });

  test("an empty value or remark is none", () => {
    const header = binaryHeader({ opaque: 1, extFields: { queueId: "", msgId: "" } });
    expect(binary(header)).toEqual({ ...nothingRead(), opaque: 1, flag: 1, fields: abi.FIELD_READ | abi.FIELD_OTHER });
  });

  test("a header cut anywhere, or with more behind it, is left to TypeScript", () => {
    const whole = binaryHeader({ code: 1, opaque: 2, remark: "remark", extFields: { queueId: "1", extra: "x" } });
    expect(binary(whole).fields & abi.FIELD_READ).toBe(1);
    for (let cut = 0; cut < whole.length; cut++) expect(binary(whole.subarray(0, cut))).toEqual(nothingRead());
    expect(binary(concat([whole, Uint8Array.of(0)]))).toEqual(nothingRead());
  });

  test.each(
    [
      ["a negative remark length", 13, [0xff, 0xff, 0xff, 0xff]],
      ["a remark length of 2^31 - 1", 13, [0x7f, 0xff, 0xff, 0xff]],
      ["a remark longer than the header", 13, [0, 0, 0, 40]],
      ["a negative length of the fields", 17, [0xff, 0xff, 0xff, 0xff]],
      ["more fields than there are", 17, [0, 0, 0, 16]],
      ["fewer fields than there are", 17, [0, 0, 0, 14]],
      ["an empty name", 21, [0, 0]],
      ["a negative name length", 21, [0x80, 1]],
      ["a name longer than the header", 21, [0, 12]],
      ["a negative value length", 30, [0xff, 0xff, 0xff, 0xff]],
      ["a value longer than the header", 30, [0, 0, 0, 3]],
    ] as const,
  )("%s is left to TypeScript", (_, at, bytes) => {
    const header = binaryHeader({ extFields: { queueId: "12" } });
    expect(binary(header).fields & abi.FIELD_READ).toBe(1);
    header.set(bytes, at);
    expect(binary(header, new Uint8Array(100))).toEqual(nothingRead());
  });

  test("random headers, whole and damaged: what is read is what a field by field reader reads", () => {
    const seed = freshSeed();
    console.log(`ROCKETMQ headers seed ${seed}`);
    const random = new Random(seed);
    for (let round = 0; round < 20_000; round++) {
      const remark = random.once(3) ? randomText(random) : "";
      const whole = binaryHeader({ code: 0, opaque: random.bits(), remark, extFields: randomExtFields(random) });
      const header = random.once(3) ? whole : mutatedBytes(random, whole);
      expect(binary(header, random.pick(BODIES))).toEqual(readBinaryModel(header) ?? nothingRead());
    }
  });
});
