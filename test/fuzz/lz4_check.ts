import type { Core } from "../../client/core.ts";
import { FrameError } from "../../client/errors.ts";
import { modelReadLz4 } from "../core/lz4_model.ts";
import type { Random } from "../core/random.ts";
import { randomFrames, randomOptions, repetitiveBytes } from "../core/random_lz4.ts";
import { mutated } from "../core/random_records.ts";
import { sameBytes } from "../support/frames.ts";

const LIMIT = 1_000_000;

/** Frames, good and bad ones, read by the core and byte by byte; and random bytes there and back. */
export function checkLz4(core: Core, random: Random): void {
  const frames = randomFrames(random, core, random.pick([30, 400, 3000]));
  const bytes = random.once(5) ? frames : mutated(random, frames);
  const limit = random.once(4) ? random.below(2000) : LIMIT;
  const ours = read(core, bytes, limit), expected = modelReadLz4(bytes, limit);
  if (ours ? !expected || !sameBytes(ours, expected) : expected) {
    throw new Error(`LZ4 of ${bytes.length} bytes gives ${ours?.length} bytes instead of ${expected?.length}`);
  }
  const body = repetitiveBytes(random, random.below(random.pick([100, 5000, 100_000])));
  const back = read(core, core.deflateLz4(body, randomOptions(random)), body.length);
  if (!back || !sameBytes(back, body)) throw new Error(`LZ4 does not bring ${body.length} bytes back`);
}

function read(core: Core, bytes: Uint8Array, limit: number): Uint8Array | undefined {
  try {
    return core.inflateLz4(bytes, limit);
  } catch (error) {
    if (error instanceof FrameError) return undefined;
    throw error;
  }
}
