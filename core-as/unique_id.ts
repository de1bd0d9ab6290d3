// Unique ids (UNIQ_KEY): 32 upper-case hexadecimal digits, of which the last 12 are made here, as `MessageClientIDSetter`
// lays them out: milliseconds since the month began i32, counter i16. As one number, time x 65536 + counter, they fit an f64
// exactly, so an id crosses to the host and back without a text.
//
// No id comes twice: a millisecond has 65,536 of them, and the time they carry never goes back. When a millisecond has no
// more, the next one is used before it has come.

import * as abi from "./abi";
import { control, Submission } from "./shared";

/** What `writeId` writes. */
export const UNIQUE_ID_BYTES: u32 = 12;

const IDS_PER_MS: u32 = 65536;
/** Ids are below it. */
const ID_END: f64 = 281474976710656.0;

/** The time in new ids, and when its month began: ms. */
let time: i64 = 0;
let monthStart: i64 = 0;
let counter: u32 = 0;
/** How many ids `time` has left. */
let left: u32 = IDS_PER_MS;

/** What the clock says now. Also the month stays the one of the time that ids carry. */
export function setIdTime(now: i64, sinceMonth: u32): void {
  if (now <= time) return;
  time = now;
  monthStart = now - sinceMonth;
  left = IDS_PER_MS;
}

/** OP_UNIQUE_ID. */
export function takeUniqueId(entry: Submission): void {
  newId();
  entry.result = 0;
}

/** Leaves a new id in the control block. */
export function newId(): void {
  if (!left) {
    time++;
    left = IDS_PER_MS;
  }
  left--;
  const passed = (time - monthStart) & 0xffffffff;
  control().uniqueId = <f64> (passed << 16 | counter);
  counter = (counter + 1) & 0xffff;
}

/** Whether the id in the control block is one: the host may have written it. */
export function isId(): bool {
  const id = control().uniqueId;
  return id >= 0 && id < ID_END && trunc<f64>(id) == id;
}

/** Writes the id of the control block as 12 digits; overshoots by 4 bytes. */
export function writeId(to: usize): void {
  // The six bytes, highest first, become twelve nibbles, and those look their digits up.
  const bytes = i64x2.splat(bswap(<i64> control().uniqueId << 16));
  const high = v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(15));
  const low = v128.and(bytes, i8x16.splat(15));
  const nibbles = v128.shuffle<u8>(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  v128.store(to, v128.swizzle(i8x16(48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 65, 66, 67, 68, 69, 70), nibbles));
}
