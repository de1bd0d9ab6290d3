import { describe, expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { readFrames } from "../protocol/vectors.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import { BINARY_KIND, binaryHeader, concat, feedAll, frameBytes, JSON_KIND, utf8 } from "../support/frames.ts";
import { HeaderCore, MISSES_AFTER_REST, MISSES_AT_START, REST, ScannerCore, stranger } from "./header_core.ts";
import { type AnswerHeader, headerOf, HOT_CODES, withOtherValues } from "./random_answers.ts";
import { freshSeed, Random } from "./random.ts";
import { mutatedBytes, mutatedText, randomExtFields, randomJsonHeader, randomText } from "./random_headers.ts";

const SEND =
  '{"code":0,"extFields":{"queueId":"3","TRACE_ON":"true","MSG_REGION":"DefaultRegion","msgId":"0A00000100002A9F0000000000002710",' +
  '"queueOffset":"1234567"},"flag":1,"language":"JAVA","opaque":42,"serializeTypeCurrentRPC":"JSON","version":513}';
const PULL =
  '{"code":0,"extFields":{"suggestWhichBrokerId":"0","nextBeginOffset":"8","maxOffset":"17","minOffset":"0"},"flag":1,' +
  '"language":"JAVA","opaque":227,"remark":"FOUND","serializeTypeCurrentRPC":"JSON","version":513}';
const SEND32 = binaryHeader({
  opaque: 42,
  extFields: { msgId: "0A00000100002A9F0000000000002710", queueId: "3", queueOffset: "1234567", TRACE_ON: "true" },
});
/** Bodies that would go on where a header was cut. */
const BODIES = ["", "7", "999999999999999999", '"', "}", '":1}', "0".repeat(40)].map(utf8);

/** A core that learns, next to one that cannot; both have to say the same of every frame. */
class Pair {
  readonly learning = new HeaderCore();
  readonly #scanning = new ScannerCore();
  /** Whether the last header was read whole. */
  isRead = false;

  /** Returns whether it was a hit. */
  read(header: string | Uint8Array, kind = JSON_KIND, body?: Uint8Array): boolean {
    const frame = frameBytes(header, body, kind);
    const learned = this.learning.readFrame(frame), scanned = this.#scanning.readFrame(frame);
    if (learned.completion.some((byte, index) => byte !== scanned.completion[index])) {
      expect(learned.completion, new TextDecoder().decode(frame)).toEqual(scanned.completion);
    }
    this.isRead = learned.fields !== 0;
    return learned.isHit;
  }

  answer({ bytes, kind }: AnswerHeader): boolean {
    return this.read(bytes, kind);
  }
}

describe("learned shapes", () => {
  test("recorded answers of all brokers in both header kinds: the second one of a kind is a hit, with any other values", () => {
    const seed = freshSeed();
    console.log(`recorded answers seed ${seed}`);
    const random = new Random(seed);
    const answers = readFrames().filter(({ type, requestCode, code }) =>
      type === "response" && code === 0 && HOT_CODES.includes(requestCode ?? -1)
    );
    const kinds = new Set(answers.map(({ broker, header, requestCode }) => `${broker} ${header} ${requestCode}`));
    expect(answers.length).toBeGreaterThan(500);
    expect(kinds.size).toBeGreaterThan(30);
    const pair = new Pair();
    for (const { id, bytes } of answers) {
      const header = headerOf(bytes);
      // Shapes of other kinds may have pushed this one out, or the scanner works alone.
      for (let reads = 0; reads <= REST + MISSES_AFTER_REST && !pair.answer(header); reads++);
      expect(pair.answer(header), id).toBe(true);
      for (let others = 0; others < 8; others++) {
        expect(pair.answer(withOtherValues(random, header)), id).toBe(true);
      }
    }
  });

  test("random headers, learned, varied and damaged: a hit says bit for bit what the scanner says", () => {
    const seed = freshSeed();
    console.log(`shapes seed ${seed}`);
    const random = new Random(seed), pair = new Pair();
    let hits = 0, damaged = 0, damagedHits = 0;
    for (let round = 0; round < 1_500; round++) {
      const isBinary = random.once(3), kind = isBinary ? BINARY_KIND : JSON_KIND;
      const header = {
        kind,
        bytes: isBinary
          ? binaryHeader({
            code: random.below(20),
            opaque: random.bits(),
            remark: random.once(3) ? randomText(random) : "",
            extFields: randomExtFields(random),
          })
          : utf8(randomJsonHeader(random)),
      };
      pair.read(header.bytes, kind);
      if (!pair.isRead) continue;
      for (let repeats = 6 + random.below(12); repeats > 0; repeats--) {
        if (pair.read(header.bytes, kind, random.pick(BODIES))) hits++;
      }
      for (let mutations = random.below(3); mutations > 0; mutations--) {
        const bytes = isBinary || random.once(2)
          ? mutatedBytes(random, header.bytes)
          : utf8(mutatedText(random, new TextDecoder().decode(header.bytes)));
        damaged++;
        if (pair.read(bytes, kind, random.pick(BODIES))) damagedHits++;
      }
    }
    expect(hits).toBeGreaterThan(2_000);
    expect(damaged).toBeGreaterThan(1_000);
    expect(damagedHits).toBeGreaterThan(20);
  });

  test.each([
    ["a send", SEND, JSON_KIND],
    ["a pull", PULL, JSON_KIND],
    ["a ROCKETMQ send", SEND32, BINARY_KIND],
  ])("%s that is damaged in any byte is what the scanner finds in it", (_, header, kind) => {
    const pair = new Pair(), whole = typeof header === "string" ? utf8(header) : header;
    for (let at = 0; at < whole.length; at++) {
      for (const byte of [0, 31, 34, 44, 45, 47, 48, 57, 58, 92, 125, 127, 200, 255]) {
        // Enough hits to make up for the misses, so that it is the shape that has to refuse.
        for (let hits = 0; hits < 6; hits++) pair.read(whole, kind);
        expect(pair.read(whole, kind)).toBe(true);
        const damaged = whole.slice();
        damaged[at] = byte;
        pair.read(damaged, kind);
      }
    }
  });

  test("a ROCKETMQ header whose values keep their lengths: any digits are read, and nothing else is", () => {
    const seed = freshSeed();
    console.log(`steady shapes seed ${seed}`);
    const random = new Random(seed), opaqueAt = 5;
    for (let length = 1; length <= 15; length++) {
      const pair = new Pair(),
        values = { queueId: "3", queueOffset: "7".repeat(length), brokerName: "b".repeat(length) };
      const header = binaryHeader({ extFields: values });
      const digitsAt = header.lastIndexOf(0x37) - length + 1,
        read = (bytes: Uint8Array) => pair.read(bytes, BINARY_KIND, utf8("7"));
      // So many of one length that its bytes are known as well as its steps.
      for (let reads = 0; reads < 40; reads++) {
        const other = header.slice();
        new DataView(other.buffer).setInt32(opaqueAt, random.bits());
        for (let at = 0; at < length; at++) other[digitsAt + at] = 48 + random.below(10);
        expect(read(other)).toBe(reads > 0);
      }
      for (let at = 0; at < length; at++) {
        for (const byte of [0, 1, 9, 10, 31, 32, 45, 47, 58, 63, 64, 127, 0xb0, 0xb5, 0xfa, 255]) {
          const damaged = header.slice();
          damaged[digitsAt + at] = byte;
          expect(read(damaged), `byte ${byte}, digit ${at} of ${length}`).toBe(false);
          for (let hits = 0; hits < 6; hits++) expect(read(header)).toBe(true);
        }
      }
    }
  });

  test("a JSON header whose values keep their lengths: any digits and plain text are read, and nothing else is", () => {
    const seed = freshSeed();
    console.log(`steady JSON shapes seed ${seed}`);
    const random = new Random(seed);
    for (let length = 1; length <= 15; length++) {
      const pair = new Pair(), opaqueLength = Math.min(length, 9);
      const digits = (count: number): string => Array.from({ length: count }, () => random.below(10)).join("");
      const text = `${"q".repeat(length)}9`;
      const header = (a: string, b: string, id: string, other: string, opaque: string): string =>
        `{"code":0,"extFields":{"queueId":"${b}","msgId":"${id}","transactionId":"${other}","queueOffset":"${a}"},` +
        `"opaque":${opaque}}`;
      const right = [digits(length), digits(2), text, text, "3".repeat(opaqueLength)] as const;
      for (let reads = 0; reads < 40; reads++) {
        const again = header(
          digits(length),
          digits(2),
          text,
          text,
          `${1 + random.below(9)}${digits(opaqueLength - 1)}`,
        );
        expect(pair.read(again, JSON_KIND, utf8("7")), again).toBe(reads > 0);
      }
      const repeat = (): void => {
        for (let hits = 0; hits < 6; hits++) expect(pair.read(header(...right), JSON_KIND)).toBe(true);
      };
      for (let value = 0; value < 5; value++) {
        for (let at = 0; at < right[value]!.length; at++) {
          for (const byte of [0, 1, 9, 10, 31, 34, 45, 47, 58, 92]) {
            const damaged = [...right] as [string, string, string, string, string];
            damaged[value] = `${damaged[value]!.slice(0, at)}${String.fromCharCode(byte)}${
              damaged[value]!.slice(at + 1)
            }`;
            const isText = (value === 2 || value === 3) && (byte === 45 || byte === 47 || byte === 58);
            expect(pair.read(header(...damaged), JSON_KIND), `byte ${byte} at ${at} of value ${value}`).toBe(isText);
            repeat();
          }
        }
      }
      const [a, b, id, other] = right;
      if (opaqueLength > 1) expect(pair.read(header(a, b, id, other, `0${"3".repeat(opaqueLength - 1)}`))).toBe(false);
      expect(pair.read(header(a, b, id, other, "3".repeat(opaqueLength)))).toBe(true);
    }
  });

  test("an opaque of more than 31 bits and a broker id of more than 16, as long as before, are left to the scanner", () => {
    const pair = new Pair();
    const header = (opaque: string, brokerId: string): string =>
      `{"code":0,"extFields":{"suggestWhichBrokerId":"${brokerId}","minOffset":"1"},"opaque":${opaque}}`;
    for (let reads = 0; reads < 40; reads++) expect(pair.read(header("2147483647", "65535"))).toBe(reads > 0);
    for (
      const [opaque, brokerId] of [["2147483648", "65535"], ["9999999999", "65535"], ["2147483647", "65536"]] as const
    ) {
      expect(pair.read(header(opaque, brokerId)), `${opaque} ${brokerId}`).toBe(false);
      for (let hits = 0; hits < 6; hits++) expect(pair.read(header("2147483647", "65535"))).toBe(true);
    }
    const headerBytes = (brokerId: string): Uint8Array =>
      binaryHeader({ extFields: { suggestWhichBrokerId: brokerId, maxOffset: "8" } });
    for (let reads = 0; reads < 40; reads++) expect(pair.read(headerBytes("65535"), BINARY_KIND)).toBe(reads > 0);
    for (const brokerId of ["65536", "99999"]) {
      expect(pair.read(headerBytes(brokerId), BINARY_KIND), brokerId).toBe(false);
      for (let hits = 0; hits < 6; hits++) expect(pair.read(headerBytes("65535"), BINARY_KIND)).toBe(true);
    }
  });

  test("values that keep another length than the one they were learned with", () => {
    for (const kind of [JSON_KIND, BINARY_KIND]) {
      const pair = new Pair();
      for (const length of [12, 7, 1, 13, 8]) {
        const extFields = {
          msgId: "A0".repeat(length),
          queueOffset: "7".repeat(length),
          queueId: "1".repeat(length),
          maxOffset: "8".repeat(length),
          transactionId: "b1".repeat(length),
        };
        const header = kind === BINARY_KIND
          ? binaryHeader({ extFields })
          : JSON.stringify({ code: 0, extFields, opaque: Number("1".repeat(Math.min(length, 9))) });
        for (let reads = 0; reads < 100; reads++) pair.read(header, kind, utf8("7"));
        expect(pair.read(header, kind, utf8("7"))).toBe(true);
      }
    }
  });

  test("fields below zero and fields that are missing keep what was learned", () => {
    for (const kind of [JSON_KIND, BINARY_KIND]) {
      const pair = new Pair();
      const cases: Record<string, string>[] = [
        { queueOffset: "-1", queueId: "3" },
        { queueOffset: "12", maxOffset: "-5" },
        { minOffset: "-4", nextBeginOffset: "77", suggestWhichBrokerId: "1" },
        { suggestWhichBrokerId: "7" },
        { msgId: "A1" },
        { maxOffset: "9" },
        { transactionId: "b2" },
      ];
      for (const extFields of cases) {
        const header = kind === BINARY_KIND ? binaryHeader({ extFields }) : JSON.stringify({ extFields, opaque: 5 });
        for (let reads = 0; reads < 40; reads++) expect(pair.read(header, kind)).toBe(reads > 0);
      }
    }
  });

  test.each([
    ["a send", SEND, JSON_KIND],
    ["a pull", PULL, JSON_KIND],
    ["a ROCKETMQ send", SEND32, BINARY_KIND],
  ])("%s that is cut anywhere, or goes on, is no hit, whatever its body is", (_, header, kind) => {
    const pair = new Pair(), whole = typeof header === "string" ? utf8(header) : header;
    for (let cut = 0; cut < whole.length; cut++) {
      for (const body of [...BODIES, whole.subarray(cut)]) {
        for (let hits = 0; hits < 6; hits++) pair.read(whole, kind);
        expect(pair.read(whole, kind, body)).toBe(true);
        expect(pair.read(whole.subarray(0, cut), kind, body), `${cut}`).toBe(false);
      }
    }
    for (const more of [" ", "\n", "}", "0", "\0"]) {
      for (let hits = 0; hits < 6; hits++) pair.read(whole, kind);
      expect(pair.read(concat([whole, utf8(more)]), kind)).toBe(false);
    }
  });

  test.each([
    ["an escape in an id", SEND, '"msgId":"0A', '"msgId":"\\u0041'],
    ["a control character in an id", SEND, '"msgId":"0A', '"msgId":"\u0001A'],
    ["an offset of 16 digits", SEND, '"1234567"', '"1234567890123456"'],
    ["an offset of 20 digits", SEND, '"1234567"', '"12345678901234567890"'],
    ["an offset without digits", SEND, '"1234567"', '""'],
    ["an offset with a letter", SEND, '"1234567"', '"12345x7"'],
    ["an offset below zero", SEND, '"1234567"', '"-1"'],
    ["an opaque below zero", SEND, '"opaque":42', '"opaque":-42'],
    ["an opaque with a leading zero", SEND, '"opaque":42', '"opaque":042'],
    ["an opaque of more than 31 bits", SEND, '"opaque":42', '"opaque":2147483648'],
    ["an opaque that is a fraction", SEND, '"opaque":42', '"opaque":4.2'],
    ["another code", SEND, '"code":0', '"code":1'],
    ["another flag", SEND, '"flag":1', '"flag":3'],
    ["another name", SEND, '"queueId"', '"queueIe"'],
    ["a name twice", SEND, '"TRACE_ON":"true"', '"queueId":"4"'],
    ["a space", SEND, '"flag":1', '"flag": 1'],
    ["a member more", SEND, '"flag":1', '"flag":1,"x":1'],
    ["a remark more", SEND, '"flag":1', '"flag":1,"remark":"no"'],
    ["a broker id of 17 bits", PULL, '"suggestWhichBrokerId":"0"', '"suggestWhichBrokerId":"65536"'],
    ["no remark", PULL, '"remark":"FOUND"', '"remark":""'],
    ["a remark that is null", PULL, '"remark":"FOUND"', '"remark":null'],
  ])("%s is left to the scanner", (_, header, from, to) => {
    const pair = new Pair();
    expect(header).toContain(from);
    for (let reads = 0; reads < 12; reads++) expect(pair.read(header)).toBe(reads > 0);
    expect(pair.read(header.replace(from, to))).toBe(false);
  });

  test.each([
    ["an offset of 15 digits", SEND, '"1234567"', '"999999999999999"'],
    ["leading zeroes in a text", SEND, '"1234567"', '"007"'],
    ["the largest opaque", SEND, '"opaque":42', '"opaque":2147483647'],
    ["opaque 0", SEND, '"opaque":42', '"opaque":0'],
    ["an empty id", SEND, '"0A00000100002A9F0000000000002710"', '""'],
    ["a long id", SEND, '"0A00000100002A9F0000000000002710"', `"${"m".repeat(65_535)}"`],
    ["an id that is not ASCII", SEND, '"0A00000100002A9F0000000000002710"', '"é中"'],
    ["the largest broker id", PULL, '"suggestWhichBrokerId":"0"', '"suggestWhichBrokerId":"65535"'],
  ])("%s is a hit", (_, header, from, to) => {
    const pair = new Pair(), other = header.replace(from, to);
    expect(pair.read(header)).toBe(false);
    expect(other).not.toBe(header);
    for (const again of [other, header, other, header]) expect(pair.read(again)).toBe(true);
  });

  test("text with digits in it may be any other text, but not none", () => {
    const pair = new Pair();
    const remark = (text: string) => `{"code":2,"opaque":1,"remark":${JSON.stringify(text)},"extFields":{"x":"id 1"}}`;
    expect(pair.read(remark("[PCBUSY_CLEAN_QUEUE] period in queue: 206ms"))).toBe(false);
    expect(pair.read(remark("1"))).toBe(true);
    expect(pair.read(remark("TIMEOUT"))).toBe(true);
    expect(pair.read(remark(""))).toBe(false);
    const binary = (x: string) => binaryHeader({ code: 2, remark: "busy: 206ms", extFields: { x } });
    expect(pair.read(binary("id 1"), BINARY_KIND)).toBe(false);
    expect(pair.read(binary("none"), BINARY_KIND)).toBe(true);
    expect(pair.read(binary(""), BINARY_KIND)).toBe(false);
  });

  test("a number below zero is part of the shape", () => {
    const pair = new Pair();
    const header = (offset: string, opaque: number) => `{"opaque":${opaque},"extFields":{"offset":"${offset}"}}`;
    for (const isHit of [false, true]) expect(pair.read(header("-1", -7))).toBe(isHit);
    expect(pair.read(header("-2", -7))).toBe(false);
    expect(pair.read(header("-1", 7))).toBe(false);
    const binary = (offset: string, opaque: number) => binaryHeader({ opaque, extFields: { offset } });
    for (const isHit of [false, true]) expect(pair.read(binary("-1", 1), BINARY_KIND)).toBe(isHit);
    expect(pair.read(binary("-1", -5), BINARY_KIND)).toBe(true);
    expect(pair.read(binary("-2", 1), BINARY_KIND)).toBe(false);
  });

  test("a shape of one header kind is none of the other, whatever the bytes are", () => {
    const pair = new Pair();
    for (const isHit of [false, true]) expect(pair.read(SEND)).toBe(isHit);
    expect(pair.read(SEND, BINARY_KIND)).toBe(false);
    for (const isHit of [false, true]) expect(pair.read(SEND32, BINARY_KIND)).toBe(isHit);
    expect(pair.read(SEND32, JSON_KIND)).toBe(false);
    // Nothing but a literal.
    for (const isHit of [false, true]) expect(pair.read('{"code":0}')).toBe(isHit);
    expect(pair.read('{"code":0}', BINARY_KIND)).toBe(false);
  });

  test("eight shapes are kept; a ninth takes the place of the one that was learned first", () => {
    const pair = new Pair();
    const header = (kind: number) => `{"kind${kind}":null,"opaque":${kind}}`;
    for (let kind = 0; kind < 8; kind++) expect(pair.read(header(kind))).toBe(false);
    for (let rounds = 0; rounds < 10; rounds++) {
      for (let kind = 0; kind < 8; kind++) expect(pair.read(header(kind))).toBe(true);
    }
    expect(pair.read(header(8))).toBe(false);
    for (const kind of [8, 7, 6, 5, 4, 3, 2, 1]) expect(pair.read(header(kind))).toBe(true);
    expect(pair.read(header(0))).toBe(false);
  });

  test("a header that is too long to be learned, or has too many values, leaves no shape behind", () => {
    const pair = new Pair();
    const header = (kind: number) => `{"kind${kind}":null,"opaque":${kind}}`;
    const long = `{"kind0":null,"opaque":1,"x":"${"x".repeat(2_000)}"}`;
    const withValues = (count: number) =>
      `{"opaque":2,"extFields":{${Array.from({ length: count }, (_, index) => `"x${index}":"v1"`).join()}}}`;
    // 48 with the opaque, then one more.
    const most = new Pair(), many = withValues(48);
    for (const isHit of [false, true]) expect(most.read(withValues(47))).toBe(isHit);
    for (let times = 0; times < 2; times++) expect(most.read(many)).toBe(false);
    for (let kind = 0; kind < 8; kind++) pair.read(header(kind));
    for (let rounds = 0; rounds < 6; rounds++) for (let kind = 0; kind < 8; kind++) pair.read(header(kind));
    // The place of kind 0 is next: its steps are overwritten.
    for (let times = 0; times < 2; times++) {
      expect(pair.read(long)).toBe(false);
      expect(pair.read(many)).toBe(false);
    }
    for (let kind = 1; kind < 8; kind++) expect(pair.read(header(kind))).toBe(true);
    for (const isHit of [false, true]) expect(pair.read(header(0))).toBe(isHit);
  });

  test("after a run of misses the scanner works alone for 512 headers, then shapes are tried again", () => {
    const core = new HeaderCore();
    for (let misses = 0; misses < MISSES_AT_START; misses++) core.pass([stranger()]);
    for (let rounds = 0; rounds < 3; rounds++) {
      for (let alone = 0; alone < REST; alone++) expect(core.read(SEND).isHit).toBe(false);
      // It was learned from the last of them. A hit or two do not make up for a miss.
      for (let hits = 0; hits < 2; hits++) expect(core.read(SEND).isHit).toBe(true);
      for (let misses = 0; misses < MISSES_AFTER_REST; misses++) core.pass([stranger()]);
    }
  });

  test("a peer that is strange now and then does not lose its shapes", () => {
    const core = new HeaderCore();
    let misses = 0;
    for (let rounds = 0; rounds < 400; rounds++) {
      core.pass([stranger()]);
      for (let reads = 0; reads < 6; reads++) if (!core.read(SEND).isHit) misses++;
    }
    // Every eighth stranger takes its place.
    expect(misses).toBe(400 / 8);
  });

  test("a stream of learned shapes, split at every byte, yields the same frames", () => {
    const wire = concat(
      [SEND, PULL, SEND, PULL].map((header, index) =>
        frameBytes(header.replace(/"opaque":\d+/, `"opaque":${index}`), BODIES[index])
      ).concat(frameBytes(SEND32, utf8("12"), BINARY_KIND)),
    );
    const core = openCore(4), connection = core.openConnection();
    const scanned = feedAll(core, connection, wire), hits = core.shapeHits;
    expect(hits).toBe(2);
    for (let cut = 1; cut < wire.length; cut++) {
      const frames = [wire.subarray(0, cut), wire.subarray(cut)].flatMap((part) => feedAll(core, connection, part));
      expect(frames).toEqual(scanned);
    }
    expect(core.shapeHits - hits).toBe(5 * (wire.length - 1));
  });

  test("a header that ends where the memory ends, cut anywhere, does not trap", () => {
    // The last inbox that there is room for.
    const core = new TinyDriver({ pages: 16 }), handles: number[] = [], ptrs: number[] = [];
    for (;;) {
      const { result, handle, ptr } = core.run({ opcode: abi.OP_CONNECTION_OPEN });
      if (result < 0) break;
      handles.push(handle);
      ptrs.push(ptr);
    }
    const last = ptrs.indexOf(Math.max(...ptrs)), handle = handles[last]!, capacity = abi.INBOX_BYTES - abi.SLACK;
    expect(ptrs[last]! + abi.INBOX_BYTES).toBe(core.bytes.length);
    core.bytes.fill(0x37, core.bytes.length - abi.SLACK);
    const feed = (bytes: Uint8Array) => {
      const room = core.run({ opcode: abi.OP_ROOM, handle });
      core.bytes.set(bytes, room.ptr);
      expect(core.run({ opcode: abi.OP_FEED, handle, len: bytes.length }).result).toBe(abi.FEED_DONE);
      core.setIndex(abi.CQ_TAIL, core.index(abi.CQ_HEAD));
    };
    for (const [header, kind] of [[utf8(SEND), JSON_KIND], [utf8(PULL), JSON_KIND], [SEND32, BINARY_KIND]] as const) {
      for (let cut = 1; cut <= header.length; cut++) {
        for (let times = 0; times < 6; times++) feed(frameBytes(header, undefined, kind));
        const end = frameBytes(header.subarray(0, cut), undefined, kind);
        const before = frameBytes(header, new Uint8Array(capacity - 8 - header.length - end.length), kind);
        feed(concat([before, end]));
      }
    }
    expect(core.index(abi.SHAPE_HITS)).toBeGreaterThan(2_000);
  });
});
