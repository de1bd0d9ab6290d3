import { concat } from "../support/frames.ts";
import type { Core } from "../../client/core.ts";
import * as abi from "../../core-as/abi.ts";
import { modelXxHash32 } from "./lz4_model.ts";
import type { Random } from "./random.ts";

/** Bytes with repetitions near and far, long and short, and stretches without any. */
export function repetitiveBytes(random: Random, length: number): Uint8Array {
  const bytes = new Uint8Array(length), alphabet = random.pick([1, 2, 4, 30, 256]);
  for (let at = 0; at < length;) {
    if (at > 0 && !random.once(3)) {
      const distance = 1 + random.below(Math.min(at, random.pick([1, 8, 20, 300, 65_535, 100_000])));
      const end = Math.min(length, at + 4 + random.below(random.pick([4, 20, 300, 5000])));
      for (; at < end; at++) bytes[at] = bytes[at - distance]!;
    } else {
      const end = Math.min(length, at + 1 + random.below(random.pick([5, 20, 300, random.once(10) ? 80_000 : 30])));
      for (; at < end; at++) bytes[at] = random.below(alphabet);
    }
  }
  return bytes;
}

const OPTIONS = [abi.LZ4_BLOCK_CHECKSUM, abi.LZ4_CONTENT_CHECKSUM, abi.LZ4_CONTENT_SIZE];

export const randomOptions = (random: Random): number =>
  OPTIONS.reduce((options, option) => random.once(2) ? options | option : options, 0);

/** One or more frames, made by the core or of random sequences, which no compressor would write; with skippable ones between. */
export function randomFrames(random: Random, core: Core, most: number): Uint8Array {
  const parts: Uint8Array[] = [];
  do {
    if (random.once(5)) parts.push(skippable(random));
    if (random.once(2)) parts.push(randomFrame(random, most));
    else parts.push(core.deflateLz4(repetitiveBytes(random, random.below(most)), randomOptions(random)));
  } while (random.once(4));
  return concat(parts);
}

function skippable(random: Random): Uint8Array {
  const length = random.below(100);
  return concat([little(0x184d2a50 + random.below(16)), little(length), random.bytes(length)]);
}

function randomFrame(random: Random, most: number): Uint8Array {
  const flags = 0x40 | (random.once(2) ? 0x20 : 0) | (random.once(4) ? 16 : 0);
  const descriptor = Uint8Array.of(flags, random.pick([0x40, 0x50, 0x60, 0x70]));
  const parts = [little(0x184d2204), descriptor, Uint8Array.of(modelXxHash32(descriptor) >>> 8)];
  for (let blocks = random.below(4); blocks > 0; blocks--) {
    const isStored = random.once(4);
    const block = isStored ? random.bytes(1 + random.below(most)) : randomBlock(random, most);
    parts.push(little(block.length | (isStored ? 0x80000000 : 0)), block);
    if (flags & 16) parts.push(little(modelXxHash32(block)));
  }
  parts.push(little(0));
  return concat(parts);
}

/** Sequences, mostly with distances that reach what is there. */
function randomBlock(random: Random, most: number): Uint8Array {
  const bytes: number[] = [];
  let length = 0;
  for (let sequences = random.below(30); sequences > 0; sequences--) {
    const literals = random.below(random.once(6) ? 600 : 20), match = random.below(random.once(6) ? 1000 : 20);
    length += literals;
    const distance = random.once(300) ? random.below(65_536) : 1 + random.below(Math.min(65_535, Math.max(length, 1)));
    bytes.push(Math.min(literals, 15) << 4 | Math.min(match, 15), ...more(literals), ...random.bytes(literals));
    bytes.push(distance & 255, distance >> 8, ...more(match));
    length += match + 4;
    if (length > most) break;
  }
  const last = 5 + random.below(30);
  return Uint8Array.from([...bytes, Math.min(last, 15) << 4, ...more(last), ...random.bytes(last)]);
}

function more(count: number): number[] {
  return count < 15 ? [] : [...Array.from({ length: Math.floor((count - 15) / 255) }, () => 255), (count - 15) % 255];
}

const little = (value: number): Uint8Array => Uint8Array.of(value, value >>> 8, value >>> 16, value >>> 24);
