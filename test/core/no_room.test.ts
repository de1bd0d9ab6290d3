// What every opcode does when the arena is full: those that need a block say so, change nothing, and work again when there is
// room; the others do not notice.

import { expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { type Answer, type Command, TinyDriver } from "../support/core.ts";
import { concat, frameBytes } from "../support/frames.ts";
import { recordBytes } from "./record_bytes.ts";

/** An opcode that needs a block. */
interface Taker {
  /** While there is room: what the command needs. Returns the command. */
  prepare(core: TinyDriver): () => Answer;
  /** What it answers without room; E_NO_ROOM unless given. */
  readonly without?: number;
  /** Gives back what the command, once it worked, has taken, and what was prepared. */
  undo(core: TinyDriver, answer: Answer): void;
}

const run = (core: TinyDriver, command: Command) => (): Answer => core.run(command);

function openQueue(core: TinyDriver): number {
  const { result, handle } = core.run({ opcode: abi.OP_QUEUE_OPEN });
  expect(result).toBe(0);
  return handle;
}

/** Far apart, so that each needs a leaf of its own. */
function writePairs(core: TinyDriver, count: number, first = 0): void {
  for (let i = 0; i < count; i++) {
    const at = core.control + abi.ARGUMENT_TEXT + i * abi.PAIR_SIZE;
    core.view.setBigInt64(at, BigInt((first + i) * 64), true);
    core.view.setUint32(at + abi.PAIR_BYTES, 1, true);
  }
}

/** Bytes in a block of their own. */
function allocate(core: TinyDriver, bytes: Uint8Array): number {
  const { result } = core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: bytes.length });
  expect(result).toBeGreaterThan(0);
  core.bytes.set(bytes, result);
  return result;
}

const closeQueue = (core: TinyDriver, handle: number): void => {
  expect(core.run({ opcode: abi.OP_QUEUE_CLOSE, handle }).result).toBe(0);
};

const TAKERS: Readonly<Record<string, Taker>> = {
  OP_ALLOCATE_BLOCK: {
    prepare: (core) => run(core, { opcode: abi.OP_ALLOCATE_BLOCK, len: 100_000 }),
    undo: (core, { result }) => void core.run({ opcode: abi.OP_FREE_BLOCK, ptr: result }),
  },
  OP_CONNECTION_OPEN: {
    prepare: (core) => run(core, { opcode: abi.OP_CONNECTION_OPEN }),
    undo: (core, { handle }) => void core.run({ opcode: abi.OP_CONNECTION_CLOSE, handle }),
  },
  // A frame larger than its inbox: the host reads it elsewhere, and the connection goes on behind it.
  OP_FEED: {
    prepare: (core) => {
      const { handle, ptr } = core.run({ opcode: abi.OP_CONNECTION_OPEN });
      const start = frameBytes("{}", new Uint8Array(300_000)).slice(0, 1000);
      return () => {
        const { ptr: at } = core.run({ opcode: abi.OP_ROOM, handle });
        core.bytes.set(start, at || ptr);
        return { ...core.run({ opcode: abi.OP_FEED, handle, len: start.length }), handle };
      };
    },
    without: abi.FEED_SPILL,
    undo: (core, { handle }) => void core.run({ opcode: abi.OP_CONNECTION_CLOSE, handle }),
  },
  OP_PROGRAM_COMPILE: {
    prepare: (core) => () => {
      core.view.setUint32(core.control + abi.ARGUMENT_TEXT, abi.HOLE_OPAQUE, true);
      core.view.setUint32(core.control + abi.ARGUMENT_TEXT + abi.STEP_HEADER, abi.HOLE_END, true);
      return core.run({ opcode: abi.OP_PROGRAM_COMPILE, len: 2 * abi.STEP_HEADER });
    },
    undo: (core, { result }) => void core.run({ opcode: abi.OP_PROGRAM_FREE, handle: result }),
  },
  OP_SEGMENT_OPEN: {
    prepare: (core) => run(core, { opcode: abi.OP_SEGMENT_OPEN }),
    undo: (core, { result }) => void core.run({ opcode: abi.OP_SEGMENT_FREE, handle: result }),
  },
  OP_QUEUE_OPEN: {
    prepare: (core) => run(core, { opcode: abi.OP_QUEUE_OPEN }),
    undo: (core, { handle }) => closeQueue(core, handle),
  },
  OP_QUEUE_PUT: {
    prepare: (core) => {
      const handle = openQueue(core);
      return () => {
        writePairs(core, 100);
        return { ...core.run({ opcode: abi.OP_QUEUE_PUT, handle, len: 100 }), handle };
      };
    },
    undo: (core, { handle }) => closeQueue(core, handle),
  },
  // Each record needs a leaf of its own: some go in before the queue has to grow.
  OP_WALK: {
    prepare: (core) => {
      const handle = openQueue(core);
      const body = concat(Array.from({ length: 100 }, (_, i) => recordBytes({ queueOffset: BigInt(i * 64) })));
      const ptr = allocate(core, body);
      return () => {
        let answer: Answer, value = 0;
        do {
          answer = core.run({ opcode: abi.OP_WALK, flags: abi.WALK_PUT, handle, ptr, len: body.length, value });
          value = answer.value;
        } while (answer.result > 0 && value < body.length);
        return { ...answer, handle, ptr };
      };
    },
    undo: (core, { handle, ptr }) => {
      closeQueue(core, handle);
      core.run({ opcode: abi.OP_FREE_BLOCK, ptr });
    },
  },
  OP_LEASE: {
    prepare: (core) => {
      const body = recordBytes({ queueOffset: 7n });
      const ptr = allocate(core, body);
      return () => {
        const token = core.run({ opcode: abi.OP_WALK, ptr, len: body.length }).result;
        return { ...core.run({ opcode: abi.OP_LEASE, ptr, len: body.length, token }), ptr };
      };
    },
    undo: (core, { result, ptr }) => {
      for (const block of [result, ptr]) core.run({ opcode: abi.OP_FREE_BLOCK, ptr: block });
    },
  },
};

/** Opcodes that need no block, whatever they are asked: a new opcode belongs here or above. */
const OTHERS = [
  ...["OP_INIT", "OP_CLOCK", "OP_FREE_BLOCK", "OP_CONNECTION_CLOSE", "OP_ROOM", "OP_PROGRAM_FREE", "OP_SEGMENT_FREE"],
  ...["OP_SEGMENT_RESET", "OP_ENCODE", "OP_APPEND", "OP_CRC32", "OP_QUEUE_CLOSE", "OP_QUEUE_TAKE"],
  ...["OP_QUEUE_REMOVE", "OP_QUEUE_STATE", "OP_QUEUE_CLEAR", "OP_ALLOCATE", "OP_LZ4_READ_BEGIN", "OP_LZ4_READ"],
  ...["OP_LZ4_WRITE_BEGIN", "OP_LZ4_WRITE", "OP_LZ4_WRITE_END", "OP_RING_QUEUES", "OP_RING_CLIENTS", "OP_RING_SHARE"],
  ...[
    "OP_UNIQUE_ID",
    "OP_QUEUE_REMOVE_ONE",
    "OP_QUEUE_COMMIT",
    "OP_QUEUE_ROLLBACK",
    "OP_QUEUE_AGAIN",
    "OP_QUEUE_REMOVE_RUNS",
  ],
];

/** Takes every page that is left. */
function fill(core: TinyDriver): number[] {
  const blocks: number[] = [];
  for (let len = 2 ** 20; len >= 1; len >>= 1) {
    for (let block = take(core, len); block > 0; block = take(core, len)) blocks.push(block);
  }
  return blocks;
}

const take = (core: TinyDriver, len: number): number => core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len }).result;

test("every opcode is said to need a block, or not to", () => {
  const all = Object.keys(abi).filter((name) => name.startsWith("OP_"));
  expect([...Object.keys(TAKERS), ...OTHERS].sort()).toEqual(all.sort());
});

test.each(Object.entries(TAKERS))("%s without room changes nothing, and works when there is room again", (_, taker) => {
  const core = new TinyDriver({ pages: 64 });
  for (let round = 0; round < 3; round++) {
    const command = taker.prepare(core), blocks = fill(core), full = core.bytesInUse;
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(command().result).toBe(taker.without ?? abi.E_NO_ROOM);
      expect(core.bytesInUse).toBe(full);
      expect(fill(core)).toEqual([]);
    }
    for (const ptr of blocks) expect(core.run({ opcode: abi.OP_FREE_BLOCK, ptr }).result).toBe(0);
    const answer = command();
    expect(answer.result).toBeGreaterThanOrEqual(0);
    if (taker.without !== undefined) expect(answer.result).not.toBe(taker.without);
    taker.undo(core, answer);
    expect(core.bytesInUse).toBe(0);
  }
});

test("offsets that found no room are none the queue knows; those before them stay", () => {
  const core = new TinyDriver({ pages: 64 }), handle = openQueue(core), blocks = fill(core);
  writePairs(core, 100);
  const { result, value } = core.run({ opcode: abi.OP_QUEUE_PUT, handle, len: 100 });
  expect(result).toBe(abi.E_NO_ROOM);
  const count = () => core.view.getUint32(core.control + abi.QUEUE_STATE + abi.QUEUE_COUNT, true);
  const max = () => Number(core.view.getBigInt64(core.control + abi.QUEUE_STATE + abi.QUEUE_MAX, true));
  core.run({ opcode: abi.OP_QUEUE_STATE, handle });
  expect(count()).toBe(value);
  expect(max()).toBe((value - 1) * 64);
  for (const ptr of blocks) core.run({ opcode: abi.OP_FREE_BLOCK, ptr });
  writePairs(core, 100);
  expect(core.run({ opcode: abi.OP_QUEUE_PUT, handle, len: 100 }).result).toBe(100 - value);
  closeQueue(core, handle);
  expect(core.bytesInUse).toBe(0);
});

test("a segment without room says so and keeps what it has, and takes frames again after its reset", () => {
  const core = new TinyDriver({ pages: 64 });
  core.view.setUint32(core.control + abi.ARGUMENT_TEXT, abi.HOLE_OPAQUE, true);
  core.view.setUint32(core.control + abi.ARGUMENT_TEXT + abi.STEP_HEADER, abi.HOLE_END, true);
  const program = core.run({ opcode: abi.OP_PROGRAM_COMPILE, len: 2 * abi.STEP_HEADER }).result;
  const segment = core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;
  const length = () => core.view.getUint32(segment + abi.SEGMENT_LENGTH, true);
  const encode = { opcode: abi.OP_ENCODE, handle: program, ptr: segment, token: 1, len: 1000 };
  const append = { opcode: abi.OP_APPEND, ptr: segment, len: 1000 };
  for (let round = 0; round < 3; round++) {
    let frames = 0;
    while (core.run(round % 2 ? append : encode).result > 0) frames++;
    expect(frames).toBeGreaterThan(100);
    const full = length();
    for (const command of [encode, append]) expect(core.run(command).result).toBe(abi.E_NO_ROOM);
    expect(length()).toBe(full);
    expect(core.run({ opcode: abi.OP_SEGMENT_RESET, handle: segment }).result).toBe(0);
  }
});

test("a frame that found no block is followed by the next one, and one that finds a block again is read", () => {
  const core = new TinyDriver({ pages: 64 });
  const { handle } = core.run({ opcode: abi.OP_CONNECTION_OPEN }), blocks = fill(core);
  const feed = (bytes: Uint8Array): Answer => {
    const room = core.run({ opcode: abi.OP_ROOM, handle });
    core.bytes.set(bytes.subarray(0, room.len), room.ptr);
    return core.run({ opcode: abi.OP_FEED, handle, len: Math.min(bytes.length, room.len) });
  };
  const large = frameBytes("{}", new Uint8Array(200_000)), small = frameBytes('{"opaque":7}');
  const spill = feed(large.subarray(0, 500));
  expect(spill).toMatchObject({ result: abi.FEED_SPILL, value: large.length, len: 500 });
  expect(feed(small).result).toBe(abi.FEED_DONE);
  expect(core.view.getInt32(core.completion(0) + abi.COMPLETION_TOKEN, true)).toBe(7);
  for (const ptr of blocks) core.run({ opcode: abi.OP_FREE_BLOCK, ptr });
  for (let at = 0; at < large.length;) {
    const room = core.run({ opcode: abi.OP_ROOM, handle });
    const piece = large.subarray(at, at + room.len);
    expect(feed(piece).result).toBe(abi.FEED_DONE);
    at += piece.length;
  }
  expect(core.view.getUint32(core.completion(1) + abi.COMPLETION_BODY_LEN, true)).toBe(200_000);
  core.run({ opcode: abi.OP_CONNECTION_CLOSE, handle });
  expect(core.bytesInUse).toBe(0);
});
