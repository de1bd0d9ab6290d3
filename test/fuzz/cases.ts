// What a case is made of, decided by its own random numbers alone: a run can start at any case.

import { Random } from "../core/random.ts";
import { mutated, randomBody } from "../core/random_records.ts";
import { concat, frameBytes } from "../support/frames.ts";
import { randomBinaryHeader, randomJsonHeader } from "./headers.ts";
import type { VectorFrames } from "./vectors.ts";

export type CaseKind = "vector" | "header" | "records" | "answers" | "garbage" | "lz4" | "commands";

/** Bytes for a connection, and where they are cut. Answers, LZ4 and commands have none: their random numbers decide everything. */
export interface Case {
  readonly kind: CaseKind;
  readonly bytes: Uint8Array;
  /** Most bytes that arrive at once; 0: all of them. */
  readonly pieces: number;
  readonly random: Random;
}

/** Case `index` of the run with this seed. */
export function caseOf(seed: number, index: number, vectors: VectorFrames): Case {
  const random = new Random(Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b) ^ index);
  const kind = kindOf(random.below(100));
  const bytes = bytesOf(kind, random, vectors);
  const pieces = random.once(6) ? 1 + random.below(random.pick([4, 60, 600])) : 0;
  return { kind, bytes, pieces, random };
}

function kindOf(percent: number): CaseKind {
  if (percent < 57) return "vector";
  if (percent < 69) return "header";
  if (percent < 81) return "records";
  if (percent < 88) return "answers";
  if (percent < 93) return "garbage";
  return percent < 96 ? "lz4" : "commands";
}

function bytesOf(kind: CaseKind, random: Random, vectors: VectorFrames): Uint8Array {
  switch (kind) {
    case "vector":
      return mutatedFrame(random, vectorFrame(random, vectors));
    case "header":
      return generatedFrame(random, random.once(8) ? random.bytes(random.below(40)) : undefined);
    case "records":
      return generatedFrame(random, randomBody(random));
    case "garbage":
      return garbage(random);
    default:
      return new Uint8Array(0);
  }
}

function vectorFrame(random: Random, { small, large, others }: VectorFrames): Uint8Array {
  if (random.below(100) < 55) return random.pick(random.once(100) ? large : small);
  return random.pick(others);
}

/** Most mutations leave the two length words right, so that what is behind them is read. */
function mutatedFrame(random: Random, frame: Uint8Array): Uint8Array {
  if (random.once(12)) return mutated(random, frame);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const word = view.getUint32(4), split = 8 + (word & 0xffffff);
  const header = frame.subarray(8, split), body = frame.subarray(split);
  const what = body.length === 0 ? 0 : random.below(5);
  return frameBytes(
    what < 2 ? mutated(random, header) : header,
    what > 0 ? mutated(random, body) : body,
    random.once(40) ? 1 - (word >>> 24) : word >>> 24,
  );
}

function generatedFrame(random: Random, body: Uint8Array | undefined): Uint8Array {
  const isBinary = random.once(3);
  let header = isBinary ? randomBinaryHeader(random) : randomJsonHeader(random);
  if (random.once(3)) header = mutated(random, header);
  return frameBytes(header, body, isBinary ? 1 : 0);
}

const JSON_BYTES = [123, 125, 34, 44, 58, 92, 91, 93, 48, 57, 45, 46, 32, 101, 116, 110];

/** Bytes without any frame, or a frame whose header is made of what headers are made of. */
function garbage(random: Random): Uint8Array {
  if (random.once(4)) return random.bytes(random.below(200));
  const header = random.bytes(random.below(200));
  if (!random.once(3)) {
    for (let i = 0; i < header.length; i++) if (random.below(4)) header[i] = random.pick(JSON_BYTES);
  }
  const frame = frameBytes(header, random.bytes(random.below(30)), random.below(2));
  return random.once(4) ? concat([frame, frame]) : frame;
}
