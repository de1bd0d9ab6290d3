import * as abi from "./abi";

/** A check that the compiler put in failed; the detail is its line. */
const ABORT: u32 = 1;
/** More submissions wait than there are entries for them. */
export const PANIC_SUBMISSIONS: u32 = 2;
/** A segment holds more than it has room for. */
export const PANIC_SEGMENT: u32 = 3;
/** A block that the core owns could not be freed. */
export const PANIC_BLOCK: u32 = 4;

/** Ends the core where going on would corrupt memory: leaves both numbers in the null page, where the host finds them. */
export function panic(code: u32, detail: u32): void {
  store<u32>(abi.PANIC_CODE, code);
  store<u32>(abi.PANIC_DETAIL, detail);
  unreachable();
}

/** Stands in for the compiler's `abort`, without its texts: they would be data segments. */
export function abort(_message: string | null, _file: string | null, line: u32, _column: u32): void {
  panic(ABORT, line);
}
