// Pull bodies for the tests and the fuzzer: good records of all kinds, and what is left of them after some mutations.

import type { Random } from "./random.ts";
import { concat } from "../support/frames.ts";
import { elementBytes, MAGIC_V1, MAGIC_V2, recordBytes } from "./record_bytes.ts";

/** Some records back to back; two bodies in three are broken somewhere. */
export function randomBody(random: Random): Uint8Array {
  const body = concat(Array.from({ length: random.below(5) }, () => randomRecord(random)));
  return random.once(3) ? body : mutated(random, body);
}

/** One good record. */
export function randomRecord(random: Random): Uint8Array {
  const hosts = random.pick([0, 0, 0, 0x10, 0x20, 0x30]);
  const batch = random.once(6) ? 0xc0 : random.once(20) ? random.pick([0x40, 0x80]) : 0;
  const sysFlag = hosts | batch | (random.once(6) ? 1 : 0);
  const isV2 = random.once(6);
  return recordBytes({
    magic: isV2 ? MAGIC_V2 : MAGIC_V1,
    sysFlag,
    queueOffset: BigInt(random.bits()) * BigInt(random.below(2 ** 20)),
    topic: "T".repeat(random.below(isV2 ? 200 : 30)),
    body: batch === 0xc0 ? randomElements(random) : random.bytes(random.below(random.once(8) ? 1_500 : 40)),
    properties: randomProperties(random),
    ...(random.once(5) ? { bodyCRC: random.bits() } : {}),
    // Bytes that a walk too far would take for separators.
    ...(random.once(8) ? { trailing: random.bytes(random.below(20)).fill(2, 0, random.below(3)) } : {}),
  });
}

function randomElements(random: Random): Uint8Array {
  const element = () => elementBytes(random.bytes(random.below(20)), randomProperties(random), random.below(10));
  return concat(Array.from({ length: random.below(5) }, element));
}

/** Pairs whose names are often those the walk looks for, now and then written badly. */
export function randomProperties(random: Random): string {
  let text = "";
  for (let count = random.below(6); count > 0; count--) {
    text += random.pick(["TAGS", "KEYS", "UNIQ_KEY", "WAIT", "TAG", "TAGS2", "UNIQ_KEY_", "", "é中"]);
    text += random.pick(["\x01", "\x01", "\x01", "\x01", "", "\x01\x01", "\x02"]);
    text += "v".repeat(random.below(random.once(4) ? 40 : 6));
    if (count > 1 || !random.once(3)) text += random.once(12) ? "\x02\x02" : "\x02";
  }
  return text;
}

/** A copy with a few changes: bytes, runs, interesting integers, a cut, a piece twice. */
export function mutated(random: Random, bytes: Uint8Array): Uint8Array {
  let copy: Uint8Array = bytes.slice();
  for (let changes = 1 + random.below(3); changes > 0 && copy.length > 0; changes--) copy = mutatedOnce(random, copy);
  return copy;
}

const INTEGERS = [0, 1, 22, 90, 91, 127, 128, 255, 256, 32767, 32768, 65535, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];

function mutatedOnce(random: Random, copy: Uint8Array): Uint8Array {
  const at = random.below(copy.length), view = new DataView(copy.buffer, copy.byteOffset, copy.length);
  switch (random.below(8)) {
    case 0:
      copy[at]! ^= 1 << random.below(8);
      return copy;
    case 1:
      copy[at] = random.bits();
      return copy;
    case 2:
      copy[at] = random.pick([0, 1, 2, 0x7f, 0x80, 0xff, 0x22, 0x5c, 0x7b, 0x7d]);
      return copy;
    case 3:
      if (at + 4 <= copy.length) view.setUint32(at, random.pick(INTEGERS));
      return copy;
    case 4:
      if (at + 2 <= copy.length) view.setUint16(at, random.pick(INTEGERS));
      return copy;
    case 5:
      copy.fill(random.bits(), at, at + random.below(16));
      return copy;
    case 6:
      return random.once(2) ? copy.slice(0, at) : copy.slice(at);
    default: {
      const piece = copy.slice(at, at + 1 + random.below(60));
      return concat([copy.subarray(0, at), piece, copy.subarray(at)]);
    }
  }
}
