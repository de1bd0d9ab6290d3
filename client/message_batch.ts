import * as abi from "../core-as/abi.ts";
import { type Core, type Frame, type Offset, SAFE_HIGH } from "./core.ts";
import type { Host } from "./host.ts";
import type { Lease } from "./lease.ts";
import type { RocketMQError } from "./errors.ts";
import * as layout from "./protocol/record_layout.ts";
import { walkRecords } from "./protocol/record_walk.ts";
import * as sysFlags from "./protocol/sys_flag.ts";
import { concat, readText } from "./protocol/text.ts";

/** Where the bytes of a batch are: a slab, an array of its own, or the arena. */
export interface Source {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** For rows, which lie on multiples of eight. */
  readonly words: Int32Array;
}

/** What a pull answer says about its queue. */
export interface Bounds {
  readonly minOffset: number;
  readonly maxOffset: number;
}

/** Records of one pull answer and their rows. Positions in rows count from `records`, which lies before the first of them. */
export class MessageBatch {
  bytes: Uint8Array;
  view: DataView;
  #words: Int32Array;
  records: number;
  /** Where the rows begin. */
  rows: number;
  readonly count: number;
  /** Absent when the bytes are the batch's own for ever. */
  lease: Lease | undefined;
  /** Where the queue began and ended when the records were pulled. */
  bounds: Bounds | undefined;
  /** Why no body of the batch can be read. */
  unreadable: RocketMQError | undefined;
  /** Topic and tags that were read last: mostly they are everybody's. */
  #topic: KnownText = NOTHING_READ;
  #tags: KnownText = NOTHING_READ;

  constructor(source: Source, records: number, rows: number, count: number, lease?: Lease) {
    this.bytes = source.bytes;
    this.view = source.view;
    this.#words = source.words;
    this.records = records;
    this.rows = rows;
    this.count = count;
    this.lease = lease;
  }

  status(row: number): number {
    return this.bytes[this.rows + row * abi.ROW_SIZE + abi.ROW_STATUS]!;
  }

  kind(row: number): number {
    return this.bytes[this.rows + row * abi.ROW_SIZE + abi.ROW_KIND]!;
  }

  queueOffset(row: number): bigint {
    return this.view.getBigInt64(this.rows + row * abi.ROW_SIZE + abi.ROW_QUEUE_OFFSET, true);
  }

  /** The same, without a bigint where a number is enough. */
  offset(row: number): Offset {
    const words = this.#words, at = (this.rows + row * abi.ROW_SIZE + abi.ROW_QUEUE_OFFSET) >> 2;
    const low = words[at]!, high = words[at + 1]!;
    // Engines keep numbers of 31 bits without an object.
    if (high === 0 && low >= 0) return low;
    return high < SAFE_HIGH ? high * 2 ** 32 + (low >>> 0) : this.queueOffset(row);
  }

  u32(row: number, field: number): number {
    return this.#words[(this.rows + row * abi.ROW_SIZE + field) >> 2]! >>> 0;
  }

  u16(row: number, field: number): number {
    return (this.u32(row, field & ~3) >>> ((field & 2) * 8)) & 0xffff;
  }

  /** The value of TAGS, "" when there is none. */
  tags(row: number): string {
    const at = this.u32(row, abi.ROW_TAGS);
    if (at === 0) return "";
    const from = this.records + at, length = this.u16(row, abi.ROW_TAGS_LEN);
    if (!isSame(this.#tags, this.bytes, from, length)) this.#tags = knownAt(this.bytes, from, length);
    return this.#tags.text;
  }

  topic(row: number): string {
    const from = this.records + this.u32(row, abi.ROW_TOPIC), length = this.u16(row, abi.ROW_TOPIC_LEN);
    if (!isSame(this.#topic, this.bytes, from, length)) this.#topic = knownAt(this.bytes, from, length);
    return this.#topic.text;
  }

  /** Copies a leased batch out of the arena: its bytes are its own from now on. */
  moveOut(): void {
    const last = this.count - 1, { rows } = this;
    const end = this.records + this.u32(last, abi.ROW_RECORD) + this.u32(last, abi.ROW_RECORD_LEN);
    const { bytes, view, words } = sourceOf(this.bytes.slice(rows, end));
    this.bytes = bytes;
    this.view = view;
    this.#words = words;
    this.records -= rows;
    this.rows = 0;
    this.lease = undefined;
    this.#topic = this.#tags = NOTHING_READ;
  }

  /** A copy of one row and its bytes that stands alone. */
  alone(row: number): MessageBatch {
    const rowAt = this.rows + row * abi.ROW_SIZE;
    const copy = this.bytes.slice(rowAt, rowAt + abi.ROW_SIZE), fields = new DataView(copy.buffer);
    const parts = this.kind(row) === abi.ROW_ELEMENT ? this.#partsOfElement(row) : [
      [this.u32(row, abi.ROW_RECORD), this.u32(row, abi.ROW_RECORD_LEN)] as const,
    ];
    let length = 0;
    for (const [from, partLength] of parts) {
      for (const field of POSITIONS) {
        const position = this.u32(row, field);
        if (position >= from && position <= from + partLength && (position !== 0 || field === abi.ROW_RECORD)) {
          fields.setUint32(field, position - from + length, true);
        }
      }
      length += partLength;
    }
    fields.setUint32(abi.ROW_RECORD_LEN, length, true);
    const { records } = this;
    const bytes = parts.map(([from, partLength]) => this.bytes.subarray(records + from, records + from + partLength));
    const batch = batchOf(concat(bytes), copy);
    batch.bounds = this.bounds;
    batch.unreadable = this.unreadable;
    return batch;
  }

  /** Where the parts of the records are that an element needs, and how long they are: without its neighbours. */
  #partsOfElement(row: number): readonly (readonly [from: number, length: number])[] {
    const sysFlag = this.u32(row, abi.ROW_SYS_FLAG), element = this.u32(row, abi.ROW_BODY) - ELEMENT_BODY_AT;
    // Up to the length of the body: times, reconsumeTimes and preparedTransactionOffset lie around and behind the hosts.
    const head = layout.reconsumeTimesOf(0, sysFlag) + 12;
    const end = this.u32(row, abi.ROW_PROPERTIES) + this.u16(row, abi.ROW_PROPERTIES_LEN);
    return [
      [this.u32(row, abi.ROW_RECORD), head],
      [this.u32(row, abi.ROW_TOPIC), this.u16(row, abi.ROW_TOPIC_LEN)],
      [element, end - element],
    ];
  }

  /** Whether a body is known to be ASCII, as it lies in its record. */
  isAscii(row: number): boolean {
    return this.u16(row, abi.ROW_IS_ASCII) !== 0;
  }

  /** Whether a body can be read as it lies in its record: it is neither damaged nor compressed. */
  isPlain(row: number): boolean {
    return this.unreadable === undefined && !this.isCompressed(row);
  }

  isCompressed(row: number): boolean {
    return (this.u32(row, abi.ROW_SYS_FLAG) & sysFlags.COMPRESSED) !== 0;
  }

  /** Text at a position of the records. */
  text(at: number, length: number): string {
    return readText(this.bytes, this.records + at, length);
  }
}

/** Fields of a row that are positions. */
const POSITIONS: readonly number[] = [
  abi.ROW_RECORD,
  abi.ROW_BODY,
  abi.ROW_TOPIC,
  abi.ROW_PROPERTIES,
  abi.ROW_TAGS,
  abi.ROW_KEYS,
  abi.ROW_UNIQ_KEY,
];

/** What an element has in front of its body. */
const ELEMENT_BODY_AT = 20;

/** A text of a batch that was read, and where it lies. */
interface KnownText {
  readonly text: string;
  readonly from: number;
  readonly length: number;
}

const NOTHING_READ: KnownText = { text: "", from: 0, length: -1 };

const knownAt = (bytes: Uint8Array, from: number, length: number): KnownText => ({
  text: readText(bytes, from, length),
  from,
  length,
});

function isSame(known: KnownText, bytes: Uint8Array, from: number, length: number): boolean {
  if (known.length !== length) return false;
  for (let i = 0, at = known.from; i < length; i++) if (bytes[from + i] !== bytes[at + i]) return false;
  return true;
}

/** Records in an array that is theirs, with rows of their own. */
export function batchOf(bytes: Uint8Array, rows: Uint8Array): MessageBatch {
  const whole = concat([rows, bytes]);
  return new MessageBatch(sourceOf(whole), rows.length, 0, rows.length / abi.ROW_SIZE);
}

/** Records that are not in the arena, walked by the slow way. */
export const walkedBatch = (bytes: Uint8Array, checkCrc: boolean, most?: number): MessageBatch =>
  batchOf(bytes, walkRecords(bytes, checkCrc, most));

const sourceOf = (bytes: Uint8Array): Source => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
  words: new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2),
});

/** The first `count` rows of the core's table and the bytes of a frame's body that they are about, copied out, once. */
export function ownBatch(
  core: Core,
  frame: Frame,
  from: number,
  to: number,
  count: number,
  slabs: Slabs,
): MessageBatch {
  const rowsLength = count * abi.ROW_SIZE;
  const at = slabs.take(rowsLength + to - from), slab = slabs.last;
  core.copyRows(count, slab.bytes, at);
  slab.bytes.set(frame.source.subarray(frame.bodyPtr + from, frame.bodyPtr + to), at + rowsLength);
  return new MessageBatch(slab, at + rowsLength - from, at, count);
}

/** The same, copied within the arena. Undefined when that has no room. */
export function leaseBatch(
  core: Core,
  frame: Frame,
  from: number,
  to: number,
  count: number,
  lease: Lease,
): MessageBatch | undefined {
  const block = core.lease(frame, from, to, count);
  if (block === 0) return undefined;
  const batch = new MessageBatch(core.arena, block + count * abi.ROW_SIZE - from, block, count, lease);
  lease.hold(block, batch);
  return batch;
}

/** With slabs of one MiB from the start, every batch would meet fresh pages: that is slower. */
const SLAB_FIRST = 262_144;
const SLAB_LAST = 1_048_576;
/** A batch gets at most this part of a slab; a larger one has an array of its own. */
const SLAB_PARTS = 4;

/** JavaScript memory that consecutive batches share: a buffer for each of them would be slower. */
export class Slabs {
  readonly #allocate: (length: number) => Uint8Array;
  /** The slab of the last `take`. */
  last: Source = sourceOf(new Uint8Array(0));
  #shared: Source = this.last;
  #used = 0;
  #size = SLAB_FIRST;

  constructor({ allocate }: Pick<Host, "allocate">) {
    this.#allocate = allocate ?? ((length) => new Uint8Array(length));
  }

  /** Finds room for so many bytes in `last`, and returns where. */
  take(length: number): number {
    if (length > SLAB_LAST / SLAB_PARTS) {
      this.last = sourceOf(this.#allocate(length));
      return 0;
    }
    while (length > this.#size / SLAB_PARTS) this.#size *= 2;
    if (this.#used + length > this.#shared.bytes.length) {
      this.#shared = sourceOf(this.#allocate(this.#size));
      this.#used = 0;
    }
    this.last = this.#shared;
    const at = this.#used;
    this.#used += (length + 7) & ~7;
    return at;
  }
}
