import { describe, expect, test } from "vitest";
import { type Core, type Frame, TagFilter, type Taking } from "../../client/core.ts";
import * as abi from "../../core-as/abi.ts";
import { openCore, TinyDriver } from "../support/core.ts";
import { concat, frameBytes } from "../support/frames.ts";
import { crc32 } from "./crc32_model.ts";
import { elementBytes, recordBytes, type RecordFields } from "./record_bytes.ts";
import { freshSeed, Random } from "./random.ts";
import { randomBody, randomRecord } from "./random_records.ts";
import { type Row, rowsAt } from "./row.ts";
import { modelTake, type TakeOptions } from "./take_model.ts";
import { modelWalk } from "./walk_model.ts";

const text = new TextEncoder();
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Hands the body over in a frame, as a connection does. */
function withFrame(core: Core, body: Uint8Array, use: (frame: Frame) => void): void {
  const connection = core.openConnection(), wire = frameBytes("{}", body);
  for (let at = 0; at < wire.length;) {
    const room = core.room(connection), part = wire.subarray(at, at + room.length);
    room.set(part);
    at += part.length;
    core.feed(connection, part.length, use);
  }
  core.closeConnection(connection);
}

/** All rows of all commands, until the walk ends, stops or finds no room. */
function takeAll(core: Core, frame: Frame, taking: Taking): Row[] {
  const rows: Row[] = [];
  for (let from = 0; from < frame.bodyLength; from = core.walkedTo) {
    const count = core.takeIn(frame, from, taking);
    if (count === 0) break;
    const table = new Uint8Array(count * abi.ROW_SIZE);
    core.copyRows(count, table, 0);
    rows.push(...rowsAt(table, 0, count));
    const last = rows.at(-1)!;
    if (last.kind === abi.ROW_BATCH && last.status === abi.ROW_OK) break;
  }
  return rows;
}

const taking = (queue: number, more: Partial<Taking> = {}): Taking => ({
  queue,
  lowest: 0,
  tags: undefined,
  checkCrc: true,
  noteAscii: false,
  ...more,
});

const record = (queueOffset: number | bigint, tags = "", body = "body") =>
  recordBytes({ queueOffset: BigInt(queueOffset), body: text.encode(body), properties: tags && `TAGS\x01${tags}\x02` });

describe("one command", () => {
  const OK = abi.ROW_OK, FILTERED = abi.ROW_FILTERED, BAD = abi.ROW_BAD_RECORD, DUPLICATE = abi.ROW_DUPLICATE;

  test("filters by tag and lowest offset, notes what is there already, and enters the rest", () => {
    const core = openCore(), queue = core.openQueue();
    core.putOffsets(queue, [14], [100]);
    const body = concat([
      record(9, "paid"),
      record(10, "paid", "twelve bytes"),
      record(11, "refunded"),
      record(12),
      record(13, "pai"),
      record(14, "paid"),
      record(15, "größer als sechzehn"),
      record(-1, "paid"),
    ]);
    const tags = new TagFilter(["paid", "größer als sechzehn", "größer als sechzehm"]);
    withFrame(core, body, (frame) => {
      const rows = takeAll(core, frame, taking(queue, { lowest: 10, tags }));
      expect(rows.map(({ status }) => status)).toEqual([
        ...[FILTERED, OK, FILTERED, FILTERED, FILTERED, DUPLICATE, OK, BAD],
      ]);
    });
    expect(core.queueState(queue)).toMatchObject({ count: 3, bytes: 116, min: 10, max: 15 });
  });

  test("a pull into the middle of an inner batch leaves the elements before it out", () => {
    const core = openCore(), queue = core.openQueue();
    const elements = concat(numbers(5).map((index) => elementBytes(text.encode(String(index)), "TAGS\x01a\x02")));
    const body = recordBytes({ sysFlag: 0xc0, queueOffset: 100n, body: elements });
    withFrame(core, body, (frame) => {
      const rows = takeAll(core, frame, taking(queue, { lowest: 103, tags: new TagFilter(["a"]) }));
      expect(rows.map(({ status }) => status)).toEqual([FILTERED, FILTERED, FILTERED, OK, OK]);
    });
    expect(core.takeOffsets(queue, 9)).toEqual([103, 104]);
  });

  test("what lies behind an inner batch that is unwrapped elsewhere does not go in before it", () => {
    const core = openCore(), queue = core.openQueue();
    const body = concat([record(1), recordBytes({ sysFlag: 0xc1, queueOffset: 2n }), record(3)]);
    withFrame(core, body, (frame) => {
      const rows = takeAll(core, frame, taking(queue));
      expect(rows.map(({ kind }) => kind)).toEqual([abi.ROW_PLAIN, abi.ROW_BATCH]);
      expect(core.walkedTo).toBe(frame.bodyLength - record(3).length);
    });
    expect(core.takeOffsets(queue, 9)).toEqual([1]);
  });

  test("takes 1,024 rows, and goes on in the next", () => {
    const core = openCore(), queue = core.openQueue();
    withFrame(core, concat(numbers(2_500).map((offset) => record(offset, "", "b"))), (frame) => {
      expect(core.takeIn(frame, 0, taking(queue))).toBe(abi.ROW_ENTRIES);
      expect(takeAll(core, frame, taking(queue)).filter(({ status }) => status === DUPLICATE).length).toBe(1_024);
    });
    expect(core.queueState(queue)).toMatchObject({ count: 2_500, min: 0, max: 2_499, span: 2_499 });
  });

  test("offsets from 2^53 to the last one go in exactly", () => {
    const core = openCore(), queue = core.openQueue(), offsets = [2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n];
    withFrame(core, concat(offsets.map((offset) => record(offset))), (frame) => {
      takeAll(core, frame, taking(queue, { lowest: 2n ** 53n }));
    });
    expect(core.takeOffsets(queue, 9)).toEqual(offsets);
    expect(core.removeOffset(queue, offsets[0]!)).toBe(offsets[1]);
  });
});

describe("a full queue", () => {
  /** A queue with all its leaves but some. */
  function fullBut(core: Core, leaves: number): number {
    const queue = core.openQueue();
    const offsets = numbers(abi.QUEUE_LEAVES - leaves).map((leaf) => leaf * 64);
    core.putOffsets(queue, offsets, offsets.map(() => 1));
    return queue;
  }
  const BEYOND = abi.QUEUE_LEAVES * 64;

  test("takes what finds room, says which offset did not, and takes that when there is room again", () => {
    const core = openCore(), queue = fullBut(core, 2), offsets = numbers(4).map((leaf) => BEYOND + leaf * 64);
    withFrame(core, concat(offsets.map((offset) => record(offset))), (frame) => {
      expect(core.takeIn(frame, 0, taking(queue))).toBe(2);
      const { walkedTo } = core;
      expect(walkedTo).toBe(frame.bodyLength / 2);
      expect(core.takeIn(frame, walkedTo, taking(queue))).toBe(0);
      expect([core.walkedTo, core.failedOffset]).toEqual([walkedTo, offsets[2]]);
      core.removeOffsets(queue, [0, 64]);
      expect(core.takeIn(frame, walkedTo, taking(queue))).toBe(2);
    });
    expect(core.queueState(queue).max).toBe(offsets[3]);
  });

  test("inside an inner batch, takes the elements before, and none twice", () => {
    const core = openCore(), queue = fullBut(core, 1);
    const elements = concat(numbers(100).map(() => elementBytes(text.encode("x"))));
    const body = recordBytes({ sysFlag: 0xc0, queueOffset: BigInt(BEYOND + 4), body: elements });
    withFrame(core, body, (frame) => {
      expect(core.takeIn(frame, 0, taking(queue))).toBe(60);
      expect(core.walkedTo).toBe(0);
      expect(core.takeIn(frame, 0, taking(queue))).toBe(0);
      expect(core.failedOffset).toBe(BEYOND + 64);
      core.removeOffset(queue, 0);
      expect(core.takeIn(frame, 0, taking(queue))).toBe(100);
      expect(core.walkedTo).toBe(frame.bodyLength);
      expect(numbers(100).map((row) => core.rowStatus(row))).toEqual(
        numbers(100).map((row) => row < 60 ? abi.ROW_DUPLICATE : abi.ROW_OK),
      );
    });
  });
});

describe("with a runtime's own checksum", () => {
  const OK = abi.ROW_OK, BAD_CRC = abi.ROW_BAD_CRC, FILTERED = abi.ROW_FILTERED, DUPLICATE = abi.ROW_DUPLICATE;
  /** A core that counts what is asked of the runtime. */
  function openCounting(): { readonly core: Core; readonly lengths: number[] } {
    const lengths: number[] = [];
    const core = openCore(16, (bytes) => {
      lengths.push(bytes.length);
      return crc32(bytes);
    });
    return { core, lengths };
  }
  const sized = (queueOffset: number, length: number, fields: RecordFields = {}) =>
    recordBytes({ queueOffset: BigInt(queueOffset), body: new Uint8Array(length).fill(queueOffset), ...fields });
  const LONG = abi.CRC_LONG, SHORT = LONG - 1;

  test("it compares long bodies and the core the others; what is wrong is not in the queue", () => {
    const { core, lengths } = openCounting(), queue = core.openQueue();
    const body = concat([
      sized(1, SHORT),
      sized(2, SHORT, { bodyCRC: 1 }),
      sized(3, LONG),
      sized(4, LONG, { bodyCRC: 1 }),
      sized(5, LONG),
      sized(6, 40_000, { bodyCRC: 2 }),
    ]);
    withFrame(core, body, (frame) => {
      expect(takeAll(core, frame, taking(queue)).map(({ status }) => status)).toEqual(
        [OK, BAD_CRC, OK, BAD_CRC, OK, BAD_CRC],
      );
    });
    expect(lengths).toEqual([LONG, LONG, LONG, 40_000]);
    expect(core.queueState(queue)).toMatchObject({ count: 3, bytes: SHORT + 2 * LONG, min: 1 });
    expect(core.takeOffsets(queue, 9)).toEqual([1, 3, 5]);
  });

  test("it is not asked when nobody wants to know, for what is not for us, and for inner batches", () => {
    const { core, lengths } = openCounting(), queue = core.openQueue();
    const elements = concat(numbers(100).map(() => elementBytes(text.encode("an element"))));
    const body = concat([
      sized(1, LONG),
      sized(7, LONG),
      recordBytes({ sysFlag: 0xc0, queueOffset: 8n, body: elements, bodyCRC: 1 }),
    ]);
    withFrame(core, body, (frame) => {
      const statuses = (more: Partial<Taking>) => takeAll(core, frame, taking(queue, more)).map(({ status }) => status);
      expect(statuses({ lowest: 1_000, checkCrc: false }).every((status) => status === FILTERED)).toBe(true);
      expect(lengths).toEqual([]);
      expect(statuses({ lowest: 5 })).toEqual([FILTERED, OK, BAD_CRC]);
    });
    expect(lengths).toEqual([LONG]);
  });

  test("any body is taken in as without one; only what is not for us anyway is not compared", () => {
    const seed = freshSeed(), random = new Random(seed), plain = openCore(), { core, lengths } = openCounting();
    let bad = 0;
    for (let round = 0; round < 1_500; round++) {
      const body = random.once(2)
        ? randomBody(random)
        : concat(numbers(random.below(6)).map(() => randomRecord(random)));
      const offsets = modelWalk(body, false).map(({ queueOffset }) => queueOffset);
      // Of two messages with one offset the first counts; whether it is sound is known here too late for the second.
      if (new Set(offsets).size < offsets.length) continue;
      const tags = random.once(2) ? undefined : new TagFilter(["v", "vv", "vvv"]),
        context = `seed ${seed}, round ${round}`;
      const [one, other] = [plain, core].map((each) => {
        const queue = each.openQueue();
        let rows: Row[] = [];
        withFrame(each, body, (frame) => rows = takeAll(each, frame, taking(queue, { tags })));
        const taken = each.takeOffsets(queue, 4_096), { bytes } = each.queueState(queue);
        each.closeQueue(queue);
        return { rows, taken, bytes };
      });
      expect([other!.taken, other!.bytes], context).toEqual([one!.taken, one!.bytes]);
      const rows = other!.rows.map((row, i) => {
        const expected = one!.rows[i]!.status, isOthers = row.status === FILTERED || row.status === DUPLICATE;
        bad += Number(row.status === BAD_CRC);
        return expected === BAD_CRC && isOthers ? { ...row, status: BAD_CRC } : row;
      });
      expect(rows, context).toEqual(one!.rows);
    }
    expect(bad).toBeGreaterThan(20);
    expect(lengths.length).toBeGreaterThan(20);
  });
});

test("any body is taken in as the model does, with any tags and any lowest offset", () => {
  const seed = freshSeed(), random = new Random(seed), core = openCore();
  let entered = 0, filtered = 0, duplicates = 0, stops = 0;
  for (let round = 0; round < 3_000; round++) {
    const body = random.once(2) ? randomBody(random) : concat(numbers(random.below(6)).map(() => randomRecord(random)));
    const queue = core.openQueue(),
      held = modelWalk(body, false).map(({ queueOffset }) => queueOffset)
        .filter((offset) => offset >= 0 && random.once(5));
    core.putOffsets(queue, held, held.map(() => 1));
    const options: TakeOptions = {
      lowest: random.once(3) ? BigInt(random.below(2 ** 31)) * BigInt(random.below(2 ** 20)) : 0n,
      tags: random.once(2) ? undefined : numbers(random.below(4)).map(() => "v".repeat(1 + random.below(20))),
      held: new Set(held),
      noteAscii: random.once(2),
    };
    const expected = modelTake(modelWalk(body, true), body, options), context = `seed ${seed}, round ${round}`;
    withFrame(core, body, (frame) => {
      const { lowest, noteAscii } = options, tags = options.tags && new TagFilter(options.tags);
      expect(takeAll(core, frame, taking(queue, { lowest, tags, noteAscii })), context).toEqual(expected.rows);
    });
    const { count, bytes } = core.queueState(queue);
    const size = [...expected.entered.values()].reduce((sum, length) => sum + length, 0);
    expect([count, bytes], context).toEqual([
      new Set(held).size + expected.entered.size,
      new Set(held).size + size,
    ]);
    core.closeQueue(queue);
    entered += expected.entered.size;
    filtered += expected.rows.filter(({ status }) => status === abi.ROW_FILTERED).length;
    duplicates += expected.rows.filter(({ status }) => status === abi.ROW_DUPLICATE).length;
    stops += Number(expected.stops);
  }
  for (const count of [entered, filtered, duplicates, stops]) expect(count).toBeGreaterThan(50);
});

test("a body is ASCII when no byte of it has its high bit, wherever that is, and only when somebody asks", () => {
  const seed = freshSeed(), random = new Random(seed), core = openCore();
  for (let round = 0; round < 400; round++) {
    const length = random.below(random.once(5) ? 1_200 : 100), noteAscii = random.once(3), isAlike = random.once(2);
    const bodies = numbers(8).map(() => {
      const body = random.bytes(isAlike ? length : random.below(100)).map((byte) => byte & 0x7f);
      if (random.once(2) && body.length > 0) body[random.below(body.length)]! |= 0x80;
      return body;
    });
    // What stands around a body is not part of it.
    const body = concat(
      bodies.map((each, index) =>
        recordBytes({ queueOffset: BigInt(index), body: each, topic: "\u00e9", properties: "TAGS\x01\u00e9\x02" })
      ),
    );
    const queue = core.openQueue();
    withFrame(core, body, (frame) => {
      const rows = takeAll(core, frame, taking(queue, { noteAscii }));
      expect(rows.map(({ isAscii }) => isAscii), `seed ${seed}, round ${round}`)
        .toEqual(bodies.map((each) => Number(noteAscii && each.every((byte) => byte < 128))));
    });
    core.closeQueue(queue);
  }
});

test("records whose properties look alike are told apart: layouts are learned, and never believed", () => {
  const seed = freshSeed(), random = new Random(seed), core = openCore();
  const names = ["TAGS", "KEYS", "UNIQ_KEY", "WAIT", "TRACE"];
  for (let round = 0; round < 400; round++) {
    const properties = numbers(2 + random.below(4)).map(() =>
      `${random.pick(names)}\x01${"v".repeat(1 + random.below(30))}\x02`
    ).join("");
    // The same length, with one byte changed: in a name, a value or a separator.
    const alike = numbers(12).map(() => {
      const at = random.below(properties.length), byte = random.pick(["\x01", "\x02", "x", "S", "\x00"]);
      return random.once(3) ? properties : properties.slice(0, at) + byte + properties.slice(at + 1);
    });
    const body = concat(alike.map((each) => recordBytes({ properties: each, topic: "T".repeat(random.below(20)) })));
    const block = core.allocateBlock(body.length);
    core.write(block, body);
    const count = core.walkAt(block, body.length, 0, true), table = new Uint8Array(count * abi.ROW_SIZE);
    core.copyRows(count, table, 0);
    core.freeBlock(block);
    expect(rowsAt(table, 0, count), `seed ${seed}, round ${round}`).toEqual(modelWalk(body, true));
  }
});

test("records that look like the one before are read as any other, with any byte of them changed", () => {
  const seed = freshSeed(), random = new Random(seed), core = openCore();
  for (let round = 0; round < 600; round++) {
    const good = randomRecord(random),
      body = concat(
        numbers(12).map((index) => {
          const copy = good.slice();
          if (index > 2 && random.once(2)) copy[random.below(copy.length)]! ^= 1 << random.below(8);
          return copy;
        }),
      );
    const block = core.allocateBlock(body.length), checkCrc = random.once(2);
    core.write(block, body);
    const rows: Row[] = [];
    for (let from = 0; from < body.length; from = core.walkedTo) {
      const count = core.walkAt(block, body.length, from, checkCrc), table = new Uint8Array(count * abi.ROW_SIZE);
      core.copyRows(count, table, 0);
      rows.push(...rowsAt(table, 0, count));
    }
    core.freeBlock(block);
    expect(rows, `seed ${seed}, round ${round}`).toEqual(modelWalk(body, checkCrc));
  }
});

test("a run of records of one size whose properties differ teaches the core nothing wrong", () => {
  const seed = freshSeed(), random = new Random(seed), core = openCore();
  const pairs = ["TAGS\x01a\x02", "KEYS\x01b\x02", "WAIT\x01c\x02", "TAG\x01dd\x02", "TAGS\x01\x02f", "xxxx\x01y\x02"];
  for (let round = 0; round < 60; round++) {
    // Now a run of changing ones, longer than the pause in learning begins at, now a run of equal ones.
    const records: Uint8Array[] = [];
    while (records.length < 900) {
      const properties = () => numbers(4).map(() => random.pick(pairs)).join("");
      const same = properties();
      for (let run = random.below(90), isSame = random.once(2); run > 0; run--) {
        records.push(recordBytes({ properties: isSame ? same : properties() }));
      }
    }
    const body = concat(records.slice(0, 900)), block = core.allocateBlock(body.length);
    core.write(block, body);
    const count = core.walkAt(block, body.length, 0, true), table = new Uint8Array(count * abi.ROW_SIZE);
    core.copyRows(count, table, 0);
    core.freeBlock(block);
    expect(rowsAt(table, 0, count), `seed ${seed}, round ${round}`).toEqual(modelWalk(body, true));
  }
});

test("a queue that is none, and tags that reach out of the argument area, are refused", () => {
  const core = new TinyDriver(), ptr = core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: 100 }).result;
  const walk = (more: object) => core.run({ opcode: abi.OP_WALK, ptr, len: 0, ...more }).result;
  expect(walk({ flags: abi.WALK_PUT, handle: 7 })).toBe(abi.E_BAD_HANDLE);
  const { handle } = core.run({ opcode: abi.OP_QUEUE_OPEN });
  expect(walk({ flags: abi.WALK_PUT, handle })).toBe(0);
  core.bytes.fill(0xff, core.control + abi.ARGUMENT_TEXT, core.control + abi.ARGUMENT_TEXT + 2);
  expect(walk({ flags: abi.WALK_TAGS, token: 1 })).toBe(abi.E_BAD_ARGUMENT);
  core.bytes.fill(0, core.control + abi.ARGUMENT_TEXT, core.control + abi.ARGUMENT_TEXT + abi.ARGUMENT_BYTES);
  expect(walk({ flags: abi.WALK_TAGS, token: abi.ARGUMENT_BYTES / 2 })).toBe(0);
  expect(walk({ flags: abi.WALK_TAGS, token: abi.ARGUMENT_BYTES / 2 + 1 })).toBe(abi.E_BAD_ARGUMENT);
  expect(walk({ flags: abi.WALK_TAGS, token: 2 ** 32 - 1 })).toBe(abi.E_BAD_ARGUMENT);
});
