// What reading and writing LZ4 frames share: the numbers of the format. LZ4 Frame Format Description 1.6.4,
// https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
//
//   frame   magic u32 │ FLG u8 │ BD u8 │ content size u64? │ header checksum u8 │ blocks │ end mark u32 0 │ content checksum u32?
//   FLG     version 01 │ blocks are independent │ block checksums │ content size │ content checksum │ 0 │ dictionary id
//   BD      0 │ largest block, 3 bits: 4 = 64 KiB, 5 = 256 KiB, 6 = 1 MiB, 7 = 4 MiB │ 0000
//   block   size u32, highest bit: stored as it is │ bytes │ checksum u32?

import { hashOf } from "./xxhash32";

export const MAGIC: u32 = 0x184d2204;
export const VERSION: u32 = 0x40;
export const VERSION_MASK: u32 = 0xc0;
export const INDEPENDENT: u32 = 0x20;
export const BLOCK_CHECKSUM: u32 = 0x10;
export const CONTENT_SIZE: u32 = 0x08;
export const CONTENT_CHECKSUM: u32 = 0x04;
/** FLG: a reserved bit, and a dictionary that nobody here has. */
export const FLAGS_REFUSED: u32 = 0x03;
/** The size word of a block that was not compressed. */
export const STORED: u32 = 0x80000000;

/** The checksum behind a descriptor of `length` bytes. */
export function headerChecksum(descriptor: usize, length: u32): u32 {
  return hashOf(descriptor, length) >>> 8 & 0xff;
}
