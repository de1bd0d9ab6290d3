// CRC-32 of bodies of several lengths, where they lie.
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { crc32 as zlibCrc32 } from "node:zlib";
import { slicingBy16 } from "../baselines/slicing_by_16.ts";
import { crc32 } from "../inputs/crc32.ts";
import { bodyOf } from "../inputs/send.ts";
import type { Case, Operation, Place, Variant } from "../operation.ts";
import { crc32InArena, crc32OfBytes } from "../ours/crc32.ts";

const LENGTHS = [128, 1_024, 4_096, 16_384, 65_536];

export const crc: Operation = {
  name: "crc",
  cases: LENGTHS.map((length) => (place: Place) => checking(length, place)),
};

function checking(length: number, { family, buildFolder }: Place): Case {
  const bytes = bodyOf(length), buffer = Buffer.from(bytes);
  const expected = crc32(bytes);
  return {
    name: "CRC-32",
    bodyBytes: length,
    unit: "body",
    perRun: 1,
    variants: [
      variant("ours", crc32InArena(bytes), expected),
      variant("ours, copied in", crc32OfBytes(bytes), expected),
      variant("slicing by 16", slicingBy16(join(buildFolder, "slicing_by_16.wasm"), bytes), expected),
      variant("zlib", () => zlibCrc32(buffer), expected),
    ],
    bars: [
      { ours: "ours", baseline: "slicing by 16", goal: slicingGoal(length) },
      { ours: "ours", baseline: "zlib", goal: family === "node" ? zlibGoal(length) : undefined, isBestJs: true },
      { ours: "ours, copied in", baseline: "zlib" },
    ],
  };
}

const slicingGoal = (length: number): number | undefined => length >= 4_096 ? 0.25 : length === 1_024 ? 0.5 : undefined;
const zlibGoal = (length: number): number | undefined => length >= 4_096 ? 0.5 : length === 1_024 ? 0.7 : undefined;

let kept = 0;

function variant(name: string, checksum: () => number, expected: number): Variant {
  return {
    name,
    run() {
      kept ^= checksum();
    },
    outcome() {
      const found = checksum();
      if (found !== expected) throw new Error(`"${name}" comes to ${found}, but the CRC-32 is ${expected}`);
      return found;
    },
  };
}
