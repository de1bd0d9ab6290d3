import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import type { AllocateStrategy } from "../../client/allocate.ts";
import { type CodecOptions, createCodecWith, type RemotingCodec } from "../../client/codec.ts";
import { ArgumentError, CoreError, FrameError, UnsupportedError } from "../../client/errors.ts";
import type { Host } from "../../client/host.ts";
import { decodeBatch, encodeBatch } from "../../client/protocol/batch.ts";
import { decodeCommand, encodeCommand } from "../../client/protocol/command.ts";
import { decodeProperties } from "../../client/protocol/properties.ts";
import { encodeRecord, type NewRecord } from "../../client/protocol/record.ts";
import { COMPRESSED, COMPRESSION_LZ4, COMPRESSION_MASK, COMPRESSION_ZSTD } from "../../client/protocol/sys_flag.ts";
import { encodeText } from "../../client/protocol/text.ts";
import { coreModule, openCore } from "../support/core.ts";
import { sameBytes } from "../support/frames.ts";
import { bodyVector, javaHost, present, readFrames, readLines, type Row } from "./vectors.ts";
import { newRecord } from "./new_record.ts";

const host: Pick<Host, "core" | "inflate" | "crc32"> = {
  core: coreModule,
  inflate: (type, bytes, maxOutputLength) => {
    if (type !== "ZLIB") throw new UnsupportedError(`${type} is not read here`);
    return new Uint8Array(zlib.inflateSync(bytes, { maxOutputLength }));
  },
};
const createCodec = (options?: CodecOptions): RemotingCodec => createCodecWith(host, options);
const codec = createCodec({ coreMemory: 16 });
const core = openCore();
const frames = readFrames();

const record = (given: Partial<NewRecord> = {}): NewRecord =>
  newRecord({ properties: "TAGS\u0001a\u0002KEYS\u0001k1 k2\u0002UNIQ_KEY\u0001U1\u0002", ...given });

test("the door of this runtime makes a codec without any permission", async () => {
  const door = "Deno" in globalThis
    ? await import("../../host-deno/codec.ts")
    : await import("../../host-node/codec.ts");
  const command = {
    code: 1,
    language: "JAVA",
    version: 2,
    opaque: 3,
    flag: 1,
    remark: "r",
    extFields: { a: "b" },
    body: encodeText("x"),
    serializeType: "JSON",
  } as const;
  const opened = door.createCodec({ coreMemory: 2 });
  expect(opened.decode(opened.encode(command))).toEqual(command);
  expect(opened.crc32(encodeText("123456789"))).toBe(0xcbf43926);
});

describe("stream", () => {
  const some = frames.filter(({ bytes }) => bytes.length < 2000).slice(0, 40);
  const wire = new Uint8Array(some.reduce((sum, { bytes }) => sum + bytes.length, 0));
  let at = 0;
  for (const { bytes } of some) {
    wire.set(bytes, at);
    at += bytes.length;
  }
  const wanted = some.map(({ bytes }) => decodeCommand(bytes));

  test("chunks of any size give the same commands, each with its last byte", () => {
    for (const size of [1, 2, 3, 7, 64, 1000, wire.length]) {
      const stream = codec.stream();
      const commands = [];
      for (let from = 0; from < wire.length; from += size) {
        commands.push(...stream.feed(wire.subarray(from, from + size)));
      }
      expect(commands, `${size}`).toEqual(wanted);
    }
  });

  test("a frame longer than maxFrameBytes is an error with its fourth byte, after the frames before it", () => {
    const big = encodeCommand({ code: 1, opaque: 1, flag: 0, body: new Uint8Array(5000), serializeType: "JSON" });
    const stream = codec.stream({ maxFrameBytes: 4096 });
    expect(stream.feed(some[0]!.bytes)).toEqual([wanted[0]]);
    const both = new Uint8Array([...some[1]!.bytes, ...big.subarray(0, 4)]);
    expect(stream.feed(both)).toEqual([wanted[1]]);
    expect(() => stream.feed(new Uint8Array(0))).toThrow(FrameError);
    expect(() => stream.feed(some[0]!.bytes)).toThrow(FrameError);
    expect(codec.stream().feed(big)).toHaveLength(1);
    expect(() => codec.stream({ maxFrameBytes: 0 })).toThrow(ArgumentError);
    expect(() => codec.stream({ maxFrameBytes: 2 ** 25 })).toThrow(ArgumentError);
  });

  test("a broken header ends the stream after the commands before it", () => {
    const broken = Uint8Array.from([0, 0, 0, 5, 0, 0, 0, 1, 0x5b]);
    const stream = codec.stream();
    expect(stream.feed(new Uint8Array([...some[0]!.bytes, ...broken, ...some[1]!.bytes]))).toEqual([wanted[0]]);
    expect(() => stream.feed(some[1]!.bytes)).toThrow(FrameError);
    for (const bytes of [encodeText("HTTP/1.1 400"), Uint8Array.of(0x80, 0, 0, 0), Uint8Array.of(0, 0, 0, 0)]) {
      expect(() => codec.stream().feed(bytes)).toThrow(FrameError);
    }
  });
});

describe("messages", () => {
  test("recorded pull bodies are read as Java read them, in a core of any size", () => {
    const tiny = createCodec({ coreMemory: 1 });
    let compared = 0, lz4 = 0;
    for (const { id, bytes, expect: { records } } of frames) {
      if (!records) continue;
      const body = decodeCommand(bytes).body;
      const wanted = records.flatMap((each): Row[] =>
        each.inner?.map((element) => ({ ...each, ...element, offsetMsgId: each.offsetMsgId })) ?? [each]
      );
      for (const each of [codec, tiny]) {
        const messages = each.decodeMessages(body);
        expect(messages.length, id).toBe(wanted.length);
        for (const [index, message] of messages.entries()) {
          const { properties, ...record } = wanted[index];
          expect({
            queueId: message.queueId,
            queueOffset: message.queueOffset,
            commitLogOffset: message.commitLogOffset,
            bornHost: javaHost(message.bornHost),
            storeHost: javaHost(message.storeHost),
            bornTimestamp: message.bornTimestamp,
            storeTimestamp: message.storeTimestamp,
            reconsumeTimes: message.reconsumeTimes,
            offsetMsgId: message.offsetMsgId,
            tags: message.tags,
          }, id).toEqual({
            queueId: record.queueId,
            queueOffset: BigInt(record.queueOffset),
            commitLogOffset: BigInt(record.physicalOffset),
            bornHost: record.bornHost,
            storeHost: record.storeHost,
            bornTimestamp: record.bornTimestamp,
            storeTimestamp: record.storeTimestamp,
            reconsumeTimes: record.reconsumeTimes,
            offsetMsgId: record.offsetMsgId,
            tags: properties?.TAGS || undefined,
          });
          // The host here reads no ZSTD.
          const type = message.sysFlag & COMPRESSED ? message.sysFlag & COMPRESSION_MASK : undefined;
          if (type === COMPRESSION_LZ4) lz4++;
          if (type !== COMPRESSION_ZSTD) expect(bodyVector(message.rawBody(), record.body), id).toEqual(record.body);
          if (!present(properties)["POP_CK"]) expect({ ...message.properties }, id).toEqual(present(properties));
          compared++;
        }
      }
    }
    expect(compared).toBeGreaterThan(800);
    expect(lz4).toBeGreaterThan(0);
  });

  test("a message stays right when the caller's bytes change", () => {
    const body = encodeRecord(record());
    const [message] = codec.decodeMessages(body);
    body.fill(0);
    expect(message).toMatchObject({ topic: "TopicA", tags: "a", keys: ["k1", "k2"], msgId: "U1", queueOffset: 42n });
    expect(message!.body).toEqual(encodeText("hello"));
  });

  test("a broken record or checksum is a FrameError that says where; without checkCrc the body counts as it is", () => {
    const good = encodeRecord(record()), bad = encodeRecord(record({ bodyCRC: 1 }));
    const both = new Uint8Array([...good, ...bad]);
    expect(() => codec.decodeMessages(both)).toThrow(FrameError);
    expect(() => codec.decodeMessages(both)).toThrow(
      `record at ${good.length} of a pull body does not match its checksum`,
    );
    expect(codec.decodeMessages(both, { checkCrc: false })).toHaveLength(2);
    for (let cut = 1; cut < good.length; cut++) {
      expect(() => codec.decodeMessages(good.subarray(0, cut))).toThrow(FrameError);
    }
    expect(codec.decodeMessages(new Uint8Array(0))).toEqual([]);
  });

  test("inner batches that the walk leaves whole, compressed or very long, are messages too", () => {
    const elements = (count: number) =>
      Array.from(
        { length: count },
        (_, flag) => ({ flag, body: encodeText(`b${flag}`), properties: `TAGS\u0001t${flag}\u0002` }),
      );
    const compressed = record({
      sysFlag: 0xc0 | 0x301,
      body: new Uint8Array(zlib.deflateSync(encodeBatch(elements(3)))),
    });
    const long = record({ sysFlag: 0xc0, body: encodeBatch(elements(1500)), queueOffset: 2n ** 40n });
    const messages = codec.decodeMessages(
      new Uint8Array([...encodeRecord(compressed), ...encodeRecord(record()), ...encodeRecord(long)]),
    );
    expect(messages).toHaveLength(3 + 1 + 1500);
    expect(messages.slice(0, 3).map(({ tags, queueOffset }) => ({ tags, queueOffset }))).toEqual([
      { tags: "t0", queueOffset: 42n },
      { tags: "t1", queueOffset: 43n },
      { tags: "t2", queueOffset: 44n },
    ]);
    const last = messages.at(-1)!;
    expect(last).toMatchObject({ tags: "t1499", queueOffset: 2n ** 40n + 1499n, commitLogOffset: 4711n, queueId: 3 });
    expect(last.body).toEqual(encodeText("b1499"));
    const lz4 = record({ sysFlag: 0xc0 | 0x101, body: core.deflateLz4(encodeBatch(elements(4))) });
    expect(codec.decodeMessages(encodeRecord(lz4)).map(({ tags }) => tags)).toEqual(["t0", "t1", "t2", "t3"]);
    const zstd = record({ sysFlag: 0xc0 | 0x201, body: encodeText("x") });
    expect(() => codec.decodeMessages(encodeRecord(zstd))).toThrow(UnsupportedError);
  });

  test("a body that is far larger than any message when inflated is refused", () => {
    const zeroes = new Uint8Array(17 << 20);
    const bombs = [
      record({ sysFlag: 0x301, body: new Uint8Array(zlib.deflateSync(zeroes)) }),
      record({ sysFlag: 0x101, body: core.deflateLz4(zeroes) }),
    ];
    for (const bomb of bombs) {
      const [message] = codec.decodeMessages(encodeRecord(bomb));
      expect(() => message!.rawBody()).toThrow();
    }
  });

  test("an LZ4 body is read when it is asked for; a damaged one is a FrameError then", () => {
    const body = encodeText("paid ".repeat(50_000)), lz4 = core.deflateLz4(body);
    const [message] = codec.decodeMessages(encodeRecord(record({ sysFlag: 0x101, body: lz4 })));
    expect(sameBytes(message!.body, body) && sameBytes(message!.rawBody(), body)).toBe(true);
    for (const damaged of [lz4.subarray(0, lz4.length - 1), lz4.subarray(1), encodeText("x")]) {
      const [other] = codec.decodeMessages(encodeRecord(record({ sysFlag: 0x101, body: damaged })));
      expect(other!.tags).toBe("a");
      expect(() => other!.body).toThrow(FrameError);
    }
  });
});

describe("encodeBatch", () => {
  test("every message is an element with all its properties", () => {
    const body = encodeText("x");
    const encoded = codec.encodeBatch([
      { topic: "T", body, tags: "a", keys: ["k1", "k2"], shardingKey: "s", properties: { color: "blue" } },
      { topic: "T", body },
    ]);
    expect(
      decodeBatch(encoded).map(({ properties, ...rest }) => ({
        ...rest,
        properties: { ...decodeProperties(properties) },
      })),
    ).toEqual([
      { flag: 0, body, properties: { color: "blue", KEYS: "k1 k2", TAGS: "a", __SHARDINGKEY: "s", WAIT: "true" } },
      { flag: 0, body, properties: { WAIT: "true" } },
    ]);
  });

  test("what Java refuses is refused: nothing, two topics, two kinds of waiting, delays, retry topics, long properties", () => {
    const message = { topic: "T", body: encodeText("x") };
    const refused = [
      [],
      [message, { ...message, topic: "U" }],
      [message, { ...message, waitStoreMsgOK: false }],
      [message, { ...message, delayTimeLevel: 1 }],
      [{ ...message, topic: "%RETRY%G" }],
      [{ ...message, properties: { p: "x".repeat(40_000) } }],
      [{ ...message, properties: { p: "a\u0002b" } }],
      [{ ...message, properties: { p: 1 } as unknown as Record<string, string> }],
      [{ ...message, body: "text" as unknown as Uint8Array }],
    ];
    for (const messages of refused) {
      expect(() => codec.encodeBatch(messages), JSON.stringify(messages).slice(0, 80)).toThrow(ArgumentError);
    }
  });
});

describe("allocate", () => {
  test("AVG gives what Java gives", () => {
    let compared = 0;
    for (const row of readLines("oracle-allocate.jsonl").filter(({ strategy }) => strategy === "AVG")) {
      const queues = (row.queues ?? []).map((text: string) => {
        const [topic, brokerName, queueId] = text.split("|");
        return { topic, brokerName, queueId: Number(queueId) };
      });
      const allocate = () => codec.allocate("AVG", row.group, row.clientId, queues, row.clients ?? []);
      if (row.throws) expect(allocate).toThrow(ArgumentError);
      else expect(allocate()).toEqual(row.result.map((index: number) => queues[index]));
      compared++;
    }
    expect(compared).toBe(60);
  });

  test("a strategy of one's own is asked, one that there is not is refused, and the others give a lone client all", () => {
    const queues = [0, 1, 2].map((queueId) => ({ topic: "T", brokerName: "r@b", queueId }));
    const own = { name: "MINE", allocate: () => queues };
    expect(codec.allocate(own, "G", "c", queues, ["c"])).toBe(queues);
    expect(() => codec.allocate("NONE" as never, "G", "c", queues, ["c"])).toThrow(ArgumentError);
    const strategies: readonly AllocateStrategy[] = [
      "AVG_BY_CIRCLE",
      "CONSISTENT_HASH",
      { name: "CONFIG", queues },
      { name: "MACHINE_ROOM", rooms: ["r"] },
      { name: "MACHINE_ROOM_NEARBY", inner: "CONSISTENT_HASH", roomOf: () => "r" },
    ];
    for (const strategy of strategies) expect(codec.allocate(strategy, "G", "c", queues, ["c"])).toEqual(queues);
  });
});

test("crc32 goes on from a seed, and uses the host's where there is one", () => {
  for (const row of readLines("oracle-crc32.jsonl").filter(({ hex }) => typeof hex === "string")) {
    const bytes = new Uint8Array(Buffer.from(row.hex, "hex"));
    expect(codec.crc32(bytes) & 0x7fffffff).toBe(row.crc32);
    expect(codec.crc32(bytes.subarray(3), codec.crc32(bytes.subarray(0, 3)))).toBe(codec.crc32(bytes));
  }
  expect(createCodecWith({ ...host, crc32: () => 77 }, { coreMemory: 1 }).crc32(new Uint8Array(1))).toBe(77);
});

test("options are checked at the door", () => {
  const misspelt = { crc: false, coreMemori: 1, maxFrameByte: 1 } as object;
  expect(() => createCodec(misspelt)).toThrow(ArgumentError);
  expect(() => createCodec({ foo: 1 } as object)).toThrow('There is no option "foo"');
  expect(() => createCodec(null as unknown as CodecOptions)).toThrow(ArgumentError);
  expect(() => codec.stream(misspelt)).toThrow(ArgumentError);
  expect(() => codec.decodeMessages(new Uint8Array(), misspelt)).toThrow(ArgumentError);
  for (const coreMemory of [0, -1, 1.5, NaN, 1025]) expect(() => createCodec({ coreMemory })).toThrow(ArgumentError);
  const wrong = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
  expect(() => createCodec({ core: wrong })).toThrow(CoreError);
});
