// What becomes of the rows of a walk: those below the asked offset and those without a wanted tag are filtered, the others
// go into the process queue, in the same pass. A broker compares hash codes of tags alone, so that the text has to be
// compared here; and a pull into the middle of an inner batch brings the whole of it.

import * as abi from "./abi";
import { isQueue, putIntoQueue, stateOfQueue } from "./process_queue";
import { Row, rowAt } from "./rows";
import { ARGUMENT_TEXT, CONTROL, Submission } from "./shared";

/** Of the walk that is under way. */
let flags: u32 = 0;
let queue: u32 = 0;
let lowest: i64 = 0;
/** Where the wanted tags end in the argument area. */
let tagsEnd: usize = 0;
let added: u32 = 0;
let failure: i32 = 0;

const ARGUMENTS_END: usize = ARGUMENT_TEXT + abi.ARGUMENT_BYTES;

/** Reads what a walk's entry says about its rows. Returns an error when that makes no sense, otherwise 0. */
export function beginTaking(entry: Submission): i32 {
  flags = entry.flags;
  added = 0;
  failure = 0;
  if (flags & abi.WALK_PUT) {
    queue = entry.handle;
    if (!isQueue(queue)) return abi.E_BAD_HANDLE;
    // No queue has negative offsets.
    lowest = max<i64>(0, load<i64>(CONTROL, abi.WALK_LOWEST));
  }
  return flags & abi.WALK_TAGS ? findTagsEnd(entry.token) : 0;
}

/**
 * Decides on the rows from `first` to `behind`, all of one record. Returns the index of the first that found no room in the
 * queue, `behind` when all did.
 */
export function takeRows(first: u32, behind: u32, start: usize): u32 {
  const puts = (flags & abi.WALK_PUT) != 0;
  for (let i = first; i < behind; i++) {
    const row = rowAt(i);
    if (row.status != <u8> abi.ROW_OK) continue;
    const offset = row.queueOffset;
    if (puts && offset < lowest) {
      row.status = <u8> (offset < 0 ? abi.ROW_BAD_RECORD : abi.ROW_FILTERED);
    } else if (flags & abi.WALK_TAGS && !isWanted(row, start)) {
      row.status = <u8> abi.ROW_FILTERED;
    } else if (puts) {
      const isNew = putIntoQueue(queue, offset, row.bodyLength);
      if (isNew < 0) {
        failure = isNew;
        store<i64>(CONTROL, offset, abi.WALK_FAILED);
        return i;
      }
      if (isNew) added++;
      else row.status = <u8> abi.ROW_DUPLICATE;
    }
  }
  return behind;
}

/** Whether nothing has gone into the queue yet. */
export function nothingTaken(): bool {
  return added == 0;
}

/** Why a row found no room. */
export function failureOfTaking(): i32 {
  return failure;
}

/** Fills QUEUE_STATE, when there is a queue. */
export function endTaking(): void {
  if (flags & abi.WALK_PUT) stateOfQueue(queue);
}

function findTagsEnd(count: u32): i32 {
  let at = ARGUMENT_TEXT;
  for (; count; count--) {
    if (at + abi.TAG_TEXT > ARGUMENTS_END) return abi.E_BAD_ARGUMENT;
    at += <usize> abi.TAG_TEXT + load<u16>(at);
  }
  tagsEnd = at;
  return at > ARGUMENTS_END ? abi.E_BAD_ARGUMENT : 0;
}

/** Whether a row's tag is one of those in the argument area. */
function isWanted(row: Row, start: usize): bool {
  const length: u32 = row.tagsLength;
  if (!length) return false;
  const tag = start + row.tags;
  for (let at = ARGUMENT_TEXT; at < tagsEnd;) {
    const other: u32 = load<u16>(at);
    at += abi.TAG_TEXT;
    if (other == length && isSame(at, tag, length)) return true;
    at += other;
  }
  return false;
}

function isSame(one: usize, other: usize, length: u32): bool {
  for (let i: u32 = 0; i < length; i += 16) {
    let same = <u32> i8x16.bitmask(v128.eq<i8>(v128.load(one + i), v128.load(other + i)));
    // What lies behind the end may differ.
    if (length - i < 16) same |= <u32> -1 << (length - i);
    if ((same & 0xffff) != 0xffff) return false;
  }
  return true;
}
