import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { Core, type Frame, type Step } from "../../client/core.ts";
import { FrameError } from "../../client/errors.ts";
import * as abi from "../../core-as/abi.ts";
import { coreModule, openCore, TinyDriver } from "../support/core.ts";
import {
  answerHeader,
  BINARY_KIND,
  binaryHeader,
  concat,
  feedAll,
  frameBytes,
  sameBytes,
  utf8,
} from "../support/frames.ts";
import { recordBytes } from "./record_bytes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const coreText = (): string => readFileSync(join(root, "build/core.wat"), "utf8");
const MIB = 1024 * 1024;

const SEND: readonly Step[] = [
  ['{"code":310,"flag":0,"opaque":', abi.HOLE_OPAQUE],
  [',"extFields":{"e":"', abi.HOLE_VALUE],
  ['","i":"', abi.HOLE_ARGUMENT_JSON],
  ['"}}', abi.HOLE_END],
];

function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(root, folder, name), "utf8"));
}

/** One send through the core and back into it; the frame's body must be the one that was sent. */
class Loop {
  readonly core: Core;
  readonly #segment: number;
  readonly #program: number;
  #connection: number;

  constructor(core: Core) {
    this.core = core;
    this.#segment = core.openSegment();
    this.#program = core.program(SEND, "JSON");
    this.#connection = core.openConnection();
  }

  round(opaque: number, body: Uint8Array): Frame | undefined {
    const { core } = this;
    core.resetSegment(this.#segment);
    const fits = core.encode(this.#program, this.#segment, opaque, 3, ["KEYS\u0001k\u0002"], body);
    if (!fits) expect(core.encode(this.#program, this.#segment, opaque, 3, [""], body, true)).toBe(true);
    const head = core.segmentBytes(this.#segment).slice();
    return this.feed(fits ? head : concat([head, body]));
  }

  feed(bytes: Uint8Array): Frame | undefined {
    let last: Frame | undefined;
    for (let at = 0; at < bytes.length;) {
      const room = this.core.room(this.#connection);
      const part = bytes.subarray(at, at + room.length);
      room.set(part);
      this.core.feed(this.#connection, part.length, (frame) => last = frame);
      at += part.length;
    }
    return last;
  }

  reconnect(): void {
    this.core.closeConnection(this.#connection);
    this.#connection = this.core.openConnection();
  }
}

describe("WebAssembly faults", () => {
  test("wasm-1: neither the module nor the client can grow the memory, and sizes up and down leave every view good", () => {
    expect(coreText()).not.toMatch(/memory\.grow/);
    for (const source of ["client", "host-node", "host-deno", "broker"].flatMap(sourcesIn)) {
      expect(source).not.toMatch(/\.grow\(/);
    }
    const limits: WebAssembly.MemoryDescriptor[] = [];
    const memories: WebAssembly.Memory[] = [];
    const Memory = WebAssembly.Memory;
    WebAssembly.Memory = class extends Memory {
      constructor(descriptor: WebAssembly.MemoryDescriptor) {
        super(descriptor);
        limits.push(descriptor);
        memories.push(this);
      }
    };
    try {
      const loop = new Loop(openCore(64));
      expect(limits).toEqual([{ initial: 1024, maximum: 1024 }]);
      const { buffer } = memories[0]!;
      const first = loop.core.room(loop.core.openConnection());
      for (const size of [1024, 8 * MIB, 1024]) {
        const body = new Uint8Array(size).fill(size >> 3);
        expect(sameBytes(loop.round(1, body)!.body(), body)).toBe(true);
      }
      expect(memories[0]!.buffer).toBe(buffer);
      expect(first.byteLength).toBe(abi.INBOX_BYTES - abi.SLACK);
      expect(() => memories[0]!.grow(1)).toThrow(RangeError);
      expect(memories.length).toBe(1);
    } finally {
      WebAssembly.Memory = Memory;
    }
  });

  test("wasm-2: bytes in use stay the same over 200,000 rounds of 1 KiB, one in a thousand of them malformed", () => {
    const loop = new Loop(openCore(4));
    const body = new Uint8Array(1024).fill(7);
    const garbage = [
      () => loop.feed(frameBytes('{"code":', body)),
      () => loop.feed(frameBytes(Uint8Array.of(1, 2, 3), body, BINARY_KIND)),
      () => {
        expect(() => loop.feed(Uint8Array.of(0xff, 0, 0, 0))).toThrow(FrameError);
        loop.reconnect();
      },
      () => {
        expect(() => loop.feed(concat([Uint8Array.of(0, 3, 0, 0, 9, 0, 0, 0)]))).toThrow(FrameError);
        loop.reconnect();
      },
      () => {
        loop.feed(concat([Uint8Array.of(0, 3, 0, 0, 0, 0, 0, 2), utf8("{}"), body]));
        loop.reconnect();
      },
    ];
    loop.round(0, body);
    const before = loop.core.bytesInUse;
    for (let round = 0; round < 200_000; round++) {
      const frame = loop.round(round, body)!;
      if (frame.opaque !== round || frame.bodyLength !== body.length) expect(frame).toMatchObject({ opaque: round });
      if (round % 1000 === 0) garbage[round / 1000 % garbage.length]!();
      if (loop.core.bytesInUse !== before) expect(loop.core.bytesInUse, `round ${round}`).toBe(before);
    }
    expect(loop.core.bytesInUse).toBe(before);
  });

  test("wasm-3: the module has no managed objects and no collector", () => {
    const text = coreText();
    expect(text).toMatch(/\$core-as\/index\/drive/);
    expect(text).not.toMatch(
      /__new|__renew|__pin|__unpin|__collect|__visit|~lib\/rt|~lib\/string|~lib\/array|\(data\b/,
    );
  });

  test("wasm-4: unsigned and 64-bit values arrive as what they are", () => {
    const core = openCore(), none = core.allocateBlock(64);
    const driver = new TinyDriver(), ptr = driver.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: 64 }).result;
    for (const seed of [0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff]) {
      // Of no bytes the checksum is the seed: by the core, where `crc32` of `Core` would not ask it.
      const answer = driver.run({ opcode: abi.OP_CRC32, ptr, len: 0, token: seed });
      expect([answer.result, answer.value]).toEqual([0, seed]);
      expect(core.crc32At(none, 0, seed)).toBe(seed);
    }
    expect(core.crc32(utf8("123456789"))).toBe(0xcbf43926);
    const header = binaryHeader({
      code: -1,
      opaque: 0x7fffffff,
      extFields: { queueOffset: "999999999999999", queueId: "-1" },
    });
    const [frame] = feedAll(core, core.openConnection(), frameBytes(header, undefined, BINARY_KIND));
    expect(frame).toMatchObject({ code: -1, opaque: 0x7fffffff, a: 999999999999999, b: -1 });
    const beyond = '{"extFields":{"queueOffset":"9007199254740993"}}';
    const [left] = feedAll(core, core.openConnection(), frameBytes(beyond));
    expect(left).toMatchObject({ fields: 0, header: utf8(beyond) });

    const offsets = [2n ** 53n + 1n, -1n, 2n ** 63n - 1n];
    const body = concat(offsets.map((queueOffset) => recordBytes({ queueOffset, body: utf8("x") })));
    const block = core.allocateBlock(body.length);
    core.write(block, body);
    expect(core.walkAt(block, body.length, 0, true)).toBe(offsets.length);
    const rows = new Uint8Array(offsets.length * abi.ROW_SIZE);
    core.copyRows(offsets.length, rows, 0);
    const view = new DataView(rows.buffer);
    const read = offsets.map((_, row) => view.getBigInt64(row * abi.ROW_SIZE + abi.ROW_QUEUE_OFFSET, true));
    expect(read).toEqual(offsets);

    // In a memory of 1 GiB addresses and sums of blocks come close to 2^31, and stay positive.
    const large = new Core(coreModule, 1024);
    const last = large.allocateBlock(512 * MIB - abi.SLACK);
    expect(last).toBe(512 * MIB);
    expect(large.bytesInUse).toBe(512 * MIB);
  });

  test("wasm-6: large frames on twenty connections take no more than the arena, and nothing in the end", () => {
    const core = openCore(8);
    const start = core.bytesInUse;
    const frame = frameBytes(answerHeader(1), new Uint8Array(3 * MIB).fill(1));
    const connections = Array.from({ length: 20 }, () => core.openConnection());
    const idle = core.bytesInUse;
    let inArena = 0, outside = 0, most = 0;
    const arrive = (connection: number, bytes: Uint8Array) => {
      for (const read of feedAll(core, connection, bytes)) {
        if (read.inArena) inArena++;
        else outside++;
        expect(read.body.length).toBe(3 * MIB);
      }
      most = Math.max(most, core.bytesInUse);
    };
    for (const connection of connections) arrive(connection, frame.subarray(0, MIB));
    for (const connection of connections) arrive(connection, frame.subarray(MIB));
    expect(inArena + outside).toBe(20);
    expect(inArena).toBeGreaterThan(0);
    expect(outside).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(8 * MIB);
    for (const connection of connections) {
      for (let n = 0; n < 50; n++) {
        expect(feedAll(core, connection, frameBytes("{}", new Uint8Array(1024)))).toHaveLength(1);
      }
    }
    expect(core.bytesInUse).toBe(idle);
    for (const connection of connections) core.closeConnection(connection);
    expect(core.bytesInUse).toBe(start);
  });
});
