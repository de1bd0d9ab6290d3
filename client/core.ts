import * as abi from "../core-as/abi.ts";
import { ArgumentError, CoreError, FrameError, OverloadError } from "./errors.ts";
import type { Host } from "./host.ts";

/** MiB of address space a core may have. */
export const CORE_MEMORY_MIN = 1;
export const CORE_MEMORY_MAX = 1024;
export const CORE_MEMORY_DEFAULT = 128;

/** One literal and the hole behind it; see HOLE_* in `core-as/abi.ts`. The last hole of a program is HOLE_END. */
export type Step = readonly [literal: string | Uint8Array, hole: number];

/** Called once for each whole frame. The frame and all it points at end when the sink returns. */
export type FrameSink = (frame: Frame) => void;

/** An offset in a queue: a number below 2^53, a bigint from there on. Both compare with each other. */
export type Offset = number | bigint;

/** What one process queue holds. */
export interface QueueState {
  readonly count: number;
  /** How many of them an orderly consumer works on. */
  readonly taken: number;
  /** Of their bodies. */
  readonly bytes: number;
  /** The lowest offset, -1 when it is empty. */
  readonly min: Offset;
  /** The highest offset ever put, -1 before the first. */
  readonly max: Offset;
  /** Highest less lowest of those that are not taken, 0 when there are none. */
  readonly span: Offset;
}

/** What a walk does with the messages it finds: `takeIn`. */
export interface Taking {
  readonly queue: number;
  /** Messages below are not for us. */
  readonly lowest: Offset;
  /** Only messages with one of these tags are for us; undefined: all. */
  readonly tags: TagFilter | undefined;
  readonly checkCrc: boolean;
  /** Whether it matters which bodies are ASCII: ROW_IS_ASCII. */
  readonly noteAscii: boolean;
}

/** Tags as the core reads them; the same for as long as a subscription lasts. */
export class TagFilter {
  readonly count: number;
  readonly bytes: Uint8Array;

  constructor(tags: readonly string[]) {
    const texts = tags.map((tag) => encoder.encode(tag));
    this.count = tags.length;
    this.bytes = new Uint8Array(texts.reduce((sum, text) => sum + abi.TAG_TEXT + text.length, 0));
    let at = 0;
    for (const text of texts) {
      store16(this.bytes, at, text.length);
      this.bytes.set(text, at + abi.TAG_TEXT);
      at += abi.TAG_TEXT + text.length;
    }
  }

  /** Whether the core can read them: its argument area has 64 KiB. */
  get fits(): boolean {
    return this.bytes.length <= abi.ARGUMENT_BYTES;
  }
}

interface Exports {
  readonly drive: () => void;
  readonly abiVersion: WebAssembly.Global;
  readonly control: WebAssembly.Global;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Longer texts go through `encodeInto`, shorter ones through a loop. */
const SHORT_TEXT = 32;
const SPILL_FIRST = 262_144;
/** The core counts what comes out of LZ4 frames up to here. */
const LZ4_MAX = 2 ** 30;
/** No frame has carried the unique id yet: the core makes one. */
export const NEW_ID = -1;
const WORD = 2 ** 32;
const PER_WORD = 2 ** -32;
/** Where a record has the checksum of its body, without the sign bit. */
const BODY_CRC_AT = 8;
const CRC_MASK = 0x7fffffff;
/** High words from here on belong to numbers of 2^53 and more. */
export const SAFE_HIGH = 2 ** 21;

// Where the parts of a completion lie, in words, and in numbers of eight bytes. They stand here because V8 reads what is
// imported anew at each use: 2 to 3 ns a frame where the sources are run as they are.
const TOKEN = abi.COMPLETION_TOKEN >> 2;
const CODE = abi.COMPLETION_CODE >> 2;
const FLAG = abi.COMPLETION_FLAG >> 2;
const FIELDS = abi.COMPLETION_FIELDS >> 2;
const HEADER_PTR = abi.COMPLETION_HEADER_PTR >> 2;
const HEADER_WORD = abi.COMPLETION_HEADER_WORD >> 2;
const BODY_PTR = abi.COMPLETION_BODY_PTR >> 2;
const BODY_LEN = abi.COMPLETION_BODY_LEN >> 2;
const TEXT_PTR = abi.COMPLETION_TEXT_PTR >> 2;
const TEXT_LEN = abi.COMPLETION_TEXT_LEN >> 2;
const A = abi.COMPLETION_A >> 3;
const B = abi.COMPLETION_B >> 3;
const C = abi.COMPLETION_C >> 3;
const ENTRIES_MASK = abi.COMPLETION_ENTRIES - 1;
const ENTRY_WORDS = abi.COMPLETION_SIZE >> 2;

/**
 * One whole frame, lent to a sink. `fields` says what the core understood of the header: FIELD_READ not set means that
 * nothing but the positions is known, and the header has to be read from `headerBytes()`.
 */
export class Frame {
  /** Where the positions below count: the arena, or the frame itself when it found no block there. */
  readonly source: Uint8Array;
  readonly inArena: boolean;
  // Fields are read where they lie when somebody asks: nobody needs all of them, and copying them takes longer.
  readonly #i32: Int32Array;
  readonly #f64: Float64Array;
  readonly #view: DataView | undefined;
  /** Its entry, in words. */
  #entry = 0;

  /** Entries lie in `entries`; `arena` is for frames that are lent from there. */
  constructor(source: Uint8Array, entries: ArrayBufferLike, arena?: DataView) {
    this.source = source;
    this.inArena = arena !== undefined;
    this.#i32 = new Int32Array(entries);
    this.#f64 = new Float64Array(entries);
    this.#view = arena;
  }

  /** Makes it the frame of another entry. */
  lend(entry: number): void {
    this.#entry = entry;
  }

  get opaque(): number {
    return this.#i32[this.#entry + TOKEN]!;
  }

  get code(): number {
    return this.#i32[this.#entry + CODE]!;
  }

  get flag(): number {
    return this.#i32[this.#entry + FLAG]!;
  }

  get fields(): number {
    return this.#i32[this.#entry + FIELDS]!;
  }

  /** What somebody else understood of a header that the core did not. */
  complete(opaque: number, code: number, flag: number): void {
    this.#i32[this.#entry + TOKEN] = opaque;
    this.#i32[this.#entry + CODE] = code;
    this.#i32[this.#entry + FLAG] = flag;
  }

  /** queueOffset, nextBeginOffset or offset. */
  get a(): number {
    return this.#f64[(this.#entry >> 1) + A]!;
  }

  /** queueId or minOffset. */
  get b(): number {
    return this.#f64[(this.#entry >> 1) + B]!;
  }

  /** maxOffset. */
  get c(): number {
    return this.#f64[(this.#entry >> 1) + C]!;
  }

  /** suggestWhichBrokerId. */
  get brokerId(): number {
    return this.#i32[this.#entry + TEXT_LEN]! >>> 16;
  }

  /** 0 JSON, 1 ROCKETMQ. */
  get serializeType(): number {
    return this.#i32[this.#entry + HEADER_WORD]! >>> 24;
  }

  get headerPtr(): number {
    return this.#i32[this.#entry + HEADER_PTR]!;
  }

  get headerLength(): number {
    return this.#i32[this.#entry + HEADER_WORD]! & 0xffffff;
  }

  get bodyPtr(): number {
    return this.#i32[this.#entry + BODY_PTR]!;
  }

  get bodyLength(): number {
    return this.#i32[this.#entry + BODY_LEN]!;
  }

  get textPtr(): number {
    return this.#i32[this.#entry + TEXT_PTR]!;
  }

  get textLength(): number {
    return this.#i32[this.#entry + TEXT_LEN]! & 0xffff;
  }

  /** A copy of the header's bytes. */
  headerBytes(): Uint8Array {
    return this.source.slice(this.headerPtr, this.headerPtr + this.headerLength);
  }

  /** A copy of the body; empty when there is none. */
  body(): Uint8Array {
    return this.source.slice(this.bodyPtr, this.bodyPtr + this.bodyLength);
  }

  /** Four characters of the text, when FIELD_TEXT is set. */
  textWord(word: number): number {
    return this.#view!.getInt32(this.textPtr + word * 4, true);
  }

  /** Whether the text begins with these words of eight characters, when FIELD_TEXT is set: cheaper than to make a text. */
  textBegins(words: Float64Array): boolean {
    const view = this.#view!, from = this.textPtr;
    for (let word = 0; word < words.length; word++) {
      if (view.getFloat64(from + word * 8, true) !== words[word]) return false;
    }
    return true;
  }

  /** msgId, when FIELD_TEXT is set. */
  text(): string {
    return latin(this.source, this.textPtr, this.textLength);
  }
}

/** A frame that is read into JavaScript memory, because no block was free for it. Grows as its bytes arrive. */
class Spill {
  bytes: Uint8Array;
  filled: number;
  readonly total: number;

  constructor(total: number, arrived: Uint8Array) {
    this.total = total;
    this.bytes = new Uint8Array(Math.min(total, Math.max(SPILL_FIRST, arrived.length * 2)));
    this.bytes.set(arrived);
    this.filled = arrived.length;
  }

  room(): Uint8Array {
    if (this.filled === this.bytes.length) {
      const grown = new Uint8Array(Math.min(this.total, this.bytes.length * 2));
      grown.set(this.bytes);
      this.bytes = grown;
    }
    return this.bytes.subarray(this.filled);
  }
}

// What every command and every frame that is encoded needs of the ABI. It stands here because V8 reads what is imported anew
// at each use: 9 ns a frame on Deno where the sources are run as they are.
const OP_ENCODE = abi.OP_ENCODE;
const BODY_APART = abi.ENCODE_BODY_APART;
const SAME_ID = abi.ENCODE_SAME_ID;
const UNIQUE_ID = abi.UNIQUE_ID;
const ARGUMENT_BYTES = abi.ARGUMENT_BYTES;
const SQ_TAIL = abi.SQ_TAIL;
// Parts of a submission, in words, and in numbers of eight bytes.
const SUBMITTED_TOKEN = abi.SUBMISSION_TOKEN >> 2;
const SUBMITTED_HANDLE = abi.SUBMISSION_HANDLE >> 2;
const SUBMITTED_PTR = abi.SUBMISSION_PTR >> 2;
const SUBMITTED_VALUE = abi.SUBMISSION_VALUE >> 3;
const SUBMITTED_LEN = abi.SUBMISSION_LEN >> 2;
const SUBMITTED_RESULT = abi.SUBMISSION_RESULT >> 2;

/** The only class that touches the arena: one method for each thing the client wants of the core. */
export class Core {
  readonly #drive: () => void;
  readonly #control: number;
  /** Address of the only entry for a submission. */
  readonly #entry: number;
  /** Where arguments go, an address, and their lengths, in words. */
  readonly #text: number;
  readonly #lengths: number;
  readonly #u8: Uint8Array;
  readonly #i32: Int32Array;
  readonly #f64: Float64Array;
  readonly #frame: Frame;
  /** Only where it is quicker than the core's: `Host.crc32`. */
  readonly #hostCrc32: ((bytes: Uint8Array) => number) | undefined;
  readonly #spills = new Map<number, Spill>();
  #failure: CoreError | undefined;
  #feeding = false;

  /** Rows walked by the last `walk` or `takeIn` end here: the position to go on from. */
  walkedTo = 0;
  /** The offset for which the last `takeIn` found no room. */
  failedOffset: Offset = -1;
  /** The whole memory, for whoever reads what was leased to them: `lease`. */
  readonly arena: { readonly bytes: Uint8Array; readonly view: DataView; readonly words: Int32Array };

  /**
   * `coreMemory` is in MiB, 1 to 1024; `crc32` is `Host.crc32`. Throws `CoreError` when the system gives no memory or the core
   * is another version.
   */
  constructor(module: WebAssembly.Module, coreMemory: number = CORE_MEMORY_DEFAULT, crc32?: Host["crc32"]) {
    const pages = coreMemory * 16;
    let memory: WebAssembly.Memory;
    try {
      memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    } catch (cause) {
      throw new CoreError(
        `Cannot reserve ${coreMemory} MiB of memory for the core: ask for less with coreMemory, ` +
          'or, under "ulimit -v", start Node with --disable-wasm-trap-handler',
        { cause },
      );
    }
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    const { drive, abiVersion, control } = exports as unknown as Exports;
    if (abiVersion.value !== abi.ABI_VERSION) {
      throw new CoreError(`The core speaks version ${abiVersion.value}, this client ${abi.ABI_VERSION}`);
    }
    this.#drive = drive;
    this.#hostCrc32 = crc32;
    this.#control = control.value as number;
    this.#entry = this.#control + abi.SUBMISSIONS;
    this.#text = this.#control + abi.ARGUMENT_TEXT;
    this.#lengths = (this.#control + abi.ARGUMENT_LENGTHS) >> 2;
    this.#u8 = new Uint8Array(memory.buffer);
    this.#i32 = new Int32Array(memory.buffer);
    this.#f64 = new Float64Array(memory.buffer);
    this.arena = { bytes: this.#u8, view: new DataView(memory.buffer), words: this.#i32 };
    this.#frame = new Frame(this.#u8, memory.buffer, this.arena.view);
    this.#must(abi.OP_INIT);
  }

  /** Bytes of all blocks that are in use. */
  get bytesInUse(): number {
    return this.#i32[(this.#control + abi.BYTES_IN_USE) >> 2]! >>> 0;
  }

  /** Headers that learned shapes have read; runs through all 32 bits. */
  get shapeHits(): number {
    return this.#i32[(this.#control + abi.SHAPE_HITS) >> 2]! >>> 0;
  }

  /** Why this core refuses to work, if it does. */
  get failure(): CoreError | undefined {
    return this.#failure;
  }

  /**
   * Tells the time, in ms, and how many of them have passed since the month began. They are in every born timestamp and
   * unique id until the next call.
   */
  clock(now: number, sinceMonth = 0): void {
    this.#must(abi.OP_CLOCK, 0, 0, 0, now, 0, sinceMonth);
  }

  // ── inbound ────────────────────────────────────────────────────────────────────────────────────────────────────────

  openConnection(): number {
    const result = this.#command(abi.OP_CONNECTION_OPEN);
    if (result === abi.E_NO_ROOM) {
      throw new OverloadError("Cannot open a connection: no room for its inbox in the core's memory");
    }
    this.#check(abi.OP_CONNECTION_OPEN, result);
    return this.#i32[(this.#entry + abi.SUBMISSION_HANDLE) >> 2]! >>> 0;
  }

  /** Frees what the connection holds. A core that has failed has nothing left to free. */
  closeConnection(connection: number): void {
    this.#spills.delete(connection);
    if (!this.#failure) this.#must(abi.OP_CONNECTION_CLOSE, connection);
  }

  /** The place for the next bytes of a connection; never empty. Ask again after every `feed`. */
  room(connection: number): Uint8Array {
    const spill = this.#spills.get(connection);
    if (spill) return spill.room();
    this.#must(abi.OP_ROOM, connection);
    const ptr = this.#answerPtr();
    return this.#u8.subarray(ptr, ptr + this.#answerLength());
  }

  /**
   * Cuts what has arrived on a connection and hands every whole frame to `sink`. A sink may use every other method, but
   * not feed. Throws `FrameError` on bytes that break the protocol, after the frames before them, and what a sink throws: the
   * frames behind that one are lost. Close the connection then.
   */
  feed(connection: number, length: number, sink: FrameSink): void {
    if (this.#feeding) throw new CoreError("Cannot feed the core from inside a sink");
    this.#feeding = true;
    try {
      if (this.#spills.has(connection)) this.#feedSpill(connection, length, sink);
      else this.#feedArena(connection, length, sink);
    } finally {
      this.#feeding = false;
    }
  }

  #feedArena(connection: number, length: number, sink: FrameSink): void {
    for (let more = true; more; length = 0) {
      const result = this.#command(abi.OP_FEED, connection, 0, length);
      more = result === abi.FEED_MORE;
      // What a spilled frame has so far is copied before a sink can drive the core again.
      if (result === abi.FEED_SPILL) {
        const ptr = this.#answerPtr();
        const arrived = this.#u8.subarray(ptr, ptr + this.#answerLength());
        this.#spills.set(connection, new Spill(this.#answerValue(), arrived));
      }
      this.#drain(sink);
      if (result < 0) this.#refuse(result);
    }
  }

  #refuse(result: number): never {
    if (result === abi.E_FRAME_TOO_LARGE) {
      throw new FrameError(`A frame is longer than ${abi.FRAME_MAX} bytes, or is not a frame`);
    }
    if (result === abi.E_BAD_FRAME) {
      throw new FrameError("A frame's lengths contradict each other, or its header kind is unknown");
    }
    throw new CoreError(`The core refused to read: ${result}`);
  }

  #feedSpill(connection: number, length: number, sink: FrameSink): void {
    const spill = this.#spills.get(connection)!;
    spill.filled += length;
    if (spill.filled < spill.total) return;
    this.#spills.delete(connection);
    const { bytes } = spill;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const word = view.getInt32(4);
    const headerLength = word & 0xffffff;
    const serializeType = word >>> 24;
    if (8 + headerLength > bytes.length || serializeType > 1) this.#refuse(abi.E_BAD_FRAME);
    const entry = new Int32Array(abi.COMPLETION_SIZE >> 2);
    entry[abi.COMPLETION_HEADER_WORD >> 2] = word;
    entry[abi.COMPLETION_HEADER_PTR >> 2] = 8;
    entry[abi.COMPLETION_BODY_PTR >> 2] = 8 + headerLength;
    entry[abi.COMPLETION_BODY_LEN >> 2] = bytes.length - 8 - headerLength;
    sink(new Frame(bytes, entry.buffer));
  }

  #drain(sink: FrameSink): void {
    const i32 = this.#i32, frame = this.#frame, first = (this.#control + abi.COMPLETIONS) >> 2;
    const tail = (this.#control + abi.CQ_TAIL) >> 2, head = i32[(this.#control + abi.CQ_HEAD) >> 2]!;
    try {
      for (let index = i32[tail]!; index !== head; index = (index + 1) | 0) {
        frame.lend(first + (index & ENTRIES_MASK) * ENTRY_WORDS);
        sink(frame);
      }
    } finally {
      // Only feeding makes completions, and a sink may not feed. When it throws, the frames behind it are this connection's:
      // they must not wait for another one's sink.
      i32[tail] = head;
    }
  }

  // ── outbound ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Compiles a header program. Its steps are at most 64 KiB. */
  program(steps: readonly Step[], serializeType: "JSON" | "ROCKETMQ"): number {
    let at = this.#text;
    const start = at, end = at + abi.ARGUMENT_BYTES;
    let kind = serializeType === "ROCKETMQ" ? abi.PROGRAM_BINARY : 0;
    for (const [literal, hole] of steps) {
      const bytes = typeof literal === "string" ? encoder.encode(literal) : literal;
      if (at + abi.STEP_HEADER + bytes.length > end) {
        throw new ArgumentError("Cannot compile a header: it is longer than 64 KiB");
      }
      store16(this.#u8, at, hole | kind);
      store16(this.#u8, at + 2, bytes.length);
      this.#u8.set(bytes, at + abi.STEP_HEADER);
      at += abi.STEP_HEADER + bytes.length;
      kind = 0;
    }
    const result = this.#command(abi.OP_PROGRAM_COMPILE, 0, 0, at - start);
    if (result === abi.E_NO_ROOM) throw new OverloadError("Cannot compile a header: no room in the core's memory");
    this.#check(abi.OP_PROGRAM_COMPILE, result);
    return result;
  }

  freeProgram(program: number): void {
    if (!this.#failure) this.#must(abi.OP_PROGRAM_FREE, program);
  }

  /** 0 when there is no room for one. */
  openSegment(): number {
    const result = this.#command(abi.OP_SEGMENT_OPEN);
    if (result === abi.E_NO_ROOM) return 0;
    this.#check(abi.OP_SEGMENT_OPEN, result);
    return result;
  }

  freeSegment(segment: number): void {
    if (!this.#failure) this.#must(abi.OP_SEGMENT_FREE, segment);
  }

  resetSegment(segment: number): void {
    if (!this.#failure) this.#must(abi.OP_SEGMENT_RESET, segment);
  }

  segmentLength(segment: number): number {
    return this.#i32[(segment + abi.SEGMENT_LENGTH) >> 2]!;
  }

  /** Most bytes one segment takes. */
  segmentCapacity(segment: number): number {
    return this.#i32[(segment + abi.SEGMENT_CAPACITY) >> 2]!;
  }

  /** What has been encoded, from `from` on. For a socket and nobody else. */
  segmentBytes(segment: number, from = 0): Uint8Array {
    const at = segment + abi.SEGMENT_DATA;
    return this.#u8.subarray(at + from, at + this.segmentLength(segment));
  }

  /**
   * Writes one frame into a segment. With `apart` the body is counted but not copied: write it right behind the segment's
   * end. A program with a hole for it writes `id`, or a new one, which `uniqueId` tells. False when the segment has no
   * room. Throws `ArgumentError` when the frame can never be sent, and when the body was detached.
   */
  encode(
    program: number,
    segment: number,
    opaque: number,
    value: number,
    args: readonly (string | Uint8Array)[],
    body: Uint8Array | undefined,
    apart = false,
    id: number = NEW_ID,
  ): boolean {
    const bodyLength = body === undefined ? 0 : body.length || this.#empty(body);
    const text = this.#text;
    let flags = args.length;
    // Most frames have one.
    if (flags === 1) this.#i32[this.#lengths] = this.#writeArgument(args[0]!, text) - text;
    else this.#writeArguments(args, text);
    if (apart || id !== NEW_ID) flags |= this.#special(apart, id);
    const result = this.#submit(OP_ENCODE, program, segment, bodyLength, value, flags, opaque);
    if (result < 0) return this.#notEncoded(result);
    if (body !== undefined && !apart) this.#u8.set(body, result);
    return true;
  }

  /** What only some frames are; apart, so that engines can inline the rest. */
  #special(apart: boolean, id: number): number {
    if (id === NEW_ID) return BODY_APART;
    this.#f64[(this.#control + UNIQUE_ID) >> 3] = id;
    return apart ? BODY_APART | SAME_ID : SAME_ID;
  }

  /** An array that was transferred elsewhere is empty, and must not become the frame of an empty body. */
  #empty(body: Uint8Array): 0 {
    try {
      this.#u8.set(body, 0);
      return 0;
    } catch (cause) {
      throw new ArgumentError("Cannot send a body that was transferred elsewhere meanwhile", { cause });
    }
  }

  #notEncoded(result: number): false {
    if (result === abi.E_FRAME_TOO_LARGE) {
      throw new ArgumentError(`Cannot send a frame of more than ${abi.FRAME_MAX} bytes`);
    }
    if (result !== abi.E_NO_ROOM) this.#check(abi.OP_ENCODE, result);
    return false;
  }

  /** The unique id in the frame that was encoded last, of those that have one: a whole number below 2^48. */
  get uniqueId(): number {
    return this.#f64[(this.#control + abi.UNIQUE_ID) >> 3]!;
  }

  /** A new unique id, for what is not encoded by a program. */
  nextUniqueId(): number {
    this.#must(abi.OP_UNIQUE_ID);
    return this.uniqueId;
  }

  /** Copies a ready frame into a segment; false when it has no room. */
  append(segment: number, frame: Uint8Array): boolean {
    const result = this.#command(abi.OP_APPEND, 0, segment, frame.length);
    if (result === abi.E_NO_ROOM) return false;
    this.#check(abi.OP_APPEND, result);
    this.#u8.set(frame, result);
    return true;
  }

  // ── records ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Walks the records of a frame's body from position `from` and fills the row table; positions count from the body's
   * start. Returns the number of rows; `walkedTo` is where to go on, `frame.bodyLength` at the end. Only for a frame in
   * the arena.
   */
  walk(frame: Frame, from: number, checkCrc: boolean): number {
    return this.walkAt(frame.bodyPtr, frame.bodyLength, from, checkCrc);
  }

  /** The same for bytes that were put into a block. */
  walkAt(ptr: number, length: number, from: number, checkCrc: boolean): number {
    const rows = this.#must(abi.OP_WALK, 0, ptr, length, from, checkCrc ? this.#crcFlags() : 0);
    this.walkedTo = this.#answerValue();
    if (checkCrc) this.#compareLong(rows, ptr);
    return rows;
  }

  /**
   * Walks the records of a frame's body from position `from`, fills the row table, filters, and enters what is for us into a
   * process queue: those rows have status ROW_OK. Stops behind a row of kind ROW_BATCH, which has to be unwrapped first, at
   * `walkedTo`. Returns the number of rows. When nothing finds room in the queue any more, it returns 0 rows and stays, and
   * `failedOffset` is the first offset that has to come again. Only for a frame in the arena, and a filter that fits.
   */
  takeIn(frame: Frame, from: number, taking: Taking): number {
    const { queue, lowest, tags, checkCrc, noteAscii } = taking;
    storeOffset(this.#i32, (this.#control + abi.WALK_LOWEST) >> 2, lowest);
    if (tags) this.#u8.set(tags.bytes, this.#text);
    const flags = abi.WALK_PUT | (checkCrc ? this.#crcFlags() : 0) | (tags ? abi.WALK_TAGS : 0) |
      (noteAscii ? abi.WALK_ASCII : 0);
    const rows = this.#command(abi.OP_WALK, queue, frame.bodyPtr, frame.bodyLength, from, flags, tags ? tags.count : 0);
    if (rows === abi.E_QUEUE_FULL || rows === abi.E_NO_ROOM) {
      this.walkedTo = from;
      this.failedOffset = this.#offsetAt(this.#control + abi.WALK_FAILED);
      return 0;
    }
    this.#check(abi.OP_WALK, rows);
    this.walkedTo = this.#answerValue();
    if (checkCrc) this.#compareLong(rows, frame.bodyPtr, queue);
    return rows;
  }

  #crcFlags(): number {
    return this.#hostCrc32 ? abi.WALK_CRC | abi.WALK_CRC_SHORT : abi.WALK_CRC;
  }

  /** Compares the checksums that a walk has left to the runtime. What is wrong leaves the queue that it has gone into. */
  #compareLong(rows: number, ptr: number, queue?: number): void {
    const crc32 = this.#hostCrc32;
    if (crc32 === undefined) return;
    const u8 = this.#u8, i32 = this.#i32, { view } = this.arena;
    for (let row = 0, at = this.#control + abi.ROWS; row < rows; row++, at += abi.ROW_SIZE) {
      const length = i32[(at + abi.ROW_BODY_LEN) >> 2]!;
      if (length < abi.CRC_LONG || u8[at + abi.ROW_STATUS] !== abi.ROW_OK || u8[at + abi.ROW_KIND] !== abi.ROW_PLAIN) {
        continue;
      }
      const body = ptr + i32[(at + abi.ROW_BODY) >> 2]!, record = ptr + i32[(at + abi.ROW_RECORD) >> 2]!;
      if ((crc32(u8.subarray(body, body + length)) & CRC_MASK) === view.getInt32(record + BODY_CRC_AT)) continue;
      u8[at + abi.ROW_STATUS] = abi.ROW_BAD_CRC;
      if (queue !== undefined) this.removeOffset(queue, this.#offsetAt(at + abi.ROW_QUEUE_OFFSET));
    }
  }

  /**
   * Copies bytes from `from` to `to` of a frame's body into a block, behind the first `count` rows of the table, which come
   * first. Returns its address, or 0 when no block is free. `freeBlock` ends the lease.
   */
  lease(frame: Frame, from: number, to: number, count: number): number {
    const result = this.#command(abi.OP_LEASE, 0, frame.bodyPtr + from, to - from, 0, 0, count);
    if (result === abi.E_NO_ROOM) return 0;
    this.#check(abi.OP_LEASE, result);
    return result;
  }

  /** Copies the first `count` rows of the table, ROW_SIZE bytes each. */
  copyRows(count: number, into: Uint8Array, at: number): void {
    const rows = this.#control + abi.ROWS;
    into.set(this.#u8.subarray(rows, rows + count * abi.ROW_SIZE), at);
  }

  rowStatus(row: number): number {
    return this.#u8[this.#control + abi.ROWS + row * abi.ROW_SIZE + abi.ROW_STATUS]!;
  }

  rowKind(row: number): number {
    return this.#u8[this.#control + abi.ROWS + row * abi.ROW_SIZE + abi.ROW_KIND]!;
  }

  /** Where a row's record begins in the walked body. */
  rowPosition(row: number): number {
    return this.#i32[(this.#control + abi.ROWS + row * abi.ROW_SIZE + abi.ROW_RECORD) >> 2]!;
  }

  /** The size of a row's record. */
  rowLength(row: number): number {
    return this.#i32[(this.#control + abi.ROWS + row * abi.ROW_SIZE + abi.ROW_RECORD_LEN) >> 2]!;
  }

  /** CRC-32 of any bytes, as an unsigned number; `seed` is that of the bytes before them. */
  crc32(bytes: Uint8Array, seed = 0): number {
    const at = this.#text;
    let crc = seed >>> 0;
    for (let from = 0; from < bytes.length; from += abi.ARGUMENT_BYTES) {
      const part = bytes.subarray(from, from + abi.ARGUMENT_BYTES);
      this.#u8.set(part, at);
      crc = this.crc32At(at, part.length, crc);
    }
    return crc;
  }

  /** The same for bytes that lie in the arena. */
  crc32At(ptr: number, length: number, seed = 0): number {
    this.#must(abi.OP_CRC32, 0, ptr, length, 0, 0, seed);
    return this.#answerValue();
  }

  // ── LZ4 frames ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * What LZ4 frames hold. Throws `FrameError` when the bytes are no LZ4 frames, do not match their checksums, or hold more
   * than `maxLength` bytes.
   */
  inflateLz4(bytes: Uint8Array, maxLength: number): Uint8Array {
    const parts: Uint8Array[] = [];
    this.#must(abi.OP_LZ4_READ_BEGIN, 0, 0, 0, Math.min(maxLength, LZ4_MAX));
    for (let from = 0, isDone = false; !isDone;) {
      const part = bytes.subarray(from, from + this.#answerToken());
      this.#u8.set(part, this.#answerHandle());
      from += part.length;
      const result = this.#command(abi.OP_LZ4_READ, 0, 0, part.length, 0, from === bytes.length ? abi.LZ4_LAST : 0);
      if (result === abi.E_BAD_LZ4) throw new FrameError("A body that says it is LZ4 is not, or is damaged");
      if (result === abi.E_LZ4_TOO_LONG) {
        throw new FrameError(`A body that was compressed with LZ4 has more than ${maxLength} bytes`);
      }
      this.#check(abi.OP_LZ4_READ, result);
      isDone = result === abi.LZ4_DONE;
      if (this.#answerLength() > 0) parts.push(this.#answerBytes());
    }
    return parts.length === 1 ? parts[0]! : joined(parts);
  }

  /** An LZ4 frame that holds `bytes`; `options` are LZ4_* of `core-as/abi.ts`. */
  deflateLz4(bytes: Uint8Array, options = 0): Uint8Array {
    this.#must(abi.OP_LZ4_WRITE_BEGIN, 0, 0, 0, bytes.length, options);
    const parts = [this.#answerBytes()];
    for (let from = 0; from < bytes.length; from += abi.ARGUMENT_BYTES) {
      const part = bytes.subarray(from, from + abi.ARGUMENT_BYTES);
      this.#u8.set(part, this.#text);
      this.#must(abi.OP_LZ4_WRITE, 0, 0, part.length);
      parts.push(this.#answerBytes());
    }
    this.#must(abi.OP_LZ4_WRITE_END);
    parts.push(this.#answerBytes());
    return joined(parts);
  }

  // ── blocks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Address of a block of at least `length` bytes, 0 when none is free. */
  allocateBlock(length: number): number {
    const result = this.#command(abi.OP_ALLOCATE_BLOCK, 0, 0, length);
    if (result === abi.E_NO_ROOM) return 0;
    this.#check(abi.OP_ALLOCATE_BLOCK, result);
    return result;
  }

  freeBlock(block: number): void {
    if (!this.#failure) this.#must(abi.OP_FREE_BLOCK, 0, block);
  }

  /** Copies bytes into a block. */
  write(at: number, bytes: Uint8Array): void {
    this.#u8.set(bytes, at);
  }

  /** A copy of bytes of the arena. */
  read(at: number, length: number): Uint8Array {
    return this.#u8.slice(at, at + length);
  }

  // ── process queues ─────────────────────────────────────────────────────────────────────────────────────────────────

  openQueue(): number {
    const result = this.#command(abi.OP_QUEUE_OPEN);
    if (result === abi.E_NO_ROOM) throw new OverloadError("Cannot open a process queue: no room in the core's memory");
    this.#check(abi.OP_QUEUE_OPEN, result);
    return this.#i32[(this.#entry + abi.SUBMISSION_HANDLE) >> 2]! >>> 0;
  }

  closeQueue(queue: number): void {
    if (!this.#failure) this.#must(abi.OP_QUEUE_CLOSE, queue);
  }

  /** Enters offsets and their messages' sizes in bytes. Returns how many were new. Throws `OverloadError` when the queue is full. */
  putOffsets(queue: number, offsets: readonly Offset[], sizes: readonly number[]): number {
    let added = 0;
    for (let from = 0; from < offsets.length; from += abi.PAIRS_MAX) {
      const count = Math.min(abi.PAIRS_MAX, offsets.length - from);
      this.#writePairs(offsets, sizes, from, count);
      const result = this.#command(abi.OP_QUEUE_PUT, queue, 0, count);
      if (result === abi.E_QUEUE_FULL || result === abi.E_NO_ROOM) {
        throw new OverloadError(
          `Cannot keep more offsets in one process queue: ${result === abi.E_NO_ROOM ? "no room" : "it is full"}`,
        );
      }
      this.#check(abi.OP_QUEUE_PUT, result);
      added += result;
    }
    return added;
  }

  /** Takes the lowest offsets that are not taken yet, at most `count` and at most 4,096. */
  takeOffsets(queue: number, count: number): Offset[] {
    const taken = this.#must(abi.OP_QUEUE_TAKE, queue, 0, Math.min(count, abi.PAIRS_MAX));
    const at = this.#text + abi.PAIR_OFFSET, offsets: Offset[] = [];
    for (let i = 0; i < taken; i++) offsets.push(this.#offsetAt(at + i * abi.PAIR_SIZE));
    return offsets;
  }

  /** Puts taken offsets back to be taken again. Returns how many of them were taken. */
  untakeOffsets(queue: number, offsets: readonly Offset[]): number {
    let count = 0;
    for (let from = 0; from < offsets.length; from += abi.PAIRS_MAX) {
      const part = Math.min(abi.PAIRS_MAX, offsets.length - from);
      this.#writePairs(offsets, undefined, from, part);
      count += this.#must(abi.OP_QUEUE_AGAIN, queue, 0, part);
    }
    return count;
  }

  /** Removes all that are taken. The offset to commit is the highest of them + 1; -1 when none was taken. */
  commitTaken(queue: number): Offset {
    this.#must(abi.OP_QUEUE_COMMIT, queue);
    return this.#commit();
  }

  /** Puts all that are taken back to be taken again. */
  rollbackTaken(queue: number): void {
    this.#must(abi.OP_QUEUE_ROLLBACK, queue);
  }

  /** The offset to commit: the lowest that is left, highest + 1 when the queue is empty now, -1 when it was empty before. */
  removeOffset(queue: number, offset: Offset): Offset {
    if (typeof offset === "bigint") return this.removeOffsets(queue, [offset]);
    this.#must(abi.OP_QUEUE_REMOVE_ONE, queue, 0, 0, offset);
    return this.#commit();
  }

  /** The same for many. */
  removeOffsets(queue: number, offsets: readonly Offset[]): Offset {
    return this.#remove(abi.OP_QUEUE_REMOVE, queue, offsets, undefined);
  }

  /** The same for runs: `counts[i]` offsets from `firsts[i]` on. What is not there does not matter. */
  removeRuns(queue: number, firsts: readonly Offset[], counts: readonly number[]): Offset {
    return this.#remove(abi.OP_QUEUE_REMOVE_RUNS, queue, firsts, counts);
  }

  #remove(opcode: number, queue: number, offsets: readonly Offset[], counts: readonly number[] | undefined): Offset {
    let commit: Offset = -1;
    for (let from = 0; from < offsets.length; from += abi.PAIRS_MAX) {
      const count = Math.min(abi.PAIRS_MAX, offsets.length - from);
      this.#writePairs(offsets, counts, from, count);
      this.#must(opcode, queue, 0, count);
      const now = this.#commit();
      if (now >= 0) commit = now;
    }
    return commit;
  }

  #commit(): Offset {
    return this.#offsetAt(this.#control + abi.QUEUE_STATE + abi.QUEUE_COMMIT);
  }

  queueState(queue: number): QueueState {
    this.#must(abi.OP_QUEUE_STATE, queue);
    const at = this.#control + abi.QUEUE_STATE;
    return {
      count: this.#i32[(at + abi.QUEUE_COUNT) >> 2]!,
      taken: this.#i32[(at + abi.QUEUE_TAKEN) >> 2]!,
      bytes: this.#f64[(at + abi.QUEUE_BYTES) >> 3]!,
      min: this.#offsetAt(at + abi.QUEUE_MIN),
      max: this.#offsetAt(at + abi.QUEUE_MAX),
      span: this.#offsetAt(at + abi.QUEUE_SPAN),
    };
  }

  clearQueue(queue: number): void {
    if (!this.#failure) this.#must(abi.OP_QUEUE_CLEAR, queue);
  }

  // ── allocation of queues ───────────────────────────────────────────────────────────────────────────────────────────

  /** Which of `queues` queues in order are client `index`'s, by a STRATEGY_* that only counts. */
  allocate(strategy: number, queues: number, clients: number, index: number): number[] {
    this.#must(abi.OP_ALLOCATE, queues, 0, clients, 0, strategy, index);
    const first = this.#answerPtr(), step = this.#answerToken(), further = this.#answerValue();
    const share = Array.from({ length: this.#answerLength() }, (_, k) => first + k * step);
    if (further >= 0) share.push(further);
    return share;
  }

  /**
   * Which of the queues are the client's, by a hash ring on which every client has `nodes` places (1 to 1000); one that is
   * listed twice has twice as many. Throws `ArgumentError` when a text is longer than 64 KiB.
   */
  allocateByHash(clientId: string, queues: readonly string[], clientIds: readonly string[], nodes: number): number[] {
    const share: number[] = [];
    for (let from = 0; from < queues.length; from += abi.RING_QUEUES) {
      this.#ringQueues(queues.slice(from, from + abi.RING_QUEUES));
      this.#ringClients(clientId, clientIds, nodes);
      const count = this.#must(abi.OP_RING_SHARE), at = this.#text >> 2;
      for (let k = 0; k < count; k++) share.push(from + this.#i32[at + k]!);
    }
    return share;
  }

  #ringQueues(queues: readonly string[]): void {
    for (let from = 0, count = 0; from < queues.length; from += count) {
      count = this.#writeSome(queues, from);
      this.#must(abi.OP_RING_QUEUES, from, 0, 0, 0, count);
    }
  }

  #ringClients(clientId: string, clientIds: readonly string[], nodes: number): void {
    let waiting = clientIds;
    for (let number = 0; waiting.length > 0; number += nodes) {
      const ids = [...new Set(waiting)], asking = ids.indexOf(clientId);
      for (let from = 0, count = 0; from < ids.length; from += count) {
        count = this.#writeSome(ids, from);
        this.#must(abi.OP_RING_CLIENTS, number, 0, nodes, 0, count, asking - from);
      }
      const listed = new Set<string>();
      waiting = waiting.filter((id) => listed.has(id) || !listed.add(id));
    }
  }

  // ── the one door ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Writes texts as arguments, from `from` on, as many as go in one command. Returns how many those are, at least one. */
  #writeSome(texts: readonly string[], from: number): number {
    const lengths = this.#lengths, start = this.#text;
    const limit = start + abi.ARGUMENT_BYTES, most = Math.min(texts.length - from, abi.ARGUMENTS_MAX);
    for (let at = start, count = 0;; count++) {
      const text = texts[from + count];
      // A unit of UTF-16 has at most three bytes in UTF-8.
      if (text === undefined || count === most || (count > 0 && at + text.length * 3 > limit)) return count;
      const end = this.#writeArgument(text, at);
      this.#i32[lengths + count] = end - at;
      at = end;
    }
  }

  #writeArguments(args: readonly (string | Uint8Array)[], at: number): void {
    const limit = this.#text + ARGUMENT_BYTES;
    let length = this.#lengths;
    for (const arg of args) {
      const end = this.#writeArgument(arg, at);
      if (end > limit) throw tooLong();
      this.#i32[length++] = end - at;
      at = end;
    }
  }

  /** Writes an argument into the argument area; returns its end. A short one may end in the slack behind the area. */
  #writeArgument(arg: string | Uint8Array, at: number): number {
    const { length } = arg;
    if (typeof arg !== "string" || length > SHORT_TEXT) return this.#writeLong(arg, at);
    const u8 = this.#u8, i32 = this.#i32;
    let i = 0, all = 0;
    // Four characters at a time where they can be stored at once.
    if ((at & 3) === 0) {
      for (; i + 4 <= length; i += 4) {
        const a = arg.charCodeAt(i), b = arg.charCodeAt(i + 1), c = arg.charCodeAt(i + 2), d = arg.charCodeAt(i + 3);
        i32[(at + i) >> 2] = a | b << 8 | c << 16 | d << 24;
        all |= a | b | c | d;
      }
    }
    for (; i < length; i++) {
      const unit = arg.charCodeAt(i);
      u8[at + i] = unit;
      all |= unit;
    }
    return all > 127 ? this.#writeLong(arg, at) : at + length;
  }

  #writeLong(arg: string | Uint8Array, at: number): number {
    const limit = this.#text + ARGUMENT_BYTES;
    if (typeof arg !== "string") {
      if (arg.length > limit - at) throw tooLong();
      this.#u8.set(arg, at);
      return at + arg.length;
    }
    const { read, written } = encoder.encodeInto(arg, this.#u8.subarray(at, limit));
    if (read < arg.length) throw tooLong();
    return at + written;
  }

  #writePairs(offsets: readonly Offset[], sizes: readonly number[] | undefined, from: number, count: number): void {
    const i32 = this.#i32;
    let word = this.#text >> 2;
    for (let i = from; i < from + count; i++, word += abi.PAIR_SIZE >> 2) {
      storeOffset(i32, word + (abi.PAIR_OFFSET >> 2), offsets[i]!);
      if (sizes) i32[word + (abi.PAIR_BYTES >> 2)] = sizes[i]!;
    }
  }

  #offsetAt(at: number): Offset {
    const low = this.#i32[at >> 2]! >>> 0, high = this.#i32[(at >> 2) + 1]!;
    return high < SAFE_HIGH ? high * WORD + low : BigInt(high) << 32n | BigInt(low);
  }

  #must(opcode: number, handle = 0, ptr = 0, len = 0, value = 0, flags = 0, token = 0): number {
    const result = this.#submit(opcode, handle, ptr, len, value, flags, token);
    this.#check(opcode, result);
    return result;
  }

  #check(opcode: number, result: number): void {
    if (result < 0) throw new CoreError(`The core refused command ${opcode}: error ${result}`);
  }

  /** The same as `#submit` for commands that leave most of it 0. */
  #command(opcode: number, handle = 0, ptr = 0, len = 0, value = 0, flags = 0, token = 0): number {
    return this.#submit(opcode, handle, ptr, len, value, flags, token);
  }

  /** Submits one command and drives the core; the answer is read from the entry until the next command. */
  #submit(
    opcode: number,
    handle: number,
    ptr: number,
    len: number,
    value: number,
    flags: number,
    token: number,
  ): number {
    if (this.#failure !== undefined) throw this.#failure;
    const i32 = this.#i32;
    const tail = (this.#control + SQ_TAIL) >> 2, entry = this.#entry, word = entry >> 2;
    i32[word] = opcode | flags << 16;
    i32[word + SUBMITTED_TOKEN] = token;
    i32[word + SUBMITTED_HANDLE] = handle;
    i32[word + SUBMITTED_PTR] = ptr;
    this.#f64[(entry >> 3) + SUBMITTED_VALUE] = value;
    i32[word + SUBMITTED_LEN] = len;
    i32[tail] = (i32[tail]! + 1) | 0;
    try {
      this.#drive();
    } catch (cause) {
      throw this.#brokeDown(opcode, cause);
    }
    return i32[word + SUBMITTED_RESULT]!;
  }

  /** Apart, as every cold way out: engines inline what is short. */
  #brokeDown(opcode: number, cause: unknown): CoreError {
    const code = this.#i32[abi.PANIC_CODE >> 2], detail = this.#i32[abi.PANIC_DETAIL >> 2];
    return this.#failure = new CoreError(`The core broke down in command ${opcode}: panic ${code}, detail ${detail}`, {
      cause,
    });
  }

  #answerHandle(): number {
    return this.#i32[(this.#entry + abi.SUBMISSION_HANDLE) >> 2]!;
  }

  #answerToken(): number {
    return this.#i32[(this.#entry + abi.SUBMISSION_TOKEN) >> 2]!;
  }

  /** A copy of the bytes that the answer names. */
  #answerBytes(): Uint8Array {
    const ptr = this.#answerPtr();
    return this.#u8.slice(ptr, ptr + this.#answerLength());
  }

  #answerPtr(): number {
    return this.#i32[(this.#entry + abi.SUBMISSION_PTR) >> 2]!;
  }

  #answerLength(): number {
    return this.#i32[(this.#entry + abi.SUBMISSION_LEN) >> 2]!;
  }

  #answerValue(): number {
    return this.#f64[(this.#entry + abi.SUBMISSION_VALUE) >> 3]!;
  }
}

const tooLong = (): ArgumentError => new ArgumentError("Cannot encode a header: its fields are longer than 64 KiB");

function store16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >> 8;
}

/** Halves of a number are cheaper than a bigint, and than a double, which the core would have to check and convert. */
function storeOffset(words: Int32Array, at: number, offset: Offset): void {
  if (typeof offset === "number") {
    words[at] = offset | 0;
    words[at + 1] = Math.floor(offset * PER_WORD);
  } else {
    words[at] = Number(BigInt.asIntN(32, offset));
    words[at + 1] = Number(BigInt.asIntN(32, offset >> 32n));
  }
}

/** All parts, one behind the other. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Short ASCII text; anything else through the decoder. */
function latin(bytes: Uint8Array, at: number, length: number): string {
  return decoder.decode(bytes.subarray(at, at + length));
}
