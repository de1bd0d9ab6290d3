import { describe, expect, test } from "vitest";
import type { Core, FrameSink } from "../../client/core.ts";
import { FrameError } from "../../client/errors.ts";
import * as abi from "../../core-as/abi.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import {
  answerHeader,
  BINARY_KIND,
  binaryHeader,
  concat,
  feedAll,
  frameBytes,
  int32,
  keep,
  type KeptFrame,
  sameBytes,
  utf8,
} from "../support/frames.ts";
import { freshSeed, Random } from "./random.ts";

const MIB = 1024 * 1024;
const MOST_IN_INBOX = abi.INBOX_BYTES - abi.SLACK;

const opaques = (frames: readonly KeptFrame[]): number[] => frames.map((frame) => frame.opaque);
const answer = (opaque: number, body: Uint8Array = new Uint8Array(0)): Uint8Array =>
  frameBytes(answerHeader(opaque), body);

/** Bytes that tell where they stand. */
function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = i * 31 + (i >>> 8);
  return bytes;
}

/** A frame of exactly so many bytes. */
function frameOf(size: number, opaque: number): Uint8Array {
  return answer(opaque, pattern(size - 8 - answerHeader(opaque).length));
}

/** One socket read; it must fit the room. */
function arrive(core: Core, connection: number, bytes: Uint8Array, sink: FrameSink): void {
  core.room(connection).set(bytes);
  core.feed(connection, bytes.length, sink);
}

function whatArrives(core: Core, connection: number, bytes: Uint8Array): KeptFrame[] {
  const frames: KeptFrame[] = [];
  arrive(core, connection, bytes, (frame) => frames.push(keep(frame)));
  return frames;
}

describe("stream", () => {
  test("a stream split anywhere yields the same frames", () => {
    const core = openCore();
    const binary = binaryHeader({ code: 11, opaque: 3, flag: 1, remark: "é", extFields: { queueId: "7" } });
    const wire = concat([
      answer(1),
      answer(2, utf8("body 2")),
      frameBytes(binary, Uint8Array.of(0), BINARY_KIND),
      frameBytes("", utf8("x")),
      answer(-4, utf8("12345")),
    ]);
    const whole = feedAll(core, core.openConnection(), wire);
    expect(opaques(whole)).toEqual([1, 2, 3, 0, -4]);
    expect(whole.map((frame) => frame.body.length)).toEqual([0, 6, 1, 1, 5]);
    for (let cut = 0; cut <= wire.length; cut++) {
      const connection = core.openConnection();
      const frames = whatArrives(core, connection, wire.subarray(0, cut));
      frames.push(...whatArrives(core, connection, wire.subarray(cut)));
      expect(frames).toEqual(whole);
      core.closeConnection(connection);
    }
  });

  test("codec-2: a frame comes out with its last byte, and three bytes of the next one do not disturb it", () => {
    const core = openCore();
    const connection = core.openConnection();
    const a = answer(1, utf8("A")), b = answer(2, utf8("B"));
    for (let i = 0; i < a.length; i++) {
      expect(opaques(whatArrives(core, connection, a.subarray(i, i + 1)))).toEqual(i === a.length - 1 ? [1] : []);
    }
    expect(opaques(whatArrives(core, connection, concat([a, b.subarray(0, 3)])))).toEqual([1]);
    expect(opaques(whatArrives(core, connection, b.subarray(3)))).toEqual([2]);
    expect(whatArrives(core, connection, new Uint8Array(0))).toEqual([]);
  });

  test("codec-3: two responses and half of a third in one chunk: two come out, the half waits for its remainder", () => {
    const core = openCore();
    const connection = core.openConnection();
    const third = answer(3, utf8("third"));
    const frames = whatArrives(core, connection, concat([answer(1), answer(2), third.subarray(0, 40)]));
    expect(opaques(frames)).toEqual([1, 2]);
    expect(opaques(whatArrives(core, connection, third.subarray(40)))).toEqual([3]);
  });

  test("frames behind one whose sink throws reach nobody, least of all another connection's sink", () => {
    const core = openCore();
    const one = core.openConnection(), other = core.openConnection();
    const failing = (): void => {
      throw new Error("not this one");
    };
    expect(() => arrive(core, one, concat([answer(1), answer(2), answer(3)]), failing)).toThrow("not this one");
    core.closeConnection(one);
    expect(opaques(whatArrives(core, other, answer(9)))).toEqual([9]);
  });

  test("codec-4: a frame of 6.4 MiB comes out whole, however its reads fall", () => {
    const core = openCore(32);
    const start = core.bytesInUse;
    const body = pattern(32 * 200 * 1024);
    const connection = core.openConnection();
    const frames = feedAll(core, connection, concat([answer(1), answer(2, body), answer(3)]));
    expect(opaques(frames)).toEqual([1, 2, 3]);
    expect(frames[1]!.inArena).toBe(true);
    expect(sameBytes(frames[1]!.body, body)).toBe(true);
    core.room(connection);
    core.closeConnection(connection);
    expect(core.bytesInUse).toBe(start);
  });

  test.each([
    ["codec-5: HTTP/1.1", utf8("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["codec-5: PRI", Uint8Array.of(0x50, 0x52, 0x49, 0x20)],
    ["codec-5: 7F FF FF FF", Uint8Array.of(0x7f, 0xff, 0xff, 0xff)],
    ["codec-5: 80 00 00 00", Uint8Array.of(0x80, 0, 0, 0)],
    ["codec-5: 00 00 00 00", Uint8Array.of(0, 0, 0, 0)],
    ["codec-5: one byte more than a frame may have", int32(abi.FRAME_MAX - 3)],
    ["codec-6: a header of 65,535 bytes in a frame of 8", Uint8Array.of(0, 0, 0, 8, 0, 0, 0xff, 0xff, 0, 0, 0, 0)],
    ["codec-6: no room for a header word", Uint8Array.of(0, 0, 0, 2, 0, 0)],
    ["codec-6: serializer byte 7", Uint8Array.of(0, 0, 0, 4, 7, 0, 0, 0)],
    ["codec-6: serializer byte 128", Uint8Array.of(0, 0, 0, 4, 128, 0, 0, 0)],
    ["codec-6: bad lengths in a frame larger than the inbox", Uint8Array.of(0, 3, 0, 0, 0, 0xff, 0, 0)],
    ["codec-6: bad type in a frame larger than the inbox", Uint8Array.of(0, 3, 0, 0, 2, 0, 0, 0)],
  ])("%s is refused, after the frames before it and for good", (_, garbage) => {
    const core = openCore();
    const start = core.bytesInUse;
    for (let cut = 0; cut <= garbage.length; cut++) {
      const connection = core.openConnection(), other = core.openConnection();
      const frames: KeptFrame[] = [];
      expect(() => {
        arrive(core, connection, concat([answer(1), garbage.subarray(0, cut)]), (frame) => frames.push(keep(frame)));
        arrive(core, connection, garbage.subarray(cut), (frame) => frames.push(keep(frame)));
      }).toThrow(FrameError);
      expect(opaques(frames)).toEqual([1]);
      expect(() => core.feed(connection, 0, () => {})).toThrow(FrameError);
      expect(core.failure).toBeUndefined();
      expect(opaques(whatArrives(core, other, answer(2)))).toEqual([2]);
      core.closeConnection(connection);
      core.closeConnection(other);
    }
    expect(core.bytesInUse).toBe(start);
  });

  test("codec-6: a JSON header cut short is one frame that is left to TypeScript", () => {
    const core = openCore();
    const frames = feedAll(core, core.openConnection(), concat([frameBytes('{"code":', utf8("7}")), answer(2)]));
    expect(frames.map(({ fields }) => fields & abi.FIELD_READ)).toEqual([0, abi.FIELD_READ]);
    expect(frames[0]!.code).toBe(0);
    expect(frames[0]!.header).toEqual(utf8('{"code":'));
  });

  test("frames of every size around the inbox's come out whole, wherever they begin in it", () => {
    const core = openCore();
    const start = core.bytesInUse;
    const sizes = [-70, -64, -1, 0, 1, 2, 64, 100].map((more) => MOST_IN_INBOX + more);
    for (const first of [0, 1, 200, MOST_IN_INBOX - 200, MOST_IN_INBOX - 3]) {
      const connection = core.openConnection();
      const filler = first > 150 ? frameOf(first, 9) : new Uint8Array(0);
      for (const size of sizes) {
        const frame = frameOf(size, 1);
        const frames = feedAll(core, connection, concat([filler, frame, answer(2)]));
        const wanted = first > 150 ? [9, 1, 2] : [1, 2];
        expect(opaques(frames)).toEqual(wanted);
        expect(sameBytes(frames.at(-2)!.body, frame.subarray(8 + answerHeader(1).length))).toBe(true);
      }
      core.closeConnection(connection);
    }
    expect(core.bytesInUse).toBe(start);
  });

  test("the largest frame there may be fits an arena of 64 MiB, in a block that is freed with the next read", () => {
    const core = openCore(64);
    const connection = core.openConnection();
    const before = core.bytesInUse;
    const frame = frameOf(abi.FRAME_MAX, 1);
    const frames = feedAll(core, connection, frame);
    expect(opaques(frames)).toEqual([1]);
    expect(frames[0]!.inArena).toBe(true);
    expect(sameBytes(frames[0]!.body, frame.subarray(8 + answerHeader(1).length))).toBe(true);
    expect(core.bytesInUse).toBe(before + 32 * MIB);
    core.room(connection);
    expect(core.bytesInUse).toBe(before);
  });

  test("a large frame that finds no block is read outside the arena, and the frames around it come out too", () => {
    const core = openCore(1);
    const connection = core.openConnection();
    const before = core.bytesInUse;
    const large = frameOf(3 * MIB, 2);
    const wire = concat([answer(1), large, answer(3), large, answer(4)]);
    const frames = feedAll(core, connection, wire);
    expect(opaques(frames.filter((frame) => frame.inArena))).toEqual([1, 3, 4]);
    expect(frames.map((frame) => frame.inArena)).toEqual([true, false, true, false, true]);
    expect(frames[1]!.header).toEqual(utf8(answerHeader(2)));
    expect(sameBytes(frames[3]!.body, large.subarray(8 + answerHeader(2).length))).toBe(true);
    expect(core.bytesInUse).toBe(before);
  });

  test("a large frame whose first bytes come one by one finds its block, or its way outside", () => {
    for (const coreMemory of [1, 8]) {
      const core = openCore(coreMemory);
      const connection = core.openConnection();
      const large = frameOf(MIB, 1);
      for (let i = 0; i < 12; i++) expect(whatArrives(core, connection, large.subarray(i, i + 1))).toEqual([]);
      const frames = feedAll(core, connection, concat([large.subarray(12), answer(2)]));
      expect(frames.map((frame) => frame.inArena)).toEqual([coreMemory === 8, true]);
      expect(sameBytes(frames[0]!.body, large.subarray(8 + answerHeader(1).length))).toBe(true);
    }
  });

  test("more frames than completions in one read: the ring is drained and filled again", () => {
    const core = openCore();
    const shortest = frameBytes("");
    const count = Math.floor(MOST_IN_INBOX / shortest.length);
    expect(count).toBeGreaterThan(10 * abi.COMPLETION_ENTRIES);
    const frames = whatArrives(core, core.openConnection(), concat(Array.from({ length: count }, () => shortest)));
    expect(frames.length).toBe(count);
    expect(frames.every(({ fields, body }) => fields === 0 && body.length === 0)).toBe(true);
  });

  test("a ring that is full when a large frame is complete delivers it after it was drained", () => {
    const core = new TinyDriver();
    const { handle, ptr } = core.run({ opcode: abi.OP_CONNECTION_OPEN });
    const large = frameOf(200_000, 5);
    const shorts = concat(Array.from({ length: abi.COMPLETION_ENTRIES }, () => frameBytes("")));
    core.bytes.set(concat([shorts, large.subarray(0, 100)]), ptr);
    const first = core.run({ opcode: abi.OP_FEED, handle, len: shorts.length + 100 });
    expect(first.result).toBe(abi.FEED_DONE);
    const room = core.run({ opcode: abi.OP_ROOM, handle });
    expect(room.len).toBe(large.length - 100);
    core.bytes.set(large.subarray(100), room.ptr);
    expect(core.run({ opcode: abi.OP_FEED, handle, len: room.len }).result).toBe(abi.FEED_MORE);
    expect(core.run({ opcode: abi.OP_ROOM, handle }).result).toBe(abi.E_NOT_READY);
    expect(core.run({ opcode: abi.OP_FEED, handle, len: 1 }).result).toBe(abi.E_BAD_ARGUMENT);
    core.setIndex(abi.CQ_TAIL, core.index(abi.CQ_HEAD));
    expect(core.run({ opcode: abi.OP_FEED, handle }).result).toBe(abi.FEED_DONE);
    const at = core.completion(core.index(abi.CQ_HEAD) - 1);
    expect(core.view.getInt32(at + abi.COMPLETION_TOKEN, true)).toBe(5);
    expect(core.run({ opcode: abi.OP_ROOM, handle }).len).toBe(MOST_IN_INBOX);
  });

  test("an entry does not inherit what was in it before", () => {
    const core = openCore();
    const connection = core.openConnection();
    const full =
      '{"code":17,"extFields":{"queueOffset":"1","queueId":"2","maxOffset":"3","msgId":"M","suggestWhichBrokerId":"4"},' +
      '"flag":1,"opaque":5,"remark":"r"}';
    const wire = concat(Array.from({ length: abi.COMPLETION_ENTRIES }, () => frameBytes(full)));
    feedAll(core, connection, wire);
    const empty = { opaque: 0, code: 0, flag: 0, a: 0, b: 0, c: 0, brokerId: 0, text: "" };
    const [none, broken, binary] = feedAll(
      core,
      connection,
      concat([frameBytes("{}"), frameBytes(full.slice(0, -1)), frameBytes(Uint8Array.of(1), undefined, BINARY_KIND)]),
    );
    expect(none).toMatchObject({ ...empty, fields: abi.FIELD_READ });
    expect(broken).toMatchObject({ ...empty, fields: 0 });
    expect(binary).toMatchObject({ ...empty, fields: 0 });
  });

  test("a half frame is moved to the front with all that has arrived of it", () => {
    const core = openCore();
    const connection = core.openConnection();
    const frame = frameOf(100_000, 1);
    const half = frameOf(100_001, 2);
    whatArrives(core, connection, concat([frame, half.subarray(0, 30_000)]));
    expect(core.room(connection).length).toBe(MOST_IN_INBOX - 30_000);
    const frames = whatArrives(core, connection, half.subarray(30_000));
    expect(sameBytes(frames[0]!.body, half.subarray(8 + answerHeader(2).length))).toBe(true);
    expect(core.room(connection).length).toBe(MOST_IN_INBOX);
  });

  test("many connections in random turns, split at random places, keep apart what they read", () => {
    const seed = freshSeed();
    console.log(`stream seed ${seed}`);
    const random = new Random(seed);
    const core = openCore(8);
    const start = core.bytesInUse;
    const readers = Array.from({ length: 30 }, (_, index) => {
      const wire = Array.from({ length: 30 }, (_, n) => {
        const size = random.once(10) ? random.below(400_000) : random.below(3_000);
        return answer(index * 100 + n, random.bytes(size));
      });
      return { connection: core.openConnection(), wire, bytes: concat(wire), at: 0, frames: [] as KeptFrame[] };
    });
    const open = new Set(readers);
    while (open.size > 0) {
      const reader = random.pick([...open]);
      const room = core.room(reader.connection);
      const part = reader.bytes.subarray(
        reader.at,
        reader.at + Math.min(room.length, 1 + random.below(random.pick([9, 100_000]))),
      );
      room.set(part);
      core.feed(reader.connection, part.length, (frame) => reader.frames.push(keep(frame)));
      reader.at += part.length;
      if (reader.at === reader.bytes.length) open.delete(reader);
    }
    for (const { connection, wire, frames } of readers) {
      expect(frames.length).toBe(wire.length);
      frames.forEach((frame, n) => {
        expect(sameBytes(concat([int32(frame.header.length), frame.header, frame.body]), wire[n]!.subarray(4))).toBe(
          true,
        );
      });
      core.closeConnection(connection);
    }
    expect(core.bytesInUse).toBe(start);
  });

  test("closing gives back what a half read frame holds", () => {
    const core = openCore();
    const start = core.bytesInUse;
    const large = frameOf(2 * MIB, 1);
    for (const length of [0, 3, 100, 120_000]) {
      const connection = core.openConnection();
      arrive(core, connection, large.subarray(0, length), () => {});
      core.closeConnection(connection);
      expect(core.bytesInUse).toBe(start);
    }
    const connection = core.openConnection();
    feedAll(core, connection, large);
    core.closeConnection(connection);
    expect(core.bytesInUse).toBe(start);
  });

  test("connections are at most CONNECTIONS, and a closed one's handle names nothing any more", () => {
    const core = new TinyDriver({ pages: 256 * 16 });
    const open = () => core.run({ opcode: abi.OP_CONNECTION_OPEN });
    const handles = Array.from({ length: abi.CONNECTIONS }, () => open().handle);
    expect(new Set(handles).size).toBe(abi.CONNECTIONS);
    expect(open().result).toBe(abi.E_NO_ROOM);
    const handle = handles[500]!;
    expect(core.run({ opcode: abi.OP_CONNECTION_CLOSE, handle }).result).toBe(0);
    const again = open();
    expect(again.result).toBe(0);
    expect(again.handle).not.toBe(handle);
    for (const opcode of [abi.OP_ROOM, abi.OP_FEED, abi.OP_CONNECTION_CLOSE]) {
      for (const wrong of [handle, again.handle + abi.CONNECTIONS, 2 ** 32 - 1]) {
        expect(core.run({ opcode, handle: wrong }).result).toBe(abi.E_BAD_HANDLE);
      }
    }
  });

  test("more bytes than the room had are refused, and the connection goes on", () => {
    const core = new TinyDriver();
    const { handle, ptr, len } = core.run({ opcode: abi.OP_CONNECTION_OPEN });
    expect(len).toBe(MOST_IN_INBOX);
    for (const wrong of [len + 1, 2 ** 31, 2 ** 32 - 1]) {
      expect(core.run({ opcode: abi.OP_FEED, handle, len: wrong }).result).toBe(abi.E_BAD_ARGUMENT);
    }
    core.bytes.set(answer(1), ptr);
    expect(core.run({ opcode: abi.OP_FEED, handle, len: answer(1).length }).result).toBe(abi.FEED_DONE);
    expect(core.index(abi.CQ_HEAD)).toBe(1);
  });
});
