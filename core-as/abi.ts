// Every number that the core and TypeScript agree on. Only `export const NAME = <integer>`, from 0 to 2^31-1 or a small
// negative error code: both compilers read this file. Raise ABI_VERSION with any change to a number or a layout.

export const ABI_VERSION = 3;

// ── sizes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
/** Free bytes behind everything a loop may overshoot; also the tail of every block. */
export const SLACK = 64;
/** Smallest block of the arena; blocks are powers of two. */
export const BLOCK_MIN = 4096;
/** A connection's inbox. */
export const INBOX_BYTES = 131072;
/** One outbound segment, two per connection. */
export const SEGMENT_BYTES = 131072;
/** Connections of one core. */
export const CONNECTIONS = 1024;
/** A whole frame, its length word included. */
export const FRAME_MAX = 16777216;
/** Arguments of one encode command. */
export const ARGUMENTS_MAX = 64;
/** Text of all arguments of one command. */
export const ARGUMENT_BYTES = 65536;
/** Process queues of one core. */
export const QUEUES = 4096;
/** Leaves of one process queue: 64 offsets each. */
export const QUEUE_LEAVES = 8192;

// ── control block: fixed offsets from the exported `control` ─────────────────────────────────────────────────────────
export const SQ_HEAD = 0;
export const SQ_TAIL = 4;
export const CQ_HEAD = 8;
export const CQ_TAIL = 12;
/** u32: bytes of all blocks in use. */
export const BYTES_IN_USE = 16;
/** u32: headers that a learned shape has read; counts through all 32 bits. */
export const SHAPE_HITS = 20;
/**
 * f64: the unique id that the last frame with a UNIQUE_ID hole carries: milliseconds since the month began x 65536 + counter.
 * Written by OP_ENCODE and OP_UNIQUE_ID; read by OP_ENCODE with ENCODE_SAME_ID.
 */
export const UNIQUE_ID = 24;
/** State of one process queue, written by every queue command: see QUEUE_*. */
export const QUEUE_STATE = 64;
/** i64, written by the host before a walk: rows with lower offsets are not for us. */
export const WALK_LOWEST = 112;
/** i64: the offset for which a walk found no room in its queue. */
export const WALK_FAILED = 120;
export const SUBMISSIONS = 128;
/** The host drives each command when it has written it: one entry, at an address that both compilers know. */
export const SUBMISSION_ENTRIES = 1;
export const SUBMISSION_SIZE = 32;
/** SUBMISSIONS + 1 x 32, at a multiple of 64 */
export const COMPLETIONS = 192;
export const COMPLETION_ENTRIES = 1024;
export const COMPLETION_SIZE = 64;
/** Lengths of the arguments, u32 each: COMPLETIONS + 1024 x 64 */
export const ARGUMENT_LENGTHS = 65728;
/** Text of the arguments, back to back; also pairs and steps. 16-byte aligned. */
export const ARGUMENT_TEXT = 65984;
/** Rows of the last record walk: ARGUMENT_TEXT + ARGUMENT_BYTES + SLACK */
export const ROWS = 131584;
export const ROW_ENTRIES = 1024;
export const ROW_SIZE = 64;
/** ROWS + 1024 x 64 */
export const CONTROL_SIZE = 197120;

// ── submission, 32 bytes; the answer is written back into it ─────────────────────────────────────────────────────────
export const SUBMISSION_OPCODE = 0; // u16
export const SUBMISSION_FLAGS = 2; // u16
export const SUBMISSION_TOKEN = 4; // u32
export const SUBMISSION_HANDLE = 8; // u32
export const SUBMISSION_PTR = 12; // u32
export const SUBMISSION_VALUE = 16; // f64
export const SUBMISSION_LEN = 24; // u32
export const SUBMISSION_RESULT = 28; // i32, below zero: an error

// ── completion, 64 bytes: one whole frame ────────────────────────────────────────────────────────────────────────────
export const COMPLETION_TOKEN = 0; // u32, opaque
export const COMPLETION_CODE = 4; // i32
export const COMPLETION_FLAG = 8; // u32
export const COMPLETION_FIELDS = 12; // u32, FIELD_* bits; 0: read the header in TypeScript
export const COMPLETION_HEADER_PTR = 16; // u32
/** u32: header length in the low 24 bits, serialize type in the high byte (the header word as on the wire, host order). */
export const COMPLETION_HEADER_WORD = 20;
export const COMPLETION_BODY_PTR = 24; // u32
export const COMPLETION_BODY_LEN = 28; // u32
export const COMPLETION_A = 32; // f64: queueOffset | nextBeginOffset | offset
export const COMPLETION_B = 40; // f64: queueId | minOffset
export const COMPLETION_C = 48; // f64: maxOffset
export const COMPLETION_TEXT_PTR = 56; // u32: msgId
export const COMPLETION_TEXT_LEN = 60; // u16
export const COMPLETION_BROKER_ID = 62; // u16: suggestWhichBrokerId

/** The header was read whole, without anything left to TypeScript; the other bits say which values were there. */
export const FIELD_READ = 1;
/** A came from `queueOffset`, `nextBeginOffset` or `offset`. */
export const FIELD_A = 2;
/** B came from `queueId` or `minOffset`. */
export const FIELD_B = 4;
/** C came from `maxOffset`. */
export const FIELD_C = 8;
/** TEXT came from `msgId`; the text has no escape. */
export const FIELD_TEXT = 16;
export const FIELD_BROKER_ID = 32;
/** The header has a remark: an error text for whoever reads the header in TypeScript. */
export const FIELD_REMARK = 64;
/** The header has fields beyond the ones above, for example transactionId or MSG_REGION. */
export const FIELD_OTHER = 128;

// ── opcodes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
/** Once, first: lays out the arena over the whole memory. */
export const OP_INIT = 1;
/**
 * value: now in ms, token: how many of them since the month began. Digits for BORN_TIMESTAMP holes until the next one, and
 * the time in new unique ids.
 */
export const OP_CLOCK = 2;
/** len: bytes → result: address of a block whose usable size is at least len (SLACK behind it), or E_NO_ROOM. */
export const OP_ALLOCATE_BLOCK = 3;
/** ptr: a block of OP_ALLOCATE_BLOCK. */
export const OP_FREE_BLOCK = 4;
/** → handle: connection; ptr, len: its room. */
export const OP_CONNECTION_OPEN = 5;
/** handle. Frees the inbox and what a half-read frame holds. */
export const OP_CONNECTION_CLOSE = 6;
/** handle → ptr, len: where the next bytes of the socket go. len is never 0. Moves a half frame to the front if needed. */
export const OP_ROOM = 7;
/** handle, len: bytes that arrived in the room → result FEED_*, completions. */
export const OP_FEED = 8;
/** Steps in the argument area (len bytes), see STEP_* → result: program, or E_NO_ROOM, E_BAD_PROGRAM. */
export const OP_PROGRAM_COMPILE = 9;
/** handle: program. */
export const OP_PROGRAM_FREE = 10;
/** → result: segment (a block; its bytes start at SEGMENT_DATA), or E_NO_ROOM. */
export const OP_SEGMENT_OPEN = 11;
/** handle: segment. */
export const OP_SEGMENT_FREE = 12;
/** handle: segment. Empties it. */
export const OP_SEGMENT_RESET = 13;
/**
 * handle: program, token: opaque, ptr: segment, value: queueId, len: body length, flags: argument count,
 * arguments in the argument area → result: address for the body, or E_NO_ROOM. With ENCODE_BODY_APART in the high bit of
 * flags the body is counted in the frame's length but has no room in the segment: the result is the segment's end. With
 * ENCODE_SAME_ID the frame carries the id that stands in UNIQUE_ID, without it a new one, if its program has a hole for it.
 */
export const OP_ENCODE = 14;
/** ptr: segment, len: bytes → result: address where a ready frame may be copied, or E_NO_ROOM. */
export const OP_APPEND = 15;
/**
 * ptr, len: a pull body in the arena, value: position to start at, flags: WALK_*, handle: process queue with WALK_PUT, token:
 * count of tags with WALK_TAGS → result: rows filled (positions count from ptr), value: position to go on from (= len when
 * done). With WALK_PUT it stops behind a row of kind ROW_BATCH, and before a record that finds no room in the queue: when
 * that is its first one and nothing of it went in, the result is E_QUEUE_FULL or E_NO_ROOM.
 */
export const OP_WALK = 16;
/** ptr, len, token: seed → value: CRC-32 as an unsigned number. */
export const OP_CRC32 = 17;
/** → handle: process queue, or E_NO_ROOM. */
export const OP_QUEUE_OPEN = 18;
/** handle. */
export const OP_QUEUE_CLOSE = 19;
/** handle, len: pairs in the argument area (PAIR_*) → result: how many were new, or E_QUEUE_FULL (those before the failing one stay, value: their count). */
export const OP_QUEUE_PUT = 20;
/** handle, len: most to take → result: pairs written to the argument area, lowest offsets first. */
export const OP_QUEUE_TAKE = 22;
/** handle, len: pairs (only the offsets are read). Fills QUEUE_COMMIT. */
export const OP_QUEUE_REMOVE = 23;
/** handle. Fills QUEUE_STATE. */
export const OP_QUEUE_STATE = 24;
/** handle. Forgets everything in it, also the highest offset. */
export const OP_QUEUE_CLEAR = 25;
/**
 * flags: STRATEGY_*, handle: queues, len: clients, token: own index → ptr: first queue, len: count, token: from one to the
 * next, value: one further queue, -1: none.
 */
export const OP_ALLOCATE = 26;
/** Takes a unique id without a frame and leaves it in UNIQUE_ID. */
export const OP_UNIQUE_ID = 50;
/** handle, len: pairs; PAIR_OFFSET is the first of a run, PAIR_BYTES how many they are. Removes all of them that are there; fills QUEUE_COMMIT. */
export const OP_QUEUE_REMOVE_RUNS = 51;
/** handle, value: one offset below 2^53. Removes it; fills QUEUE_COMMIT. */
export const OP_QUEUE_REMOVE_ONE = 32;
/** handle. Removes all that are taken; QUEUE_COMMIT: the highest of them + 1, -1 when none was. */
export const OP_QUEUE_COMMIT = 33;
/** handle. Whatever is taken is not taken any more. */
export const OP_QUEUE_ROLLBACK = 34;
/** handle, len: pairs (only the offsets are read): they are not taken any more → result: how many were. */
export const OP_QUEUE_AGAIN = 35;
/**
 * ptr, len: records, token: count of rows in the row table → result: a block of OP_ALLOCATE_BLOCK's kind that holds a copy of
 * the rows, and behind them of the records; or E_NO_ROOM.
 */
export const OP_LEASE = 36;

/**
 * LZ4 frames are read in parts. value: most bytes that may come out, at most 2^30 → handle: where the first input goes (in
 * the argument area), token: how many bytes fit there.
 */
export const OP_LZ4_READ_BEGIN = 40;
/**
 * len: bytes of input laid there, flags: LZ4_LAST when no more follow → result: LZ4_DONE, LZ4_MORE_*, E_BAD_LZ4 or
 * E_LZ4_TOO_LONG; ptr, len: what came out, good until the next command; handle, token: where the next input goes. Between
 * two of them no other command may use the argument area.
 */
export const OP_LZ4_READ = 41;
/** flags: LZ4_BLOCK_CHECKSUM …, value: length of the content, if LZ4_CONTENT_SIZE is set → ptr, len: the frame's header. */
export const OP_LZ4_WRITE_BEGIN = 42;
/** len: bytes in the argument area, at most ARGUMENT_BYTES → ptr, len: a block, good until the next command. */
export const OP_LZ4_WRITE = 43;
/** → ptr, len: the frame's end. E_BAD_ARGUMENT when less was written than announced. */
export const OP_LZ4_WRITE_END = 44;
/**
 * Texts of queues as arguments, flags: their count, handle: index of the first; 0 begins a hash ring. At most RING_QUEUES in
 * all.
 */
export const OP_RING_QUEUES = 45;
/**
 * Ids of clients as arguments, flags: their count, token: which of them is asking, if one is, len: nodes of each, handle:
 * number of its first one.
 */
export const OP_RING_CLIENTS = 46;
/** → result: how many queues are the asking client's; their indices, u32 each, in the argument area. */
export const OP_RING_SHARE = 47;

/** In OP_ENCODE's flags, above the number of arguments. */
export const ENCODE_BODY_APART = 32768;
export const ENCODE_SAME_ID = 16384;
export const ENCODE_COUNT_MASK = 16383;

// ── answers of OP_FEED ───────────────────────────────────────────────────────────────────────────────────────────────
export const FEED_DONE = 0;
/** The completion ring was full: drain and feed again with length 0. */
export const FEED_MORE = 1;
/**
 * A frame larger than the inbox found no block. value: its whole length; ptr, len: what has arrived of it (borrowed until
 * the next command for this connection). The host reads the rest elsewhere; the connection starts afresh behind it.
 */
export const FEED_SPILL = 2;

// ── segment ──────────────────────────────────────────────────────────────────────────────────────────────────────────
/** A segment begins with u32 length (bytes encoded), u32 capacity; its data starts here. */
export const SEGMENT_LENGTH = 0;
export const SEGMENT_CAPACITY = 4;
export const SEGMENT_DATA = 16;

// ── header programs: step = u16 hole, u16 literal length, literal; back to back, ending with HOLE_END ────────────────
export const STEP_HEADER = 4;
export const HOLE_END = 0;
/** The opaque in decimal digits. */
export const HOLE_OPAQUE = 1;
/** The opaque as a big-endian i32. */
export const HOLE_OPAQUE32 = 2;
/** Submission.value as a decimal integer, sign included. */
export const HOLE_VALUE = 3;
/** The same behind a big-endian i32 length. */
export const HOLE_VALUE32 = 4;
/** OP_CLOCK's time in decimal digits. */
export const HOLE_BORN_TIMESTAMP = 5;
/** The same behind a big-endian i32 length. */
export const HOLE_BORN_TIMESTAMP32 = 6;
/** The next argument as it is. */
export const HOLE_ARGUMENT = 7;
/** The next argument, escaped as the inside of a JSON string. */
export const HOLE_ARGUMENT_JSON = 8;
/** The next argument behind a big-endian i32 length. */
export const HOLE_ARGUMENT32 = 9;
/** Leaves a big-endian i32 for the length of what follows up to the matching CLOSE. At most 8 deep. */
export const HOLE_OPEN = 10;
export const HOLE_CLOSE = 11;
/** The last 12 of a unique id's 32 hexadecimal digits: time and counter. What stands before them belongs to the literal. */
export const HOLE_UNIQUE_ID = 12;
/** Bit 15 of the first step's hole: a program of the ROCKETMQ header kind. */
export const PROGRAM_BINARY = 32768;

// ── record rows, 64 bytes ────────────────────────────────────────────────────────────────────────────────────────────
export const ROW_RECORD = 0; // u32, position of the record
export const ROW_RECORD_LEN = 4; // u32
export const ROW_BODY = 8; // u32, position
export const ROW_BODY_LEN = 12; // u32
export const ROW_TOPIC = 16; // u32, position
export const ROW_TOPIC_LEN = 20; // u16
export const ROW_PROPERTIES_LEN = 22; // u16
export const ROW_PROPERTIES = 24; // u32, position
export const ROW_STATUS = 28; // u8, ROW_OK …
export const ROW_KIND = 29; // u8, ROW_PLAIN …
export const ROW_INNER_INDEX = 30; // u16, index of the element in its inner batch
export const ROW_QUEUE_OFFSET = 32; // i64, host order
export const ROW_SYS_FLAG = 40; // u32
export const ROW_TAGS = 44; // u32, position; 0: none (a value never starts at 0)
export const ROW_TAGS_LEN = 48; // u16
export const ROW_KEYS_LEN = 50; // u16
export const ROW_KEYS = 52; // u32
export const ROW_UNIQ_KEY = 56; // u32
export const ROW_UNIQ_KEY_LEN = 60; // u16
export const ROW_IS_ASCII = 62; // u16, 1: all bytes of the body are below 128, as it lies there; 0: they are not, or nobody asked

export const ROW_OK = 0;
/** The body does not match its checksum. */
export const ROW_BAD_CRC = 1;
/** The record's lengths or magic make no sense; it is skipped by its total size. */
export const ROW_BAD_RECORD = 2;
/** The total size makes no sense: the rest of the body cannot be read. */
export const ROW_BAD_REST = 3;
/** Not for us: its tag was not asked for, or its offset lies below WALK_LOWEST. */
export const ROW_FILTERED = 4;
/** The queue had its offset already. */
export const ROW_DUPLICATE = 5;

export const ROW_PLAIN = 0;
/** One element of an inner batch: body and properties are the element's, the rest is the outer record's; queue offset = outer + index. */
export const ROW_ELEMENT = 1;
/** An inner batch whose body is compressed: TypeScript unwraps it after inflating. */
export const ROW_BATCH = 2;

/** Compare body checksums. */
export const WALK_CRC = 1;
/** Only messages with one of the tags in the argument area (TAG_*, back to back) are for us. */
export const WALK_TAGS = 2;
/** Enter what is for us into a process queue: rows with status ROW_OK that are none of kind ROW_BATCH. */
export const WALK_PUT = 4;
/** Note for each row with status ROW_OK whether its body is ASCII. */
export const WALK_ASCII = 8;
/** With WALK_CRC: bodies of CRC_LONG bytes and more are somebody else's to compare, but for those of inner batches. */
export const WALK_CRC_SHORT = 16;
/** From here on a runtime's own CRC-32 makes up for the way out of the core, where it is quicker: RESULTS.md, CRC-32. */
export const CRC_LONG = 1024;

/** A tag in the argument area: u16 length, then its text. */
export const TAG_TEXT = 2;

// ── process queues ───────────────────────────────────────────────────────────────────────────────────────────────────
export const PAIR_SIZE = 16;
export const PAIR_OFFSET = 0; // i64
export const PAIR_BYTES = 8; // u32
/** Pairs that fit the argument area. */
export const PAIRS_MAX = 4096;

export const QUEUE_COUNT = 0; // u32
export const QUEUE_TAKEN = 4; // u32, those being consumed in order
export const QUEUE_BYTES = 8; // f64
export const QUEUE_MIN = 16; // i64, -1 when empty
export const QUEUE_MAX = 24; // i64, highest offset ever put, -1 before the first
export const QUEUE_SPAN = 32; // i64, highest - lowest of those that are not taken
/** i64: the offset to commit after a removal: the lowest left, highest ever + 1 when empty, -1 if it was empty before. */
export const QUEUE_COMMIT = 40;
export const QUEUE_STATE_SIZE = 48;

// ── allocation of queues ─────────────────────────────────────────────────────────────────────────────────────────────
export const STRATEGY_AVG = 1;
export const STRATEGY_AVG_BY_CIRCLE = 2;
/** Over the queues of the configured rooms. */
export const STRATEGY_MACHINE_ROOM = 3;
/** Queues of one hash ring. */
export const RING_QUEUES = 8192;

// ── LZ4 frames ───────────────────────────────────────────────────────────────────────────────────────────────────────
/** Flag of OP_LZ4_READ: the input ends here. */
export const LZ4_LAST = 1;
/** All frames were read to the end. */
export const LZ4_DONE = 0;
export const LZ4_MORE_INPUT = 1;
/** More would come out if there were room: go on with len 0. */
export const LZ4_MORE_OUTPUT = 2;
/** Flags of OP_LZ4_WRITE_BEGIN; the bits are the frame's. */
export const LZ4_BLOCK_CHECKSUM = 16;
export const LZ4_CONTENT_SIZE = 8;
export const LZ4_CONTENT_CHECKSUM = 4;

// ── the null page: panic record ──────────────────────────────────────────────────────────────────────────────────────
export const PANIC_CODE = 0; // u32
export const PANIC_DETAIL = 4; // u32

// ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────
export const E_UNKNOWN_OPCODE = -1;
export const E_BAD_POINTER = -2;
export const E_BAD_HANDLE = -3;
export const E_BAD_ARGUMENT = -4;
/** No block of that size is free, or a segment or table is full. */
export const E_NO_ROOM = -5;
export const E_FRAME_TOO_LARGE = -6;
/** Lengths that contradict each other, or an unknown serialize type. */
export const E_BAD_FRAME = -7;
export const E_BAD_PROGRAM = -8;
export const E_QUEUE_FULL = -9;
export const E_NOT_READY = -10;
/** Bytes that are no LZ4 frames, or do not match their checksums. */
export const E_BAD_LZ4 = -40;
/** More would come out than was allowed. */
export const E_LZ4_TOO_LONG = -41;
