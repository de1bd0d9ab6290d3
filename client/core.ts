import * as abi from "../core-as/abi.ts";
import { ArgumentError, CoreError, FrameError, OverloadError } from "./errors.ts";

/** MiB of address space a core may have. */
export const CORE_MEMORY_MIN = 1;
export const CORE_MEMORY_MAX = 1024;
export const CORE_MEMORY_DEFAULT = 128;

/** One literal and the hole behind it; see HOLE_* in `core-as/abi.ts`. The last hole of a program is HOLE_END. */
export type Step = readonly [literal: string | Uint8Array, hole: number];

/** Called once for each whole frame. The frame and all it points at end when the sink returns. */
export type FrameSink = (frame: Frame) => void;

/** What one process queue holds. Offsets are below 2^53; `min` is -1 when it is empty, `max` before the first offset. */
export interface QueueState {
  readonly count: number;
  readonly taken: number;
  readonly bytes: number;
  readonly min: number;
  readonly max: number;
  readonly span: number;
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

/**
 * One whole frame, lent to a sink. `fields` says what the core understood of the header: FIELD_READ not set means that
 * nothing but the positions is known, and the header has to be read from `headerBytes()`.
 */
export class Frame {
  opaque = 0;
  code = 0;
  flag = 0;
  fields = 0;
  /** queueOffset, nextBeginOffset or offset. */
  a = 0;
  /** queueId or minOffset. */
  b = 0;
  /** maxOffset. */
  c = 0;
  /** suggestWhichBrokerId. */
  brokerId = 0;
  /** Where the positions below count: the arena, or the frame itself when it found no block there. */
  source: Uint8Array = new Uint8Array(0);
  inArena = false;
  /** 0 JSON, 1 ROCKETMQ. */
  serializeType = 0;
  headerPtr = 0;
  headerLength = 0;
  bodyPtr = 0;
  bodyLength = 0;
  textPtr = 0;
  textLength = 0;

  /** A copy of the header's bytes. */
  headerBytes(): Uint8Array {
    return this.source.slice(this.headerPtr, this.headerPtr + this.headerLength);
  }

  /** A copy of the body; empty when there is none. */
  body(): Uint8Array {
    return this.source.slice(this.bodyPtr, this.bodyPtr + this.bodyLength);
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

/** The only class that touches the arena: one method for each thing the client wants of the core. */
export class Core {
  readonly #drive: () => void;
  readonly #control: number;
  readonly #u8: Uint8Array;
  readonly #i32: Int32Array;
  readonly #f64: Float64Array;
  readonly #frame = new Frame();
  readonly #spills = new Map<number, Spill>();
  #failure: CoreError | undefined;
  #feeding = false;
  /** Address of the entry that was driven last. */
  #entry = 0;

  /** Rows walked by the last `walk` end here: the position to go on from. */
  walkedTo = 0;

  /** `coreMemory` is in MiB, 1 to 1024. Throws `CoreError` when the system gives no memory or the core is another version. */
  constructor(module: WebAssembly.Module, coreMemory: number = CORE_MEMORY_DEFAULT) {
    const pages = coreMemory * 16;
    let memory: WebAssembly.Memory;
    try {
      memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    } catch (cause) {
      throw new CoreError(`Cannot reserve ${coreMemory} MiB of memory for the core`, { cause });
    }
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    const { drive, abiVersion, control } = exports as unknown as Exports;
    if (abiVersion.value !== abi.ABI_VERSION) {
      throw new CoreError(`The core speaks version ${abiVersion.value}, this client ${abi.ABI_VERSION}`);
    }
    this.#drive = drive;
    this.#control = control.value as number;
    this.#u8 = new Uint8Array(memory.buffer);
    this.#i32 = new Int32Array(memory.buffer);
    this.#f64 = new Float64Array(memory.buffer);
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

  /** Tells the time, in ms; it is written into every frame that carries a born timestamp until the next call. */
  clock(now: number): void {
    this.#must(abi.OP_CLOCK, 0, 0, 0, now);
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
    const frame = new Frame();
    frame.source = bytes;
    frame.serializeType = serializeType;
    frame.headerPtr = 8;
    frame.headerLength = headerLength;
    frame.bodyPtr = 8 + headerLength;
    frame.bodyLength = bytes.length - frame.bodyPtr;
    sink(frame);
  }

  #drain(sink: FrameSink): void {
    const head = (this.#control + abi.CQ_HEAD) >> 2, tail = (this.#control + abi.CQ_TAIL) >> 2;
    while (((this.#i32[head]! - this.#i32[tail]!) | 0) !== 0) {
      const index = this.#i32[tail]! & (abi.COMPLETION_ENTRIES - 1);
      this.#lend(this.#control + abi.COMPLETIONS + index * abi.COMPLETION_SIZE);
      // The entry is given back first: a sink may drive the core.
      this.#i32[tail] = (this.#i32[tail]! + 1) | 0;
      try {
        sink(this.#frame);
      } catch (error) {
        // The frames behind it are this connection's: they must not wait for another one's sink.
        this.#i32[tail] = this.#i32[head]!;
        throw error;
      }
    }
  }

  #lend(at: number): void {
    const i32 = this.#i32, f64 = this.#f64, frame = this.#frame, word = at >> 2;
    const headerWord = i32[word + (abi.COMPLETION_HEADER_WORD >> 2)]!;
    const tail = i32[word + (abi.COMPLETION_TEXT_LEN >> 2)]!;
    frame.source = this.#u8;
    frame.inArena = true;
    frame.opaque = i32[word]!;
    frame.code = i32[word + (abi.COMPLETION_CODE >> 2)]!;
    frame.flag = i32[word + (abi.COMPLETION_FLAG >> 2)]!;
    frame.fields = i32[word + (abi.COMPLETION_FIELDS >> 2)]!;
    frame.serializeType = headerWord >>> 24;
    frame.headerPtr = i32[word + (abi.COMPLETION_HEADER_PTR >> 2)]!;
    frame.headerLength = headerWord & 0xffffff;
    frame.bodyPtr = i32[word + (abi.COMPLETION_BODY_PTR >> 2)]!;
    frame.bodyLength = i32[word + (abi.COMPLETION_BODY_LEN >> 2)]!;
    frame.a = f64[(at + abi.COMPLETION_A) >> 3]!;
    frame.b = f64[(at + abi.COMPLETION_B) >> 3]!;
    frame.c = f64[(at + abi.COMPLETION_C) >> 3]!;
    frame.textPtr = i32[word + (abi.COMPLETION_TEXT_PTR >> 2)]!;
    frame.textLength = tail & 0xffff;
    frame.brokerId = tail >>> 16;
  }

  // ── outbound ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Compiles a header program. Its steps are at most 64 KiB. */
  program(steps: readonly Step[], serializeType: "JSON" | "ROCKETMQ"): number {
    let at = this.#control + abi.ARGUMENT_TEXT;
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
   * end. False when the segment has no room. Throws `ArgumentError` when the frame can never be sent.
   */
  encode(
    program: number,
    segment: number,
    opaque: number,
    value: number,
    args: readonly string[],
    body: Uint8Array | undefined,
    apart = false,
  ): boolean {
    let at = this.#control + abi.ARGUMENT_TEXT;
    const limit = at + abi.ARGUMENT_BYTES;
    let length = (this.#control + abi.ARGUMENT_LENGTHS) >> 2;
    for (const arg of args) {
      const end = this.#writeText(arg, at, limit);
      this.#i32[length++] = end - at;
      at = end;
    }
    const flags = args.length | (apart ? abi.ENCODE_BODY_APART : 0);
    const bodyLength = body ? body.length : 0;
    const result = this.#command(abi.OP_ENCODE, program, segment, bodyLength, value, flags, opaque);
    if (result === abi.E_NO_ROOM) return false;
    if (result === abi.E_FRAME_TOO_LARGE) {
      throw new ArgumentError(`Cannot send a frame of more than ${abi.FRAME_MAX} bytes`);
    }
    this.#check(abi.OP_ENCODE, result);
    if (body && !apart) this.#u8.set(body, result);
    return true;
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
    const rows = this.#must(abi.OP_WALK, 0, ptr, length, from, checkCrc ? abi.WALK_CRC : 0);
    this.walkedTo = this.#answerValue();
    return rows;
  }

  /** Copies the first `count` rows of the table, ROW_SIZE bytes each. */
  copyRows(count: number, into: Uint8Array, at: number): void {
    const rows = this.#control + abi.ROWS;
    into.set(this.#u8.subarray(rows, rows + count * abi.ROW_SIZE), at);
  }

  rowStatus(row: number): number {
    return this.#u8[this.#control + abi.ROWS + row * abi.ROW_SIZE + abi.ROW_STATUS]!;
  }

  setRowStatus(row: number, status: number): void {
    this.#u8[this.#control + abi.ROWS + row * abi.ROW_SIZE + abi.ROW_STATUS] = status;
  }

  /** CRC-32 of any bytes, as an unsigned number; `seed` is that of the bytes before them. */
  crc32(bytes: Uint8Array, seed = 0): number {
    const at = this.#control + abi.ARGUMENT_TEXT;
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
  putOffsets(queue: number, offsets: readonly number[], sizes: readonly number[]): number {
    let added = 0;
    for (let from = 0; from < offsets.length; from += abi.PAIRS_MAX) {
      const count = Math.min(abi.PAIRS_MAX, offsets.length - from);
      this.#writePairs(offsets, sizes, from, count);
      added += this.#put(this.#command(abi.OP_QUEUE_PUT, queue, 0, count));
    }
    return added;
  }

  /** Enters the offsets of rows with status ROW_OK. */
  putRows(queue: number, first: number, count: number): number {
    return this.#put(this.#command(abi.OP_QUEUE_PUT_ROWS, queue, first, count));
  }

  #put(result: number): number {
    if (result === abi.E_QUEUE_FULL || result === abi.E_NO_ROOM) {
      throw new OverloadError(
        `Cannot keep more offsets in one process queue: ${result === abi.E_NO_ROOM ? "no room" : "it is full"}`,
      );
    }
    this.#check(abi.OP_QUEUE_PUT, result);
    return result;
  }

  /** Takes the lowest offsets that are not taken yet, at most `count`. */
  takeOffsets(queue: number, count: number): number[] {
    const taken = this.#must(abi.OP_QUEUE_TAKE, queue, 0, Math.min(count, abi.PAIRS_MAX));
    const at = (this.#control + abi.ARGUMENT_TEXT) >> 3;
    return Array.from({ length: taken }, (_, index) => this.#f64[at + index * 2]!);
  }

  /** The offset to commit: the lowest that is left, highest + 1 when the queue is empty now, -1 when it was empty before. */
  removeOffsets(queue: number, offsets: readonly number[]): number {
    let min = -1;
    for (let from = 0; from < offsets.length; from += abi.PAIRS_MAX) {
      const count = Math.min(abi.PAIRS_MAX, offsets.length - from);
      this.#writePairs(offsets, undefined, from, count);
      this.#must(abi.OP_QUEUE_REMOVE, queue, 0, count);
      const now = this.#answerValue();
      if (now >= 0) min = now;
    }
    return min;
  }

  queueState(queue: number): QueueState {
    this.#must(abi.OP_QUEUE_STATE, queue);
    const at = this.#control + abi.QUEUE_STATE;
    const f64 = this.#f64;
    return {
      count: this.#i32[(at + abi.QUEUE_COUNT) >> 2]!,
      taken: this.#i32[(at + abi.QUEUE_TAKEN) >> 2]!,
      bytes: f64[(at + abi.QUEUE_BYTES) >> 3]!,
      min: f64[(at + abi.QUEUE_MIN) >> 3]!,
      max: f64[(at + abi.QUEUE_MAX) >> 3]!,
      span: f64[(at + abi.QUEUE_SPAN) >> 3]!,
    };
  }

  clearQueue(queue: number): void {
    if (!this.#failure) this.#must(abi.OP_QUEUE_CLEAR, queue);
  }

  /** Which neighbours in order are client `index`'s: the first queue's index and their number. */
  allocate(
    strategy: number,
    queues: number,
    clients: number,
    index: number,
  ): { readonly start: number; readonly count: number } {
    this.#must(abi.OP_ALLOCATE, queues, 0, clients, 0, strategy, index);
    return { start: this.#answerPtr(), count: this.#answerLength() };
  }

  // ── the one door ───────────────────────────────────────────────────────────────────────────────────────────────────

  #writeText(text: string, at: number, limit: number): number {
    const u8 = this.#u8;
    if (text.length <= SHORT_TEXT && at + SHORT_TEXT <= limit) {
      let end = at;
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        if (unit > 127) return this.#writeLong(text, at, limit);
        u8[end++] = unit;
      }
      return end;
    }
    return this.#writeLong(text, at, limit);
  }

  #writeLong(text: string, at: number, limit: number): number {
    const { read, written } = encoder.encodeInto(text, this.#u8.subarray(at, limit));
    if (read < text.length) throw new ArgumentError("Cannot encode a header: its fields are longer than 64 KiB");
    return at + written;
  }

  #writePairs(offsets: readonly number[], sizes: readonly number[] | undefined, from: number, count: number): void {
    let at = this.#control + abi.ARGUMENT_TEXT;
    for (let i = from; i < from + count; i++, at += abi.PAIR_SIZE) {
      this.#f64[at >> 3] = offsets[i]!;
      this.#i32[(at + abi.PAIR_BYTES) >> 2] = sizes ? sizes[i]! : 0;
    }
  }

  #must(opcode: number, handle = 0, ptr = 0, len = 0, value = 0, flags = 0, token = 0): number {
    const result = this.#command(opcode, handle, ptr, len, value, flags, token);
    this.#check(opcode, result);
    return result;
  }

  #check(opcode: number, result: number): void {
    if (result < 0) throw new CoreError(`The core refused command ${opcode}: error ${result}`);
  }

  /** Submits one command and drives the core; the answer is read from the entry until the next command. */
  #command(opcode: number, handle = 0, ptr = 0, len = 0, value = 0, flags = 0, token = 0): number {
    if (this.#failure) throw this.#failure;
    const i32 = this.#i32;
    const tail = (this.#control + abi.SQ_TAIL) >> 2;
    const index = i32[tail]! & (abi.SUBMISSION_ENTRIES - 1);
    const at = this.#control + abi.SUBMISSIONS + index * abi.SUBMISSION_SIZE;
    const word = at >> 2;
    i32[word] = opcode | flags << 16;
    i32[word + (abi.SUBMISSION_TOKEN >> 2)] = token;
    i32[word + (abi.SUBMISSION_HANDLE >> 2)] = handle;
    i32[word + (abi.SUBMISSION_PTR >> 2)] = ptr;
    this.#f64[(at + abi.SUBMISSION_VALUE) >> 3] = value;
    i32[word + (abi.SUBMISSION_LEN >> 2)] = len;
    i32[tail] = (i32[tail]! + 1) | 0;
    this.#entry = at;
    try {
      this.#drive();
    } catch (cause) {
      const code = i32[abi.PANIC_CODE >> 2], detail = i32[abi.PANIC_DETAIL >> 2];
      this.#failure = new CoreError(`The core broke down in command ${opcode}: panic ${code}, detail ${detail}`, {
        cause,
      });
      throw this.#failure;
    }
    return i32[word + (abi.SUBMISSION_RESULT >> 2)]!;
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

function store16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >> 8;
}

/** Short ASCII text; anything else through the decoder. */
function latin(bytes: Uint8Array, at: number, length: number): string {
  return decoder.decode(bytes.subarray(at, at + length));
}
