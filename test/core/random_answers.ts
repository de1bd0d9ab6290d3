// Answers of real servers, with other values in them.

import { BINARY_KIND, concat, int32, utf8 } from "../support/frames.ts";
import type { Random } from "./random.ts";

/** SEND_MESSAGE in its three forms, PULL_MESSAGE in two, HEART_BEAT, UPDATE_ and QUERY_CONSUMER_OFFSET. */
export const HOT_CODES: readonly number[] = [10, 310, 320, 11, 361, 34, 15, 14];

/** A header, as JSON text or as the bytes of a ROCKETMQ one. */
export interface AnswerHeader {
  readonly bytes: Uint8Array;
  readonly kind: number;
}

/** The header of a whole frame. */
export function headerOf(frame: Uint8Array): AnswerHeader {
  const word = new DataView(frame.buffer, frame.byteOffset, frame.length).getUint32(4);
  return { bytes: frame.slice(8, 8 + (word & 0xffffff)), kind: word >>> 24 };
}

/** The same answer to another call: another opaque, other numbers and ids, nothing else. */
export function withOtherValues(random: Random, { bytes, kind }: AnswerHeader): AnswerHeader {
  if (kind === BINARY_KIND) return { kind, bytes: otherBinary(random, bytes) };
  const text = decoder.decode(bytes)
    .replace(/"opaque":\d+/, () => `"opaque":${otherOpaque(random)}`)
    .replace(/"(\w+)":"([^"]*)"/g, (_, name, value) => `"${name}":"${otherValue(random, name, value)}"`);
  return { kind, bytes: utf8(text) };
}

const decoder = new TextDecoder();

/** code i16, language u8, version i16, opaque, flag, remark, entries: see core-as/binary_header.ts. */
function otherBinary(random: Random, bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const ext = 17 + view.getInt32(13), entries: Uint8Array[] = [];
  for (let at = ext + 4; at < bytes.length;) {
    const value = at + 2 + view.getInt16(at) + 4, end = value + view.getInt32(value - 4);
    const name = decoder.decode(bytes.subarray(at + 2, value - 4));
    const other = utf8(otherValue(random, name, decoder.decode(bytes.subarray(value, end))));
    entries.push(bytes.subarray(at, value - 4), int32(other.length), other);
    at = end;
  }
  const length = int32(entries.reduce((sum, part) => sum + part.length, 0));
  return concat([bytes.subarray(0, 5), int32(otherOpaque(random)), bytes.subarray(9, ext), length, ...entries]);
}

function otherOpaque(random: Random): number {
  return random.below(random.pick([10, 1000, 2 ** 31]));
}

const NUMBERS = ["queueId", "queueOffset", "nextBeginOffset", "minOffset", "maxOffset", "offset"];

/** Digits for a number, hex digits in the same places for an id. Values that only say what the answer is stay. */
function otherValue(random: Random, name: string, value: string): string {
  if (name === "suggestWhichBrokerId") return String(random.below(random.pick([2, 65_536])));
  if (NUMBERS.includes(name)) return digits(random, 1 + random.below(random.pick([2, 15])));
  if (!/^[0-9A-F,]{16,}$/.test(value)) return value;
  return value.replace(/[0-9A-F]/g, () => random.below(16).toString(16).toUpperCase());
}

function digits(random: Random, length: number): string {
  return Array.from({ length }, () => random.below(10)).join("");
}
