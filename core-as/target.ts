// What the last frame was encoded with. Most frames have the same program, segment and flags as the one before: those are judged
// once, and what encoding needs of the program lies here, at a fixed address. Deno's V8 checks each access to memory against its
// end, 2 to 3 instructions, but not one whose address is known.

@unmanaged
export class Target {
  program: u32;
  segment: u32;
  /** Those of the command, or NOTHING, which no command has: all of its handles have to be judged. */
  flags: u32;
  /** All ones when the segment holds the body too, else 0. */
  bodyMask: u32;
  /** As in Program. */
  most: u32;
  perByte: u32;
  kind: u32;
  /** Whether each frame gets a new unique id. */
  takesId: u32;
}

const TARGET: usize = memory.data(32, 64);

/** No flags of 16 bits. */
export const NOTHING: u32 = 0xffffffff;

if (offsetof<Target>() != 32) ERROR("TARGET has another size");

export function target(): Target {
  return changetype<Target>(TARGET);
}

/** Also when a program or a segment is freed. */
export function forgetTarget(): void {
  target().flags = NOTHING;
}
