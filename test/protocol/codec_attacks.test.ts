import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import { createCodecWith, type RemotingCodec } from "../../client/codec.ts";
import { ArgumentError, FrameError } from "../../client/errors.ts";
import type { Message } from "../../client/message.ts";
import { encodeBatch } from "../../client/protocol/batch.ts";
import type { RemotingCommand } from "../../client/protocol/command.ts";
import { crc32 } from "../../client/protocol/crc32.ts";
import { encodeRecord, type NewRecord } from "../../client/protocol/record.ts";
import { concat, encodeText } from "../../client/protocol/text.ts";
import { freshSeed, Random } from "../core/random.ts";
import { coreModule, openCore } from "../support/core.ts";
import { sameBytes } from "../support/frames.ts";
import { readFrames } from "./vectors.ts";
import { newRecord } from "./new_record.ts";

const codec = createCodecWith({
  core: coreModule,
  inflate: (_, bytes, maxOutputLength) => new Uint8Array(zlib.inflateSync(bytes, { maxOutputLength })),
}, { coreMemory: 16 });

const FRAME_MAX = 16 * 1024 * 1024;

const command = (given: Partial<RemotingCommand> = {}): RemotingCommand => ({
  code: 10,
  language: "JAVA",
  version: 513,
  opaque: 7,
  flag: 0,
  remark: "grüße 🚀",
  extFields: { topic: "Tü", "": "x".repeat(40) },
  body: Uint8Array.of(1, 2, 3),
  serializeType: "JSON",
  ...given,
});

const record = (given: Partial<NewRecord> = {}): NewRecord => newRecord({ storeHost: "[fe80::1]:10911", ...given });

/** The same bytes in memory that other threads may see. */
function shared(bytes: Uint8Array): Uint8Array {
  const view = new Uint8Array(new SharedArrayBuffer(bytes.length + 2), 1, bytes.length);
  view.set(bytes);
  return view;
}

/** A view whose bytes somebody has been given. */
function detached(): Uint8Array {
  const view = new Uint8Array(16);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  return view;
}

/** Everything of the codec that takes bytes. */
const takers: Readonly<Record<string, (bytes: Uint8Array, codec: RemotingCodec) => unknown>> = {
  decode: (bytes, codec) => codec.decode(bytes),
  "stream.feed": (bytes, codec) => codec.stream().feed(bytes),
  decodeMessages: (bytes, codec) => codec.decodeMessages(bytes),
  crc32: (bytes, codec) => codec.crc32(bytes),
  "encode a body": (bytes, codec) => codec.encode(command({ body: bytes })),
  "encodeBatch a body": (bytes, codec) => codec.encodeBatch([{ topic: "T", body: bytes }]),
};

describe("what is no bytes", () => {
  const others: readonly unknown[] = [
    null,
    "text",
    5,
    {},
    [],
    { length: 100 },
    new ArrayBuffer(8),
    new DataView(new ArrayBuffer(8)),
    new Uint16Array(8),
    new Uint8ClampedArray(8),
    new Int8Array(8),
  ];

  test("is an ArgumentError that says what must be bytes, never an empty answer", () => {
    for (const [name, take] of Object.entries(takers)) {
      for (const other of others) {
        expect(() => take(other as Uint8Array, codec), `${name} ${typeof other}`).toThrow(ArgumentError);
        expect(() => take(other as Uint8Array, codec)).toThrow(/must be a Uint8Array, got /);
      }
    }
  });

  test("is an ArgumentError also when its bytes were transferred away", () => {
    for (const [name, take] of Object.entries(takers)) {
      expect(() => take(detached(), codec), name).toThrow(ArgumentError);
      expect(() => take(detached(), codec), name).toThrow(/transferred away/);
    }
  });

  test("a chunk that is none leaves its stream as it was", () => {
    const stream = codec.stream(), frame = codec.encode(command());
    stream.feed(frame.subarray(0, 5));
    expect(() => stream.feed(frame.buffer as unknown as Uint8Array)).toThrow(ArgumentError);
    expect(stream.feed(frame.subarray(5))).toHaveLength(1);
  });

  test("other arguments that make no sense are ArgumentErrors too", () => {
    const wrong: unknown[] = [null, undefined, "text", 5];
    for (const other of wrong) {
      expect(() => codec.encode(other as RemotingCommand)).toThrow(ArgumentError);
      expect(() => codec.encodeBatch(other as Message[])).toThrow(ArgumentError);
      expect(() => codec.encodeBatch([other as Message])).toThrow(ArgumentError);
      expect(() => codec.allocate("AVG", "G", "c", other as [], ["c"])).toThrow(ArgumentError);
      expect(() => codec.allocate("AVG", "G", "c", [], other as [])).toThrow(ArgumentError);
    }
    for (const topic of [null, undefined, 5]) {
      const message = { topic: topic as unknown as string, body: new Uint8Array(1) };
      expect(() => codec.encodeBatch([message])).toThrow(ArgumentError);
    }
    for (const seed of [null, "1", NaN, 1.5, 2 ** 32, -(2 ** 31) - 1, Infinity]) {
      expect(() => codec.crc32(new Uint8Array(1), seed as number), String(seed)).toThrow(ArgumentError);
    }
  });
});

describe("nothing at all", () => {
  const nothing = new Uint8Array();

  test("is no frame, no command, no message, and sums to the seed", () => {
    expect(() => codec.decode(nothing)).toThrow(FrameError);
    expect(codec.stream().feed(nothing)).toEqual([]);
    expect(codec.decodeMessages(nothing)).toEqual([]);
    expect([codec.crc32(nothing), codec.crc32(nothing, 77), codec.crc32(nothing, -1)]).toEqual([0, 77, 0xffffffff]);
    expect(codec.decode(codec.encode(command({ body: nothing }))).body).toEqual(nothing);
  });
});

describe("memory that threads share", () => {
  test("is read like any other", () => {
    for (const serializeType of ["JSON", "ROCKETMQ"] as const) {
      const extFields = { topic: "Tü" };
      const frame = codec.encode(command({ serializeType, extFields }));
      expect(codec.decode(shared(frame))).toEqual(codec.decode(frame));
      expect(codec.stream().feed(shared(frame))).toEqual(codec.stream().feed(frame));
      expect(codec.encode(command({ serializeType, extFields, body: shared(Uint8Array.of(1, 2, 3)) }))).toEqual(frame);
    }
    const body = concat([encodeRecord(record()), encodeRecord(record({ topic: "主题" }))]);
    expect(codec.decodeMessages(shared(body)).map((each) => JSON.stringify(each))).toEqual(
      codec.decodeMessages(body).map((each) => JSON.stringify(each)),
    );
    expect(codec.crc32(shared(body))).toBe(codec.crc32(body));
    expect(codec.encodeBatch([{ topic: "T", body: shared(body) }])).toEqual(
      codec.encodeBatch([{ topic: "T", body }]),
    );
  });

  test("may change under a message that was read from it", () => {
    const body = shared(encodeRecord(record()));
    const [message] = codec.decodeMessages(body);
    body.fill(255);
    expect([message!.topic, message!.tags, message!.body]).toEqual(["TopicA", "a", encodeText("hello")]);
  });
});

describe("frames of 16 MiB", () => {
  const overhead = codec.encode(command({ body: new Uint8Array() })).length;
  const body = new Uint8Array(FRAME_MAX - overhead).fill(7);

  test("are written and read, whole and in pieces; a byte more is refused on both sides", () => {
    const frame = codec.encode(command({ body }));
    expect(frame.length).toBe(FRAME_MAX);
    expect(sameBytes(codec.decode(frame).body, body)).toBe(true);
    const stream = codec.stream(), commands = [];
    for (let at = 0; at < frame.length; at += 1_000_003) {
      commands.push(...stream.feed(frame.subarray(at, at + 1_000_003)));
    }
    expect(commands.map((each) => sameBytes(each.body, body))).toEqual([true]);
    expect(() => codec.encode(command({ body: new Uint8Array(body.length + 1) }))).toThrow(ArgumentError);
    const longer = new Uint8Array(FRAME_MAX + 1);
    longer.set(frame);
    new DataView(longer.buffer).setInt32(0, longer.length - 4);
    expect(() => codec.decode(longer)).toThrow(FrameError);
    expect(() => codec.stream().feed(longer.subarray(0, 4))).toThrow(FrameError);
  });

  test("a length alone takes no memory, and a stream of them ends at the first", () => {
    const word = Uint8Array.of(0x00, 0xff, 0xff, 0xfc);
    for (let n = 0; n < 500; n++) expect(codec.stream().feed(word)).toEqual([]);
    expect(() => codec.stream().feed(Uint8Array.of(0x01, 0, 0, 0))).toThrow(FrameError);
  });
});

describe("a stream", () => {
  const frames = readFrames().filter(({ bytes }) => bytes.length < 900).filter((_, index) => index % 97 === 0).slice(
    0,
    8,
  );
  const wire = concat(frames.map(({ bytes }) => bytes));
  const wanted = frames.map(({ bytes }) => codec.decode(bytes));

  test("cut at every byte, and two of them at two places, gives the same commands", () => {
    for (let cut = 0; cut <= wire.length; cut++) {
      const stream = codec.stream();
      expect([...stream.feed(wire.subarray(0, cut)), ...stream.feed(wire.subarray(cut))], `cut at ${cut}`).toEqual(
        wanted,
      );
    }
    const some = concat([codec.encode(command()), codec.encode(command({ serializeType: "ROCKETMQ", extFields: {} }))]);
    const both = codec.stream().feed(some);
    for (let first = 0; first <= some.length; first += 3) {
      for (let second = first; second <= some.length; second += 3) {
        const stream = codec.stream();
        const parts = [some.subarray(0, first), some.subarray(first, second), some.subarray(second)];
        expect(parts.flatMap((part) => stream.feed(part)), `cut at ${first} and ${second}`).toEqual(both);
      }
    }
  });

  test("keeps nothing of a chunk: the caller may write over it", () => {
    const stream = codec.stream(), buffer = new Uint8Array(11), commands = [];
    for (let at = 0; at < wire.length; at += buffer.length) {
      const part = wire.subarray(at, at + buffer.length);
      buffer.set(part);
      commands.push(...stream.feed(buffer.subarray(0, part.length)));
      buffer.fill(255);
    }
    expect(commands).toEqual(wanted);
  });
});

describe("damaged bytes", () => {
  test("of frames, streams and pull bodies are read or a FrameError, never anything else", () => {
    const seed = freshSeed(), random = new Random(seed);
    const frames = readFrames().filter(({ bytes }) => bytes.length < 4000);
    let read = 0, refused = 0;
    for (let round = 0; round < 3000; round++) {
      const bytes = random.pick(frames).bytes.slice();
      for (let n = random.below(4); n >= 0; n--) bytes[random.below(bytes.length)] = random.below(256);
      const cut = random.once(3) ? random.below(bytes.length) : bytes.length;
      const part = bytes.subarray(0, cut);
      const takings = [
        () => codec.decode(part),
        () => codec.stream().feed(part),
        () =>
          JSON.stringify(
            codec.decodeMessages(part.subarray(random.below(Math.min(cut + 1, 200))), { checkCrc: random.once(2) }),
          ),
      ];
      for (const take of takings) {
        try {
          take();
          read++;
        } catch (error) {
          if (!(error instanceof FrameError)) throw new Error(`seed ${seed}, round ${round}`, { cause: error });
          refused++;
        }
      }
    }
    expect(read).toBeGreaterThan(1000);
    expect(refused).toBeGreaterThan(1000);
  });

  test("of bodies: whatever bit is wrong, the checksum finds it, in plain, compressed and inner bodies", () => {
    const inner = encodeBatch([{ flag: 0, body: encodeText("x"), properties: "" }]);
    const records = [
      record(),
      record({ sysFlag: 0x301, body: new Uint8Array(zlib.deflateSync(encodeText("hello hello"))) }),
      record({ sysFlag: 0x101, body: openCore().deflateLz4(encodeText("hello hello")) }),
      record({ sysFlag: 0xc0, body: inner }),
    ];
    for (const each of records) {
      const good = encodeRecord(each), at = indexOf(good, each.body);
      expect(codec.decodeMessages(good)).toHaveLength(1);
      for (let bit = 0; bit < each.body.length * 8; bit++) {
        const bad = good.slice();
        bad[at + (bit >> 3)]! ^= 1 << (bit & 7);
        expect(() => codec.decodeMessages(bad), `bit ${bit}`).toThrow(FrameError);
      }
    }
  });
});

function indexOf(bytes: Uint8Array, part: Uint8Array): number {
  for (let at = 0; at + part.length <= bytes.length; at++) {
    if (sameBytes(bytes.subarray(at, at + part.length), part)) return at;
  }
  throw new Error("The part is not there");
}

describe("very many messages", () => {
  const plain = (count: number) =>
    concat(Array.from({ length: count }, (_, index) => encodeRecord(record({ queueOffset: BigInt(index) }))));
  const elements = (count: number) =>
    encodeBatch(Array.from({ length: count }, (_, index) => ({
      flag: 0,
      body: encodeText(`b${index}`),
      properties: `TAGS\u0001t${index}\u0002`,
    })));

  test("around and beyond one table of rows all come, in order", () => {
    for (const count of [1023, 1024, 1025, 2048, 2049, 5000]) {
      const offsets = codec.decodeMessages(plain(count)).map(({ queueOffset }) => Number(queueOffset));
      expect(offsets, `${count}`).toEqual(Array.from({ length: count }, (_, index) => index));
    }
  });

  test("in inner batches too, plain and in every compression, where a table ends or not", () => {
    const core = openCore();
    for (const before of [0, 1000, 1023, 1024]) {
      for (const count of [1, 1023, 1024, 1025, 3000]) {
        const bodies: (readonly [number, Uint8Array])[] = [
          [0xc0, elements(count)],
          [0xc0 | 0x301, new Uint8Array(zlib.deflateSync(elements(count)))],
          [0xc0 | 0x101, core.deflateLz4(elements(count))],
        ];
        for (const [sysFlag, body] of bodies) {
          const batch = encodeRecord(record({ sysFlag, body, queueOffset: 2n ** 53n - 1n }));
          const messages = codec.decodeMessages(concat([plain(before), batch, plain(2)]));
          expect(messages.length, `${before} ${count} ${sysFlag}`).toBe(before + count + 2);
          const last = messages[before + count - 1]!;
          expect([last.tags, last.queueOffset]).toEqual([`t${count - 1}`, 2n ** 53n - 2n + BigInt(count)]);
          expect(last.rawBody()).toEqual(encodeText(`b${count - 1}`));
          expect(messages.at(-1)!.queueOffset).toBe(1n);
        }
      }
    }
  });
});

describe("seeds", () => {
  test("a checksum in pieces is that of the whole, wherever it is cut, with signed seeds too", () => {
    const seed = freshSeed(), bytes = new Random(seed).bytes(3000), whole = crc32(bytes);
    for (let cut = 0; cut <= bytes.length; cut += 7) {
      const first = codec.crc32(bytes.subarray(0, cut));
      expect(codec.crc32(bytes.subarray(cut), first), `seed ${seed}, cut ${cut}`).toBe(whole);
      expect(codec.crc32(bytes.subarray(cut), first | 0), `seed ${seed}, cut ${cut}`).toBe(whole);
    }
    const long = new Uint8Array(300_000).fill(3);
    expect(codec.crc32(long.subarray(100_001), codec.crc32(long.subarray(0, 100_001)))).toBe(crc32(long));
  });
});
