// The bits of a message's `sysFlag`:
//
//   10       8    7     6     5     4     3    2    1     0
//   ├── type ──┬─────┬─────┬─────┬─────┬─ trans ─┬─────┬─────┐
//   │ LZ4 1 …  │batch│split│store│ born│ -action │multi│comp.│
//   └──────────┴─────┴─────┴─────┴─────┴─────────┴─────┴─────┘

const COMPRESSED: u32 = 0x1;
const BORN_HOST_V6: u32 = 0x10;
const STORE_HOST_V6: u32 = 0x20;
const NEED_UNWRAP: u32 = 0x40;
const INNER_BATCH: u32 = 0x80;

const HOST_V4: u32 = 4 + 4;
const HOST_V6: u32 = 16 + 4;

/** Whether the body is compressed; the type bits alone do not say so. */
export function isCompressed(sysFlag: u32): bool {
  return (sysFlag & COMPRESSED) != 0;
}

/** Whether the body is a batch that the client has to split: both bits must be there. */
export function isInnerBatch(sysFlag: u32): bool {
  return (sysFlag & (NEED_UNWRAP | INNER_BATCH)) == (NEED_UNWRAP | INNER_BATCH);
}

/** Bytes of the born host: address and port. */
export function bornHostLength(sysFlag: u32): u32 {
  return HOST_V4 + ((sysFlag & BORN_HOST_V6) >> 4) * (HOST_V6 - HOST_V4);
}

/** Bytes of the store host, judged by a bit of its own. */
export function storeHostLength(sysFlag: u32): u32 {
  return HOST_V4 + ((sysFlag & STORE_HOST_V6) >> 5) * (HOST_V6 - HOST_V4);
}
