// sysFlag of messages (`MessageSysFlag`).
export const COMPRESSED = 0x1;
export const MULTI_TAGS = 0x2;
export const TRANSACTION_PREPARED = 0x4;
export const TRANSACTION_COMMIT = 0x8;
export const TRANSACTION_ROLLBACK = 0xc;
export const TRANSACTION_MASK = 0xc;
/** The born host has 16 bytes. */
export const BORN_HOST_V6 = 0x10;
/** The store host has 16 bytes. */
export const STORE_HOST_V6 = 0x20;
/** An inner batch: the client splits it. Set together with INNER_BATCH. */
export const NEED_UNWRAP = 0x40;
export const INNER_BATCH = 0x80;
export const COMPRESSION_LZ4 = 0x100;
export const COMPRESSION_ZSTD = 0x200;
export const COMPRESSION_ZLIB = 0x300;
/** No type at all is ZLIB too: producers before 4.9.4. */
export const COMPRESSION_MASK = 0x700;

// sysFlag of pulls (`PullSysFlag`).
/** `commitOffset` is committed with the pull. */
export const PULL_COMMIT_OFFSET = 0x1;
/** The broker may hold the request until there is a message. */
export const PULL_SUSPEND = 0x2;
/** The request carries its own subscription. */
export const PULL_SUBSCRIPTION = 0x4;
export const PULL_CLASS_FILTER = 0x8;
/** Travels as LITE_PULL_MESSAGE. */
export const PULL_LITE = 0x10;

// Permissions of a topic (`PermName`).
export const PERM_INHERIT = 0x1;
export const PERM_WRITE = 0x2;
export const PERM_READ = 0x4;

/** The type bits of each compression. */
export const COMPRESSION_FLAGS = {
  ZLIB: COMPRESSION_ZLIB,
  LZ4: COMPRESSION_LZ4,
  ZSTD: COMPRESSION_ZSTD,
} as const;

/** How a body is compressed, by its sysFlag; undefined when the type bits mean nothing. Only for COMPRESSED bodies. */
export function compressionOf(sysFlag: number): "ZLIB" | "LZ4" | "ZSTD" | undefined {
  switch (sysFlag & COMPRESSION_MASK) {
    case 0:
    case COMPRESSION_ZLIB:
      return "ZLIB";
    case COMPRESSION_LZ4:
      return "LZ4";
    case COMPRESSION_ZSTD:
      return "ZSTD";
    default:
      return undefined;
  }
}
