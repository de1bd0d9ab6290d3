import { describe, expect, test } from "vitest";
import type { Core, Step } from "../../client/core.ts";
import { ArgumentError, CoreError } from "../../client/errors.ts";
import * as abi from "../../core-as/abi.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import { concat, feedAll, frameBytes, int16, int32, sameBytes, utf8 } from "../support/frames.ts";
import { type Call, escaped, frameModel } from "./program_model.ts";
import { freshSeed, Random } from "./random.ts";

const NOTHING = new Uint8Array(0);
const NOW = 1_700_000_000_123;

/** A send in JSON: what the hot path does all day. */
const JSON_SEND: readonly Step[] = [
  ['{"code":310,"flag":0,"language":"NODE_JS","version":513,"opaque":', abi.HOLE_OPAQUE],
  [',"extFields":{"a":"group","b":"topic","e":"', abi.HOLE_VALUE],
  ['","g":"', abi.HOLE_BORN_TIMESTAMP],
  ['","i":"UNIQ_KEY\\u0001', abi.HOLE_ARGUMENT],
  ["\\u0002KEYS\\u0001", abi.HOLE_ARGUMENT_JSON],
  ['"}}', abi.HOLE_END],
];

/** The same in the ROCKETMQ kind. */
const BINARY_SEND: readonly Step[] = [
  [concat([int16(310), Uint8Array.of(13), int16(513)]), abi.HOLE_OPAQUE32],
  [concat([int32(0), int32(0)]), abi.HOLE_OPEN],
  [concat([int16(1), utf8("e")]), abi.HOLE_VALUE32],
  [concat([int16(1), utf8("g")]), abi.HOLE_BORN_TIMESTAMP32],
  [concat([int16(1), utf8("i")]), abi.HOLE_OPEN],
  ["UNIQ_KEY\u0001", abi.HOLE_ARGUMENT],
  ["\u0002KEYS\u0001", abi.HOLE_ARGUMENT],
  ["", abi.HOLE_CLOSE],
  ["", abi.HOLE_CLOSE],
  ["", abi.HOLE_END],
];

const CALL: Omit<Call, "steps" | "serializeType"> = {
  opaque: 0x7fff_0001,
  value: 3,
  now: NOW,
  args: ["0A000001000018B4AAC20000", "order 1"],
  body: utf8("body"),
};

/** Encodes into the segment; returns the new frame, or undefined without room. */
function encode(
  core: Core,
  segment: number,
  { steps, serializeType, opaque, value, now, args, body, id }: Call,
): Uint8Array | undefined {
  const program = core.program(steps, serializeType);
  const before = core.segmentLength(segment);
  core.clock(now);
  const fits = core.encode(program, segment, opaque, value, args, body, false, id);
  core.freeProgram(program);
  if (fits) return core.segmentBytes(segment, before).slice();
  expect(core.segmentLength(segment)).toBe(before);
  return undefined;
}

/** A program of one literal. */
function literalProgram(core: TinyDriver, literal: string): number {
  const at = core.control + abi.ARGUMENT_TEXT, bytes = utf8(literal);
  core.view.setUint16(at, abi.HOLE_END, true);
  core.view.setUint16(at + 2, bytes.length, true);
  for (const [i, byte] of bytes.entries()) core.view.setUint8(at + abi.STEP_HEADER + i, byte);
  return core.run({ opcode: abi.OP_PROGRAM_COMPILE, len: abi.STEP_HEADER + bytes.length }).result;
}

const segmentOf = (core: TinyDriver): number => core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;

const opaquesOf = (random: Random, count: number): number[] =>
  Array.from({ length: count }, () => (random.bits() >>> random.below(31)) | 0);

function randomText(random: Random): string {
  const length = random.below(random.pick([4, 18, 40, 300]));
  const characters = random.pick(["abcdefgh", 'a"\\\n\u0001\u0002\u001f\u007f', "aé中😀", "\u0000\u0001"]);
  return Array.from({ length }, () => random.pick([...characters])).join("");
}

function randomInteger(random: Random): number {
  const size = 10 ** random.below(16);
  return Math.floor(random.bits() / 2 ** 32 * size) * random.pick([1, 1, -1]) + 0;
}

/** Steps with every kind of hole, OPEN and CLOSE in balance. */
function randomSteps(random: Random): { steps: Step[]; args: string[] } {
  const steps: Step[] = [], args: string[] = [];
  let depth = 0;
  const literal = () => random.once(3) ? "" : random.once(2) ? randomText(random) : random.bytes(random.below(70));
  for (let count = random.below(20); count > 0; count--) {
    const hole = 1 + random.below(abi.HOLE_UNIQUE_ID);
    if (hole === abi.HOLE_OPEN && depth === 8 || hole === abi.HOLE_CLOSE && depth === 0) continue;
    if (hole === abi.HOLE_OPEN) depth++;
    if (hole === abi.HOLE_CLOSE) depth--;
    if (hole >= abi.HOLE_ARGUMENT && hole <= abi.HOLE_ARGUMENT32) args.push(randomText(random));
    steps.push([literal(), hole]);
  }
  for (; depth > 0; depth--) steps.push([literal(), abi.HOLE_CLOSE]);
  steps.push([literal(), abi.HOLE_END]);
  return { steps, args };
}

describe("header programs", () => {
  test("a send in both header kinds is the frame that the peer reads", () => {
    const core = openCore();
    const segment = core.openSegment(), connection = core.openConnection();
    for (const [steps, serializeType] of [[JSON_SEND, "JSON"], [BINARY_SEND, "ROCKETMQ"]] as const) {
      const call: Call = { ...CALL, steps, serializeType };
      const frame = encode(core, segment, call)!;
      expect(frame).toEqual(frameModel(call));
      const [read] = feedAll(core, connection, frame);
      expect(read).toMatchObject({ opaque: CALL.opaque, code: 310, flag: 0, fields: abi.FIELD_READ | abi.FIELD_OTHER });
      expect(read!.body).toEqual(CALL.body);
    }
    expect(core.segmentBytes(segment).length).toBe(core.segmentLength(segment));
  });

  test("random programs write what a model writes, until a segment is full", () => {
    const seed = freshSeed();
    console.log(`program seed ${seed}`);
    const random = new Random(seed);
    const core = openCore();
    const start = core.bytesInUse;
    const segment = core.openSegment();
    let frames: Uint8Array[] = [], refused = 0;
    for (let round = 0; round < 3_000; round++) {
      const { steps, args } = randomSteps(random);
      const call: Call = {
        steps,
        args,
        serializeType: random.pick(["JSON", "ROCKETMQ"]),
        opaque: random.bits() | 0,
        value: randomInteger(random),
        now: Math.abs(randomInteger(random)),
        body: random.bytes(random.below(random.pick([5, 400]))),
      };
      const frame = encode(core, segment, call);
      const model = frameModel({ id: core.uniqueId, ...call });
      if (frame) {
        expect(frame).toEqual(model);
        frames.push(frame);
        continue;
      }
      refused++;
      expect(model.length).toBeGreaterThan(core.segmentCapacity(segment) - core.segmentLength(segment));
      expect(sameBytes(core.segmentBytes(segment), concat(frames))).toBe(true);
      core.resetSegment(segment);
      expect(core.segmentLength(segment)).toBe(0);
      frames = [];
    }
    expect(refused).toBeGreaterThan(3);
    core.freeSegment(segment);
    expect(core.bytesInUse).toBe(start);
  });

  test.each([
    "",
    '"',
    "\\",
    "\u0000\u0001\u0002\b\t\n\f\r\u001f",
    " \u007f\u0080é中😀",
    `${"x".repeat(15)}"`,
    `${"x".repeat(16)}"${"y".repeat(31)}\\`,
    '"'.repeat(100),
    "\u0001".repeat(1000),
    "KEYS\u0001a b\u0002TAGS\u0001t\u0002",
  ])("an argument %j is escaped so that JSON.parse gives it back", (text) => {
    const core = openCore();
    const steps: Step[] = [['{"k":"', abi.HOLE_ARGUMENT_JSON], ['"}', abi.HOLE_END]];
    const frame = encode(core, core.openSegment(), {
      ...CALL,
      steps,
      serializeType: "JSON",
      args: [text],
      body: NOTHING,
    })!;
    const header = new TextDecoder().decode(frame.subarray(8));
    expect(header).toBe(`{"k":"${escaped(text)}"}`);
    expect(JSON.parse(header)).toEqual({ k: text });
  });

  test("every text of one or two characters below 256, at every place of a 16-byte step", () => {
    const core = openCore();
    const segment = core.openSegment();
    const program = core.program([["", abi.HOLE_ARGUMENT_JSON], ["", abi.HOLE_END]], "JSON");
    for (let first = 0; first < 128; first++) {
      for (const second of ["", '"', "\n", "a"]) {
        const text = "-".repeat(first % 17) + String.fromCharCode(first) + second;
        expect(core.encode(program, segment, 0, 0, [text], undefined)).toBe(true);
        expect(new TextDecoder().decode(core.segmentBytes(segment).subarray(8))).toBe(escaped(text));
        core.resetSegment(segment);
      }
    }
  });

  test("integers of every length and sign, opaques as signed 32-bit numbers", () => {
    const core = openCore();
    const segment = core.openSegment();
    const numbers = [
      0,
      1,
      -1,
      2 ** 31 - 1,
      2 ** 31,
      -(2 ** 31),
      2 ** 32 - 1,
      2 ** 32,
      2 ** 53,
      -(2 ** 53),
      2 ** 53 - 1,
    ];
    for (let power = 1; power < 1e16; power *= 10) numbers.push(power - 1, power, power + 1, -power, 9 * power);
    const steps: Step[] = [
      ["", abi.HOLE_VALUE],
      [":", abi.HOLE_VALUE32],
      [":", abi.HOLE_OPAQUE],
      [":", abi.HOLE_OPAQUE32],
      [":", abi.HOLE_BORN_TIMESTAMP],
      [":", abi.HOLE_BORN_TIMESTAMP32],
      ["", abi.HOLE_END],
    ];
    for (const value of numbers.filter((number) => Math.abs(number) <= 2 ** 53)) {
      const call: Call = {
        steps,
        serializeType: "JSON",
        opaque: value | 0,
        value,
        now: Math.abs(value),
        args: [],
        body: NOTHING,
      };
      expect(encode(core, segment, call)).toEqual(frameModel(call));
      core.resetSegment(segment);
    }
  });

  test("a segment is filled to the brim, and not a byte further", () => {
    const core = openCore();
    const segment = core.openSegment();
    const after = core.allocateBlock(1);
    const guard = core.read(after, 64);
    const capacity = core.segmentCapacity(segment);
    const program = core.program([["", abi.HOLE_ARGUMENT_JSON], ["", abi.HOLE_END]], "JSON");
    for (const [character, size] of [["x", 1], ['"', 2], ["\u0001", 6]] as const) {
      const first = 12;
      const text = character.repeat(Math.floor(Math.min(abi.ARGUMENT_BYTES * size, capacity - 500) / size));
      expect(core.encode(program, segment, 0, 0, [text], undefined)).toBe(true);
      const left = capacity - core.segmentLength(segment);
      const text2 = character.repeat(first);
      const bodyLength = left - 8 - first * size;
      expect(core.encode(program, segment, 0, 0, [text2], new Uint8Array(bodyLength + 1))).toBe(false);
      expect(core.encode(program, segment, 0, 0, [text2 + character], new Uint8Array(bodyLength))).toBe(false);
      expect(core.append(segment, new Uint8Array(left + 1))).toBe(false);
      expect(core.encode(program, segment, 0, 0, [text2], new Uint8Array(bodyLength).fill(7))).toBe(true);
      expect(core.segmentLength(segment)).toBe(capacity);
      expect(core.append(segment, Uint8Array.of(1))).toBe(false);
      expect(core.append(segment, NOTHING)).toBe(true);
      expect(core.encode(program, segment, 0, 0, [""], undefined)).toBe(false);
      core.resetSegment(segment);
    }
    expect(core.read(after, 64)).toEqual(guard);
  });

  test("a body apart is counted in its frame and takes no room", () => {
    const core = openCore();
    const segment = core.openSegment();
    const program = core.program(JSON_SEND, "JSON");
    const body = new Uint8Array(10 * 1024 * 1024);
    expect(core.encode(program, segment, 1, 2, ["u", "k"], body)).toBe(false);
    expect(core.encode(program, segment, 1, 2, ["u", "k"], body, true)).toBe(true);
    const head = core.segmentBytes(segment).slice();
    const call = {
      steps: JSON_SEND,
      serializeType: "JSON",
      opaque: 1,
      value: 2,
      now: 0,
      args: ["u", "k"],
      body,
    } as const;
    expect(sameBytes(concat([head, body]), frameModel(call))).toBe(true);
    expect(head.length).toBe(core.segmentLength(segment));
  });

  test("a body that was detached is refused before a byte is written; an empty one is none", () => {
    const core = openCore(2), segment = core.openSegment();
    const program = core.program([["{}", abi.HOLE_END]], "JSON");
    const body = new Uint8Array(10);
    structuredClone(body, { transfer: [body.buffer] });
    expect(() => core.encode(program, segment, 1, 0, [], body)).toThrow(ArgumentError);
    expect(core.segmentLength(segment)).toBe(0);
    expect(core.encode(program, segment, 1, 0, [], new Uint8Array(0))).toBe(true);
    expect(core.segmentLength(segment)).toBe(10);
  });

  test("a frame of FRAME_MAX bytes is encoded, one of a byte more can never be", () => {
    const core = openCore();
    const segment = core.openSegment();
    const program = core.program([["", abi.HOLE_ARGUMENT_JSON], ["", abi.HOLE_END]], "JSON");
    const most = new Uint8Array(abi.FRAME_MAX - 8 - 20);
    expect(core.encode(program, segment, 0, 0, ['"'.repeat(10)], most, true)).toBe(true);
    const length = core.segmentLength(segment);
    expect(() => core.encode(program, segment, 0, 0, [`${'"'.repeat(10)}x`], most, true)).toThrow(ArgumentError);
    expect(() => core.encode(program, segment, 0, 0, [""], new Uint8Array(abi.FRAME_MAX))).toThrow(ArgumentError);
    expect(core.segmentLength(segment)).toBe(length);
    const frames = feedAll(
      core,
      core.openConnection(),
      concat([core.segmentBytes(segment).slice(), most, frameBytes("{}")]),
    );
    expect(frames.map((frame) => frame.body.length)).toEqual([most.length, 0]);
  });

  test("properties of 32,767 control characters, which become six times as long, are refused and not cut", () => {
    const core = openCore();
    const segment = core.openSegment();
    const program = core.program(JSON_SEND, "JSON");
    expect(core.encode(program, segment, 0, 0, ["u", "\u0001".repeat(32_767)], undefined)).toBe(false);
    expect(core.encode(program, segment, 0, 0, ["u", "p".repeat(32_767)], undefined)).toBe(true);
    expect(core.encode(program, segment, 0, 0, ["u", "p".repeat(32_767)], undefined)).toBe(true);
  });

  test("steps and arguments longer than 64 KiB are refused before anything is written", () => {
    const core = openCore();
    const segment = core.openSegment();
    const program = core.program([["", abi.HOLE_ARGUMENT], ["", abi.HOLE_END]], "JSON");
    expect(() => core.program([["x".repeat(65_535), abi.HOLE_OPAQUE], ["", abi.HOLE_END]], "JSON")).toThrow(
      ArgumentError,
    );
    expect(() => core.encode(program, segment, 0, 0, ["x".repeat(65_537)], undefined)).toThrow(ArgumentError);
    expect(core.encode(program, segment, 0, 0, ["x".repeat(65_536)], undefined)).toBe(true);
  });

  test.each<[string, Step[]]>([
    ["no steps", []],
    ["no end", [["a", abi.HOLE_OPAQUE]]],
    ["something behind its end", [["", abi.HOLE_END], ["", abi.HOLE_END]]],
    ["an unknown hole", [["", abi.HOLE_UNIQUE_ID + 1], ["", abi.HOLE_END]]],
    ["a second mark of its kind", [["", abi.HOLE_OPAQUE], ["", abi.HOLE_VALUE | abi.PROGRAM_BINARY], [
      "",
      abi.HOLE_END,
    ]]],
    ["OPEN without CLOSE", [["", abi.HOLE_OPEN], ["", abi.HOLE_END]]],
    ["CLOSE without OPEN", [["", abi.HOLE_CLOSE], ["", abi.HOLE_OPEN], ["", abi.HOLE_END]]],
    ["OPEN nine deep", [
      ...Array.from({ length: 9 }, (): Step => ["", abi.HOLE_OPEN]),
      ...Array.from({ length: 9 }, (): Step => ["", abi.HOLE_CLOSE]),
      ["", abi.HOLE_END],
    ]],
    ["65 arguments", [...Array.from({ length: 65 }, (): Step => ["", abi.HOLE_ARGUMENT]), ["", abi.HOLE_END]]],
  ])("%s is no program", (_, steps) => {
    const core = openCore();
    const before = core.bytesInUse;
    expect(() => core.program(steps, "JSON")).toThrow(
      new CoreError(`The core refused command 9: error ${abi.E_BAD_PROGRAM}`),
    );
    expect(core.bytesInUse).toBe(before);
  });

  test("64 arguments, and OPEN eight deep, are a program", () => {
    const core = openCore();
    const steps: Step[] = [
      ...Array.from({ length: 64 }, (): Step => ["-", abi.HOLE_ARGUMENT]),
      ...Array.from({ length: 8 }, (): Step => ["<", abi.HOLE_OPEN]),
      ...Array.from({ length: 8 }, (): Step => [">", abi.HOLE_CLOSE]),
      ["", abi.HOLE_END],
    ];
    const call: Call = {
      ...CALL,
      steps,
      serializeType: "ROCKETMQ",
      args: Array.from({ length: 64 }, (_, n) => `${n}`),
    };
    expect(encode(core, core.openSegment(), call)).toEqual(frameModel(call));
  });

  test("a literal that reaches beyond the steps is no program", () => {
    const core = new TinyDriver();
    const at = core.control + abi.ARGUMENT_TEXT;
    core.view.setUint16(at, abi.HOLE_END, true);
    core.view.setUint16(at + 2, 10, true);
    for (const len of [0, 3, 4, 13]) {
      expect(core.run({ opcode: abi.OP_PROGRAM_COMPILE, len }).result).toBe(abi.E_BAD_PROGRAM);
    }
    for (const len of [abi.ARGUMENT_BYTES + 1, 2 ** 32 - 1]) {
      expect(core.run({ opcode: abi.OP_PROGRAM_COMPILE, len }).result).toBe(abi.E_BAD_PROGRAM);
    }
    expect(core.run({ opcode: abi.OP_PROGRAM_COMPILE, len: 14 }).result).toBeGreaterThan(0);
  });

  test("commands that make no sense are refused and leave the segment as it was", () => {
    const core = new TinyDriver();
    const at = core.control + abi.ARGUMENT_TEXT;
    core.view.setUint16(at, abi.HOLE_ARGUMENT, true);
    core.view.setUint16(at + 4, abi.HOLE_END, true);
    const program = core.run({ opcode: abi.OP_PROGRAM_COMPILE, len: 8 }).result;
    const segment = core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;
    core.writeArguments([utf8("a")]);
    const good = { opcode: abi.OP_ENCODE, handle: program, ptr: segment, flags: 1 };
    const { E_BAD_ARGUMENT, E_BAD_HANDLE, E_BAD_POINTER } = abi;
    expect(core.run({ ...good, flags: 0 }).result).toBe(E_BAD_ARGUMENT);
    expect(core.run({ ...good, flags: 2 }).result).toBe(E_BAD_ARGUMENT);
    for (const value of [NaN, Infinity, -Infinity, 0.5, 2 ** 54, -(2 ** 54), 2 ** 63, -(2 ** 63), 2 ** 64]) {
      expect(core.run({ ...good, value }).result).toBe(E_BAD_ARGUMENT);
    }
    for (const handle of [0, segment, program + 16, program + 4096, 2 ** 32 - 1]) {
      expect(core.run({ ...good, handle }).result).toBe(E_BAD_HANDLE);
      expect(core.run({ opcode: abi.OP_PROGRAM_FREE, handle }).result).toBe(E_BAD_HANDLE);
    }
    for (const ptr of [0, program, segment + 16, segment + 4096, 2 ** 32 - 4096]) {
      expect(core.run({ ...good, ptr }).result).toBe(E_BAD_POINTER);
      expect(core.run({ opcode: abi.OP_APPEND, ptr, len: 1 }).result).toBe(E_BAD_POINTER);
      expect(core.run({ opcode: abi.OP_SEGMENT_RESET, handle: ptr }).result).toBe(E_BAD_HANDLE);
      expect(core.run({ opcode: abi.OP_SEGMENT_FREE, handle: ptr }).result).toBe(E_BAD_HANDLE);
    }
    for (const len of [abi.FRAME_MAX, 2 ** 31, 2 ** 32 - 1]) {
      expect(core.run({ ...good, len }).result).toBe(abi.E_FRAME_TOO_LARGE);
      expect(core.run({ ...good, len, flags: 1 | abi.ENCODE_BODY_APART }).result).toBe(abi.E_FRAME_TOO_LARGE);
      expect(core.run({ opcode: abi.OP_APPEND, ptr: segment, len }).result).toBe(abi.E_NO_ROOM);
    }
    core.view.setUint32(core.control + abi.ARGUMENT_LENGTHS, 2 ** 32 - 1, true);
    expect(core.run(good).result).toBe(E_BAD_ARGUMENT);
    for (const value of [NaN, -1, Infinity, 2 ** 54]) {
      expect(core.run({ opcode: abi.OP_CLOCK, value }).result).toBe(E_BAD_ARGUMENT);
    }
    expect(core.view.getUint32(segment + abi.SEGMENT_LENGTH, true)).toBe(0);
    core.writeArguments([utf8("a")]);
    expect(core.run(good).result).toBe(segment + abi.SEGMENT_DATA + 9);
  });

  test("a program and a segment that frames went through are refused once they are freed", () => {
    const core = new TinyDriver();
    const good = { opcode: abi.OP_ENCODE, handle: literalProgram(core, "one"), ptr: segmentOf(core), flags: 0 };
    for (let n = 1; n <= 3; n++) expect(core.run(good).result).toBe(good.ptr + abi.SEGMENT_DATA + n * 11);
    core.run({ opcode: abi.OP_PROGRAM_FREE, handle: good.handle });
    expect(core.run(good).result).toBe(abi.E_BAD_HANDLE);
    expect(literalProgram(core, "seven")).toBe(good.handle);
    expect(core.run(good).result).toBe(good.ptr + abi.SEGMENT_DATA + 33 + 13);
    core.run({ opcode: abi.OP_SEGMENT_FREE, handle: good.ptr });
    expect(core.run(good).result).toBe(abi.E_BAD_POINTER);
    expect(segmentOf(core)).toBe(good.ptr);
    expect(core.run(good).result).toBe(good.ptr + abi.SEGMENT_DATA + 13);
  });

  test("what is zero is no program and no segment, before the first frame and behind one with its own id", () => {
    const core = new TinyDriver();
    const zero = { opcode: abi.OP_ENCODE, handle: 0, ptr: 0, flags: 0 };
    expect(core.run(zero).result).toBe(abi.E_BAD_HANDLE);
    const handle = literalProgram(core, "one"), ptr = segmentOf(core), flags = abi.ENCODE_SAME_ID;
    core.view.setFloat64(core.control + abi.UNIQUE_ID, 7, true);
    expect(core.run({ opcode: abi.OP_ENCODE, handle, ptr, flags }).result).toBeGreaterThan(0);
    expect(core.run({ ...zero, ptr, flags }).result).toBe(abi.E_BAD_HANDLE);
    core.view.setFloat64(core.control + abi.UNIQUE_ID, -1, true);
    expect(core.run({ opcode: abi.OP_ENCODE, handle, ptr, flags }).result).toBe(abi.E_BAD_ARGUMENT);
  });

  test("opaques that follow one another, and those that do not, are written in full", () => {
    const core = openCore(), segment = core.openSegment();
    const program = core.program([["<", abi.HOLE_OPAQUE], [">", abi.HOLE_END]], "JSON");
    const seed = freshSeed(), random = new Random(seed);
    console.log(`opaque seed ${seed}`);
    const runs = [0, 7, 95, 9_990, 999_999_995, 2_147_483_630, -2_147_483_648, -12, ...opaquesOf(random, 40)];
    for (const first of runs) {
      for (let opaque = first; opaque < first + 25 && opaque < 2 ** 31; opaque++) {
        const before = core.segmentLength(segment);
        core.encode(program, segment, opaque, 0, [], undefined);
        expect(new TextDecoder().decode(core.segmentBytes(segment, before + 8))).toBe(`<${opaque}>`);
      }
      core.resetSegment(segment);
    }
  });

  test("without room in the arena there is no segment and no program, and nothing is lost", () => {
    const core = openCore(1);
    const segments: number[] = [];
    for (let segment = core.openSegment(); segment; segment = core.openSegment()) segments.push(segment);
    expect(segments.length).toBeGreaterThan(3);
    for (const segment of segments) core.freeSegment(segment);
    expect(core.bytesInUse).toBe(0);
  });
});
