import { ResponseCode } from "../client/protocol/codes.ts";
import { FOUND } from "./answer_programs.ts";
import type { ConsumeQueue } from "./consume_queue.ts";
import type { MessageStore } from "./message_store.ts";

/** What a pull finds. */
export interface Reading {
  readonly code: number;
  /** Name of the state. */
  readonly remark: string;
  readonly nextBeginOffset: number;
  readonly minOffset: number;
  readonly maxOffset: number;
  /** Records, one behind the other; absent unless there are some. */
  readonly body?: Uint8Array;
}

/** Most bytes of one answer, though always one message. */
const BYTES_MAX = 262_144;
const MESSAGES_MAX = 1_024;
/** Entries of a consume queue that one pull looks at: 16,000 bytes of 20, or twenty for each message that was asked for. */
const SCAN_MIN = 800;
const SCAN_FACTOR = 20;

/**
 * The states of a queue (`DefaultMessageStore#getMessage`). Without `codes` every message matches, otherwise those whose tag
 * has one of these hashes.
 */
export function readQueue(
  messages: MessageStore,
  topic: string,
  queueId: number,
  queueOffset: number,
  maxMsgNums: number,
  codes: readonly number[] | undefined,
): Reading {
  const queue = messages.existing(topic, queueId);
  const min = queue?.min ?? 0, max = queue?.max ?? 0;
  const nothing = (code: number, remark: string, nextBeginOffset: number): Reading => ({
    code,
    remark,
    nextBeginOffset,
    minOffset: min,
    maxOffset: max,
  });
  if (!queue || max === 0) {
    const code = queueOffset === 0 ? ResponseCode.PULL_NOT_FOUND : ResponseCode.PULL_OFFSET_MOVED;
    return nothing(code, queue ? "NO_MESSAGE_IN_QUEUE" : "NO_MATCHED_LOGIC_QUEUE", 0);
  }
  if (queueOffset < min) return nothing(ResponseCode.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL", min);
  if (queueOffset === max) return nothing(ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", queueOffset);
  if (queueOffset > max) return nothing(ResponseCode.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", max);
  const wanted = Math.min(Math.max(1, maxMsgNums), MESSAGES_MAX);
  const { offsets, size, next } = scan(queue, queueOffset, wanted, codes);
  if (offsets.length === 0) return nothing(ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE", next);
  return { ...nothing(ResponseCode.SUCCESS, FOUND, next), body: gather(messages, queue, offsets, size) };
}

interface Scan {
  readonly offsets: readonly number[];
  /** Bytes of their records. */
  readonly size: number;
  /** Behind the last entry that was looked at. */
  readonly next: number;
}

function scan(queue: ConsumeQueue, from: number, wanted: number, codes: readonly number[] | undefined): Scan {
  const end = Math.min(queue.max, from + Math.max(SCAN_MIN, wanted * SCAN_FACTOR));
  const offsets: number[] = [];
  let size = 0, at = from;
  for (; at < end && offsets.length < wanted; at++) {
    if (codes && !codes.includes(queue.tagHash(at))) continue;
    const more = queue.size(at);
    if (offsets.length > 0 && size + more > BYTES_MAX) break;
    offsets.push(at);
    size += more;
  }
  return { offsets, size, next: at };
}

function gather(messages: MessageStore, queue: ConsumeQueue, offsets: readonly number[], size: number): Uint8Array {
  const body = new Uint8Array(size);
  let at = 0;
  for (const offset of offsets) {
    const record = messages.record(queue, offset);
    body.set(record, at);
    at += record.length;
  }
  return body;
}
