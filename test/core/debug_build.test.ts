import { instantiateSync } from "@assemblyscript/loader";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { TinyDriver } from "../support/core.ts";
import { answerHeader, binaryHeader, concat, frameBytes, utf8 } from "../support/frames.ts";
import { freshSeed, Random } from "./random.ts";
import { mutatedText, randomExtFields, randomJsonHeader } from "./random_headers.ts";
import { recordBytes } from "./record_bytes.ts";

const debugBuild = readFileSync(fileURLToPath(new URL("../../build/core.debug.wasm", import.meta.url)));

/** The build that keeps its assertions; one that fails throws with its file and line. */
function openDebugCore(): TinyDriver {
  return new TinyDriver({
    instantiate: (memory) => instantiateSync(debugBuild, { env: { memory } }).exports as unknown as WebAssembly.Exports,
  });
}

/** Feeds bytes as they come, in parts of random lengths; returns how many frames came out. */
function feed(core: TinyDriver, handle: number, bytes: Uint8Array, random: Random): number {
  let frames = 0;
  for (let at = 0; at < bytes.length;) {
    const room = core.run({ opcode: abi.OP_ROOM, handle });
    const part = bytes.subarray(at, at + Math.min(room.len, 1 + random.below(random.pick([20, 200_000]))));
    core.bytes.set(part, room.ptr);
    let result = core.run({ opcode: abi.OP_FEED, handle, len: part.length }).result;
    for (;; result = core.run({ opcode: abi.OP_FEED, handle }).result) {
      frames += (core.index(abi.CQ_HEAD) - core.index(abi.CQ_TAIL)) >>> 0;
      core.setIndex(abi.CQ_TAIL, core.index(abi.CQ_HEAD));
      if (result !== abi.FEED_MORE) break;
    }
    expect(result).toBe(abi.FEED_DONE);
    at += part.length;
  }
  return frames;
}

test("no assertion of the debug build fails while frames come and go", () => {
  const seed = freshSeed();
  console.log(`debug build seed ${seed}`);
  const random = new Random(seed);
  const core = openDebugCore();

  const wire = Array.from({ length: 400 }, () => {
    const body = random.bytes(random.below(random.once(20) ? 300_000 : 500));
    if (random.once(3)) return frameBytes(binaryHeader({ extFields: randomExtFields(random) }), body, 1);
    const header = randomJsonHeader(random);
    return frameBytes(random.once(2) ? header : mutatedText(random, header), body);
  });
  const { handle } = core.run({ opcode: abi.OP_CONNECTION_OPEN });
  expect(feed(core, handle, concat(wire), random)).toBe(wire.length);
  const shorts = Array.from({ length: 2_000 }, () => frameBytes(answerHeader(1)));
  expect(feed(core, handle, concat(shorts), random)).toBe(shorts.length);

  const steps = concat([
    ...[[abi.HOLE_OPAQUE, "["], [abi.HOLE_VALUE32, ","], [abi.HOLE_ARGUMENT_JSON, '"'], [abi.HOLE_END, "]"]] as const,
  ].map(([hole, literal]) => concat([Uint8Array.of(hole, 0, literal.length, 0), utf8(literal)])));
  core.bytes.set(steps, core.control + abi.ARGUMENT_TEXT);
  const program = core.run({ opcode: abi.OP_PROGRAM_COMPILE, len: steps.length }).result;
  const segment = core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;
  let refused = 0;
  for (let round = 0; round < 1_000; round++) {
    core.writeArguments([random.bytes(random.below(1_000)).map((byte) => byte % 40)]);
    const command = { opcode: abi.OP_ENCODE, handle: program, ptr: segment, flags: 1, token: random.bits() };
    const { result } = core.run({ ...command, value: random.below(2 ** 32) - 2 ** 31, len: random.below(50) });
    if (result > 0) continue;
    expect(result).toBe(abi.E_NO_ROOM);
    refused++;
    core.run({ opcode: abi.OP_SEGMENT_RESET, handle: segment });
  }
  expect(refused).toBeGreaterThan(5);

  const body = concat(
    Array.from({ length: 50 }, (_, n) => recordBytes({ queueOffset: BigInt(n * 3), body: random.bytes(n * 40) })),
  );
  const block = core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len: body.length }).result;
  core.bytes.set(body, block);
  const queue = core.run({ opcode: abi.OP_QUEUE_OPEN }).handle;
  const walk = { opcode: abi.OP_WALK, ptr: block, len: body.length, flags: abi.WALK_CRC | abi.WALK_PUT };
  expect(core.run({ ...walk, handle: queue }).result).toBe(50);
  expect(core.run({ opcode: abi.OP_QUEUE_TAKE, handle: queue, len: 20 }).result).toBe(20);
  expect(core.run({ opcode: abi.OP_QUEUE_REMOVE, handle: queue, len: 20 }).result).toBe(0);
  expect(core.view.getBigInt64(core.control + abi.QUEUE_STATE + abi.QUEUE_COMMIT, true)).toBe(60n);

  core.run({ opcode: abi.OP_QUEUE_CLOSE, handle: queue });
  core.run({ opcode: abi.OP_FREE_BLOCK, ptr: block });
  core.run({ opcode: abi.OP_SEGMENT_FREE, handle: segment });
  core.run({ opcode: abi.OP_PROGRAM_FREE, handle: program });
  core.run({ opcode: abi.OP_CONNECTION_CLOSE, handle });
  expect(core.bytesInUse).toBe(0);
});
