import { describe, expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { type Command, coreModule, TinyDriver } from "../support/core.ts";
import { concat, frameBytes, utf8 } from "../support/frames.ts";
import { recordBytes } from "./record_bytes.ts";

const OPCODES = Object.entries(abi).filter(([name]) => name.startsWith("OP_"));

/** A connection with bytes in its inbox. */
function arrived(core: TinyDriver, bytes: Uint8Array): { handle: number; ptr: number; len: number } {
  const { handle, ptr } = core.run({ opcode: abi.OP_CONNECTION_OPEN });
  core.bytes.set(bytes, ptr);
  return { handle, ptr, len: bytes.length };
}

/** `HOLE_OPAQUE`, then `HOLE_END`, without literals. */
function program(core: TinyDriver): number {
  const at = core.control + abi.ARGUMENT_TEXT;
  core.view.setUint32(at, abi.HOLE_OPAQUE, true);
  core.view.setUint32(at + abi.STEP_HEADER, abi.HOLE_END, true);
  return core.run({ opcode: abi.OP_PROGRAM_COMPILE, len: 2 * abi.STEP_HEADER }).result;
}

function queueWith(core: TinyDriver, offset: number): number {
  const { handle } = core.run({ opcode: abi.OP_QUEUE_OPEN });
  const at = core.control + abi.ARGUMENT_TEXT;
  core.view.setBigInt64(at + abi.PAIR_OFFSET, BigInt(offset), true);
  core.view.setUint32(at + abi.PAIR_BYTES, 10, true);
  expect(core.run({ opcode: abi.OP_QUEUE_PUT, handle, len: 1 }).result).toBe(1);
  return handle;
}

/** "hello" as Java writes it. */
const LZ4_FRAME = concat([
  Uint8Array.of(0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 5, 0, 0, 0x80),
  utf8("hello"),
  Uint8Array.of(0, 0, 0, 0),
]);

function written(core: TinyDriver, command: Command): Uint8Array {
  const { result, ptr, len } = core.run(command);
  expect(result).toBe(0);
  return core.bytes.slice(ptr, ptr + len);
}

/** One command of each opcode, and what its answer must be. */
const COMMANDS: Readonly<Record<string, (core: TinyDriver) => void>> = {
  OP_INIT: (core) => expect(core.run({ opcode: abi.OP_INIT }).result).toBe(abi.E_BAD_ARGUMENT),
  OP_CLOCK: (core) => expect(core.run({ opcode: abi.OP_CLOCK, value: 1e12 }).result).toBe(0),
  OP_ALLOCATE_BLOCK: (core) => {
    expect(core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: 5000 }).result % 8192).toBe(0);
    expect(core.bytesInUse).toBe(8192);
  },
  OP_FREE_BLOCK: (core) => {
    const ptr = core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: 1 }).result;
    expect(core.run({ opcode: abi.OP_FREE_BLOCK, ptr }).result).toBe(0);
  },
  OP_CONNECTION_OPEN: (core) => {
    expect(core.run({ opcode: abi.OP_CONNECTION_OPEN })).toMatchObject({ result: 0, len: abi.INBOX_BYTES - abi.SLACK });
  },
  OP_CONNECTION_CLOSE: (core) => {
    const { handle } = core.run({ opcode: abi.OP_CONNECTION_OPEN });
    expect(core.run({ opcode: abi.OP_CONNECTION_CLOSE, handle }).result).toBe(0);
  },
  OP_ROOM: (core) => {
    const { handle, ptr, len } = core.run({ opcode: abi.OP_CONNECTION_OPEN });
    expect(core.run({ opcode: abi.OP_ROOM, handle })).toMatchObject({ result: 0, ptr, len });
  },
  OP_FEED: (core) => {
    const frame = arrived(core, frameBytes('{"opaque":5}', utf8("body")));
    expect(core.run({ opcode: abi.OP_FEED, ...frame }).result).toBe(abi.FEED_DONE);
    const at = core.completion(0);
    expect(core.view.getInt32(at + abi.COMPLETION_TOKEN, true)).toBe(5);
    expect(core.view.getUint32(at + abi.COMPLETION_HEADER_PTR, true)).toBe(frame.ptr + 8);
    expect(core.view.getUint32(at + abi.COMPLETION_HEADER_WORD, true)).toBe(12);
    expect(core.view.getUint32(at + abi.COMPLETION_BODY_PTR, true)).toBe(frame.ptr + 20);
    expect(core.view.getUint32(at + abi.COMPLETION_BODY_LEN, true)).toBe(4);
  },
  OP_PROGRAM_COMPILE: (core) => expect(program(core)).toBeGreaterThan(0),
  OP_PROGRAM_FREE: (core) => {
    expect(core.run({ opcode: abi.OP_PROGRAM_FREE, handle: program(core) }).result).toBe(0);
  },
  OP_SEGMENT_OPEN: (core) => {
    const segment = core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;
    expect(core.view.getUint32(segment + abi.SEGMENT_LENGTH, true)).toBe(0);
    const capacity = abi.SEGMENT_BYTES - abi.SEGMENT_DATA - abi.SLACK;
    expect(core.view.getUint32(segment + abi.SEGMENT_CAPACITY, true)).toBe(capacity);
  },
  OP_SEGMENT_FREE: (core) => {
    const handle = core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;
    expect(core.run({ opcode: abi.OP_SEGMENT_FREE, handle }).result).toBe(0);
  },
  OP_SEGMENT_RESET: (core) => {
    const handle = core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;
    core.run({ opcode: abi.OP_APPEND, ptr: handle, len: 10 });
    expect(core.run({ opcode: abi.OP_SEGMENT_RESET, handle }).result).toBe(0);
    expect(core.view.getUint32(handle + abi.SEGMENT_LENGTH, true)).toBe(0);
  },
  OP_ENCODE: (core) => {
    const handle = program(core), ptr = core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;
    const { result } = core.run({ opcode: abi.OP_ENCODE, handle, ptr, token: 42, len: 1 });
    expect(result).toBe(ptr + abi.SEGMENT_DATA + 10);
    const frame = core.bytes.slice(ptr + abi.SEGMENT_DATA, result);
    expect(frame).toEqual(concat([Uint8Array.of(0, 0, 0, 7, 0, 0, 0, 2), utf8("42")]));
  },
  OP_APPEND: (core) => {
    const ptr = core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;
    expect(core.run({ opcode: abi.OP_APPEND, ptr, len: 10 }).result).toBe(ptr + abi.SEGMENT_DATA);
    expect(core.run({ opcode: abi.OP_APPEND, ptr, len: 10 }).result).toBe(ptr + abi.SEGMENT_DATA + 10);
  },
  OP_WALK: (core) => {
    const { ptr, len } = arrived(core, recordBytes({ body: utf8("hello"), queueOffset: 7n }));
    expect(core.run({ opcode: abi.OP_WALK, ptr, len, flags: abi.WALK_CRC })).toMatchObject({ result: 1, value: len });
    expect(core.view.getBigInt64(core.control + abi.ROWS + abi.ROW_QUEUE_OFFSET, true)).toBe(7n);
  },
  OP_CRC32: (core) => {
    const { ptr, len } = arrived(core, utf8("123456789"));
    expect(core.run({ opcode: abi.OP_CRC32, ptr, len })).toMatchObject({ result: 0, value: 0xcbf43926 });
  },
  OP_QUEUE_OPEN: (core) => expect(core.run({ opcode: abi.OP_QUEUE_OPEN }).result).toBe(0),
  OP_QUEUE_CLOSE: (core) => {
    expect(core.run({ opcode: abi.OP_QUEUE_CLOSE, handle: queueWith(core, 1) }).result).toBe(0);
  },
  OP_QUEUE_PUT: (core) => {
    queueWith(core, 5);
    expect(core.view.getBigInt64(core.control + abi.QUEUE_STATE + abi.QUEUE_MIN, true)).toBe(5n);
  },
  OP_QUEUE_TAKE: (core) => {
    const handle = queueWith(core, 6);
    expect(core.run({ opcode: abi.OP_QUEUE_TAKE, handle, len: 10 }).result).toBe(1);
    expect(core.view.getBigInt64(core.control + abi.ARGUMENT_TEXT, true)).toBe(6n);
  },
  OP_QUEUE_REMOVE: (core) => {
    const handle = queueWith(core, 6);
    expect(core.run({ opcode: abi.OP_QUEUE_REMOVE, handle, len: 1 }).result).toBe(0);
    expect(commitOf(core)).toBe(7n);
  },
  OP_QUEUE_STATE: (core) => {
    const handle = queueWith(core, 6);
    expect(core.run({ opcode: abi.OP_QUEUE_STATE, handle }).result).toBe(0);
    expect(core.view.getUint32(core.control + abi.QUEUE_STATE + abi.QUEUE_COUNT, true)).toBe(1);
  },
  OP_QUEUE_CLEAR: (core) => {
    const handle = queueWith(core, 6);
    expect(core.run({ opcode: abi.OP_QUEUE_CLEAR, handle }).result).toBe(0);
    expect(core.view.getBigInt64(core.control + abi.QUEUE_STATE + abi.QUEUE_MIN, true)).toBe(-1n);
  },
  OP_QUEUE_REMOVE_RUNS: (core) => {
    const handle = queueWith(core, 6);
    core.view.setBigInt64(core.control + abi.ARGUMENT_TEXT + abi.PAIR_OFFSET, 3n, true);
    core.view.setUint32(core.control + abi.ARGUMENT_TEXT + abi.PAIR_BYTES, 4, true);
    expect(core.run({ opcode: abi.OP_QUEUE_REMOVE_RUNS, handle, len: 1 }).result).toBe(0);
    expect(commitOf(core)).toBe(7n);
  },
  OP_QUEUE_REMOVE_ONE: (core) => {
    const handle = queueWith(core, 6);
    expect(core.run({ opcode: abi.OP_QUEUE_REMOVE_ONE, handle, value: 6 }).result).toBe(0);
    expect(commitOf(core)).toBe(7n);
  },
  OP_QUEUE_COMMIT: (core) => {
    const handle = queueWith(core, 6);
    core.run({ opcode: abi.OP_QUEUE_TAKE, handle, len: 1 });
    expect(core.run({ opcode: abi.OP_QUEUE_COMMIT, handle }).result).toBe(0);
    expect(commitOf(core)).toBe(7n);
  },
  OP_QUEUE_ROLLBACK: (core) => {
    const handle = queueWith(core, 6);
    core.run({ opcode: abi.OP_QUEUE_TAKE, handle, len: 1 });
    expect(core.run({ opcode: abi.OP_QUEUE_ROLLBACK, handle }).result).toBe(0);
    expect(core.run({ opcode: abi.OP_QUEUE_TAKE, handle, len: 1 }).result).toBe(1);
  },
  OP_QUEUE_AGAIN: (core) => {
    const handle = queueWith(core, 6);
    core.run({ opcode: abi.OP_QUEUE_TAKE, handle, len: 1 });
    expect(core.run({ opcode: abi.OP_QUEUE_AGAIN, handle, len: 1 }).result).toBe(1);
    expect(core.run({ opcode: abi.OP_QUEUE_TAKE, handle, len: 1 }).result).toBe(1);
  },
  OP_LEASE: (core) => {
    const { ptr, len } = arrived(core, recordBytes({ queueOffset: 9n }));
    core.run({ opcode: abi.OP_WALK, ptr, len });
    const block = core.run({ opcode: abi.OP_LEASE, ptr, len, token: 1 }).result;
    expect(core.view.getBigInt64(block + abi.ROW_QUEUE_OFFSET, true)).toBe(9n);
    const records = block + abi.ROW_SIZE;
    expect(core.bytes.slice(records, records + len)).toEqual(core.bytes.slice(ptr, ptr + len));
    expect(core.run({ opcode: abi.OP_FREE_BLOCK, ptr: block }).result).toBe(0);
  },
  OP_ALLOCATE: (core) => {
    const command = { opcode: abi.OP_ALLOCATE, flags: abi.STRATEGY_AVG, handle: 8, len: 3, token: 2 };
    expect(core.run(command)).toMatchObject({ result: 0, ptr: 6, len: 2, value: -1 });
  },
  OP_LZ4_READ_BEGIN: (core) => {
    const handle = core.control + abi.ARGUMENT_TEXT;
    expect(core.run({ opcode: abi.OP_LZ4_READ_BEGIN, value: 5 })).toMatchObject({ result: 0, handle });
  },
  OP_LZ4_READ: (core) => {
    core.bytes.set(LZ4_FRAME, core.run({ opcode: abi.OP_LZ4_READ_BEGIN, value: 5 }).handle);
    const answer = core.run({ opcode: abi.OP_LZ4_READ, len: LZ4_FRAME.length, flags: abi.LZ4_LAST });
    expect(answer).toMatchObject({ result: abi.LZ4_DONE, len: 5 });
    expect(core.bytes.slice(answer.ptr, answer.ptr + answer.len)).toEqual(utf8("hello"));
  },
  OP_LZ4_WRITE_BEGIN: (core) =>
    expect(written(core, { opcode: abi.OP_LZ4_WRITE_BEGIN })).toEqual(LZ4_FRAME.slice(0, 7)),
  OP_LZ4_WRITE: (core) => {
    core.run({ opcode: abi.OP_LZ4_WRITE_BEGIN });
    core.writeArguments([utf8("hello")]);
    expect(written(core, { opcode: abi.OP_LZ4_WRITE, len: 5 })).toEqual(LZ4_FRAME.slice(7, -4));
  },
  OP_LZ4_WRITE_END: (core) => {
    core.run({ opcode: abi.OP_LZ4_WRITE_BEGIN });
    expect(written(core, { opcode: abi.OP_LZ4_WRITE_END })).toEqual(LZ4_FRAME.slice(-4));
  },
  OP_RING_QUEUES: (core) => {
    core.writeArguments([utf8("q"), utf8("r")]);
    expect(core.run({ opcode: abi.OP_RING_QUEUES, flags: 2 }).result).toBe(0);
    expect(core.run({ opcode: abi.OP_RING_SHARE }).result).toBe(0);
  },
  OP_RING_CLIENTS: (core) => {
    core.writeArguments([utf8("q")]);
    core.run({ opcode: abi.OP_RING_QUEUES, flags: 1 });
    expect(core.run({ opcode: abi.OP_RING_CLIENTS, flags: 1, token: 1, len: 10 }).result).toBe(0);
    expect(core.run({ opcode: abi.OP_RING_SHARE }).result).toBe(0);
  },
  OP_RING_SHARE: (core) => {
    core.writeArguments([utf8("q"), utf8("r")]);
    core.run({ opcode: abi.OP_RING_QUEUES, flags: 2 });
    core.run({ opcode: abi.OP_RING_CLIENTS, flags: 1, token: 0, len: 10 });
    expect(core.run({ opcode: abi.OP_RING_SHARE }).result).toBe(2);
    expect(core.view.getUint32(core.control + abi.ARGUMENT_TEXT + 4, true)).toBe(1);
  },
  OP_UNIQUE_ID: (core) => {
    core.run({ opcode: abi.OP_CLOCK, value: 1e12, token: 5 });
    expect(core.run({ opcode: abi.OP_UNIQUE_ID }).result).toBe(0);
    expect(core.view.getFloat64(core.control + abi.UNIQUE_ID, true)).toBe(5 * 65_536);
  },
};

/** The offset to commit after the last command. */
const commitOf = (core: TinyDriver) => core.view.getBigInt64(core.control + abi.QUEUE_STATE + abi.QUEUE_COMMIT, true);

describe("ABI", () => {
  test("the module has one import and three exports", () => {
    expect(WebAssembly.Module.imports(coreModule)).toMatchObject([{ module: "env", name: "memory", kind: "memory" }]);
    const exports = WebAssembly.Module.exports(coreModule).map(({ name, kind }) => `${kind} ${name}`).sort();
    expect(exports).toEqual(["function drive", "global abiVersion", "global control"]);
  });

  test("every number is one that both compilers take for the same", () => {
    for (const [name, value] of Object.entries(abi)) {
      expect(Number.isInteger(value) && value >= (name.startsWith("E_") ? -1000 : 0) && value < 2 ** 31, name).toBe(
        true,
      );
    }
    expect(new Set(OPCODES.map(([, opcode]) => opcode)).size).toBe(OPCODES.length);
  });

  test("the control block lies behind the null page, aligned, inside the first pages", () => {
    const core = new TinyDriver();
    expect(core.control % 64).toBe(0);
    expect(core.control).toBeGreaterThanOrEqual(1024);
    expect(core.control + abi.CONTROL_SIZE).toBeLessThan(8 * 65536);
  });

  test.each(OPCODES)("%s does what it says", (name) => {
    const command = COMMANDS[name];
    expect(command).toBeDefined();
    command!(new TinyDriver());
  });

  test.each(OPCODES.filter(([name]) => name !== "OP_INIT"))("%s before OP_INIT is refused", (_, opcode) => {
    const core = new TinyDriver({ init: false });
    expect(core.run({ opcode }).result).toBe(abi.E_NOT_READY);
    expect(core.run({ opcode: abi.OP_INIT }).result).toBe(0);
  });

  test("opcodes that there are not are refused", () => {
    const core = new TinyDriver();
    for (const opcode of [0, Math.max(...OPCODES.map(([, code]) => code)) + 1, 255, 65535]) {
      expect(core.run({ opcode }).result).toBe(abi.E_UNKNOWN_OPCODE);
    }
  });

  test("no opcode traps on arguments at the ends of their ranges, and blocks in use are counted right", () => {
    const core = new TinyDriver({ pages: 64 });
    const ends = [0, 1, 64, 1024, core.control, 4 * 2 ** 20 - 4096, 4 * 2 ** 20, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
    for (const [, opcode] of OPCODES) {
      for (const ptr of ends) {
        for (const len of ends) {
          const { result, handle } = core.run({
            opcode,
            ptr,
            len,
            handle: len,
            token: ptr,
            value: len,
            flags: len & 65535,
          });
          if (opcode === abi.OP_CONNECTION_OPEN && !result) core.run({ opcode: abi.OP_CONNECTION_CLOSE, handle });
          if (opcode === abi.OP_QUEUE_OPEN && !result) core.run({ opcode: abi.OP_QUEUE_CLOSE, handle });
          if (opcode === abi.OP_SEGMENT_OPEN) core.run({ opcode: abi.OP_SEGMENT_FREE, handle: result });
          if (opcode === abi.OP_ALLOCATE_BLOCK || opcode === abi.OP_LEASE) {
            core.run({ opcode: abi.OP_FREE_BLOCK, ptr: result });
          }
        }
      }
    }
    expect(core.bytesInUse).toBe(0);
  });

  test("a command is driven once, also when nothing new is submitted", () => {
    const core = new TinyDriver();
    const entry = core.submit({ opcode: abi.OP_ALLOCATE_BLOCK, len: 1 });
    core.drive();
    expect(core.answer(entry).result).toBeGreaterThan(0);
    expect(core.index(abi.SQ_HEAD)).toBe(core.index(abi.SQ_TAIL));
    core.drive();
    expect(core.bytesInUse).toBe(abi.BLOCK_MIN);
  });

  test("more commands than there are entries are a panic that leaves its code and detail in the null page", () => {
    const core = new TinyDriver();
    core.setIndex(abi.SQ_TAIL, core.index(abi.SQ_HEAD) + abi.SUBMISSION_ENTRIES + 1);
    expect(() => core.drive()).toThrow(WebAssembly.RuntimeError);
    expect(core.view.getUint32(abi.PANIC_CODE, true)).toBe(2);
    expect(core.view.getUint32(abi.PANIC_DETAIL, true)).toBe(abi.SUBMISSION_ENTRIES + 1);
  });

  test("indices run through 2^32: commands and completions go on behind it", () => {
    const core = new TinyDriver({ firstIndex: 2 ** 32 - 5 });
    const shorts = concat(Array.from({ length: 2000 }, () => frameBytes('{"opaque":1}')));
    const { handle, len } = arrived(core, shorts);
    let fed = len, count = 0, more = true;
    for (; more; fed = 0) {
      more = core.run({ opcode: abi.OP_FEED, handle, len: fed }).result === abi.FEED_MORE;
      const here = (core.index(abi.CQ_HEAD) - core.index(abi.CQ_TAIL)) >>> 0;
      expect(here).toBeLessThanOrEqual(abi.COMPLETION_ENTRIES);
      for (let i = 0; i < here; i++) {
        const at = core.completion(core.index(abi.CQ_TAIL) + i);
        expect(core.view.getInt32(at + abi.COMPLETION_TOKEN, true)).toBe(1);
      }
      count += here;
      core.setIndex(abi.CQ_TAIL, core.index(abi.CQ_TAIL) + here);
    }
    expect(count).toBe(2000);
    for (let i = 0; i < 100; i++) expect(core.run({ opcode: abi.OP_CLOCK, value: i }).result).toBe(0);
    expect(core.index(abi.SQ_TAIL)).toBeLessThan(1000);
    expect(core.index(abi.CQ_HEAD)).toBe(1995);
  });
});
