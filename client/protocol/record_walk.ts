import * as abi from "../../core-as/abi.ts";
import { FrameError } from "../errors.ts";
import { type ElementLayout, elementsOf } from "./batch.ts";
import { crc32 } from "./crc32.ts";
import { KEYS, TAGS, UNIQ_KEY } from "./property_names.ts";
import { BODY_CRC_AT, layoutOf, QUEUE_OFFSET_AT, RECORD_MIN, type RecordLayout, SYS_FLAG_AT } from "./record_layout.ts";
import { COMPRESSED, INNER_BATCH, NEED_UNWRAP } from "./sys_flag.ts";
import { encodeText } from "./text.ts";

/**
 * The record walk for bodies that are not in the arena: rows in exactly the core's layout (ROW_* in `core-as/abi.ts`), all of
 * them. Never throws: what is broken is a row that says so.
 */
export function walkRecords(body: Uint8Array, checkCrc: boolean): Uint8Array {
  const walk = new Walk(body, checkCrc);
  for (let at = 0; at < body.length;) at = walk.record(at);
  return walk.rows();
}

class Walk {
  readonly #body: Uint8Array;
  readonly #view: DataView;
  readonly #checkCrc: boolean;
  #rows = new Uint8Array(abi.ROW_SIZE * 32);
  #row = new DataView(this.#rows.buffer);
  #count = 0;

  constructor(body: Uint8Array, checkCrc: boolean) {
    this.#body = body;
    this.#view = new DataView(body.buffer, body.byteOffset, body.length);
    this.#checkCrc = checkCrc;
  }

  rows(): Uint8Array {
    return this.#rows.subarray(0, this.#count * abi.ROW_SIZE);
  }

  /** Rows for the record at `at`; returns where the next one starts. */
  record(at: number): number {
    const left = this.#body.length - at;
    const size = left >= RECORD_MIN ? this.#view.getInt32(at) : 0;
    if (size < RECORD_MIN || size > left) {
      this.#setRecord(this.#add(), at, left, abi.ROW_BAD_REST);
      return this.#body.length;
    }
    const layout = layoutOf(this.#view, at, size);
    if (!layout) this.#setRecord(this.#add(), at, size, abi.ROW_BAD_RECORD);
    else this.#sound(at, size, layout);
    return at + size;
  }

  /** A record whose lengths make sense. */
  #sound(at: number, size: number, layout: RecordLayout): void {
    const sysFlag = this.#view.getInt32(at + SYS_FLAG_AT);
    const status = this.#statusOf(at, layout);
    const batch = (sysFlag & (NEED_UNWRAP | INNER_BATCH)) === (NEED_UNWRAP | INNER_BATCH);
    const elements = batch && (sysFlag & COMPRESSED) === 0 ? this.#elements(layout) : [layout];
    if (!elements) return this.#setRecord(this.#add(), at, size, abi.ROW_BAD_RECORD);
    for (const [index, element] of elements.entries()) {
      const row = this.#add();
      this.#setRecord(row, at, size, status);
      this.#setParts(row, at, sysFlag, layout, element, index);
      const kind = !batch ? abi.ROW_PLAIN : sysFlag & COMPRESSED ? abi.ROW_BATCH : abi.ROW_ELEMENT;
      this.#row.setUint8(row + abi.ROW_KIND, kind);
    }
  }

  #statusOf(at: number, { bodyAt, bodyLength }: RecordLayout): number {
    if (!this.#checkCrc) return abi.ROW_OK;
    const crc = crc32(this.#body.subarray(bodyAt, bodyAt + bodyLength)) & 0x7fffffff;
    return crc === this.#view.getInt32(at + BODY_CRC_AT) ? abi.ROW_OK : abi.ROW_BAD_CRC;
  }

  /** Elements of an inner batch; undefined when they contradict each other. */
  #elements({ bodyAt, bodyLength }: RecordLayout): ElementLayout[] | undefined {
    try {
      return elementsOf(this.#view, bodyAt, bodyAt + bodyLength, (element) => element);
    } catch (error) {
      if (error instanceof FrameError) return undefined;
      throw error;
    }
  }

  #setRecord(row: number, at: number, size: number, status: number): void {
    this.#row.setUint32(row + abi.ROW_RECORD, at, true);
    this.#row.setUint32(row + abi.ROW_RECORD_LEN, size, true);
    this.#row.setUint8(row + abi.ROW_STATUS, status);
  }

  #setParts(
    row: number,
    at: number,
    sysFlag: number,
    { topicAt, topicLength }: RecordLayout,
    part: Pick<ElementLayout, "bodyAt" | "bodyLength" | "propertiesAt" | "propertiesLength">,
    index: number,
  ): void {
    const rows = this.#row;
    rows.setUint32(row + abi.ROW_BODY, part.bodyAt, true);
    rows.setUint32(row + abi.ROW_BODY_LEN, part.bodyLength, true);
    rows.setUint32(row + abi.ROW_TOPIC, topicAt, true);
    rows.setUint16(row + abi.ROW_TOPIC_LEN, topicLength, true);
    rows.setUint32(row + abi.ROW_PROPERTIES, part.propertiesAt, true);
    rows.setUint16(row + abi.ROW_PROPERTIES_LEN, part.propertiesLength, true);
    rows.setUint16(row + abi.ROW_INNER_INDEX, index, true);
    rows.setBigInt64(row + abi.ROW_QUEUE_OFFSET, this.#view.getBigInt64(at + QUEUE_OFFSET_AT) + BigInt(index), true);
    rows.setUint32(row + abi.ROW_SYS_FLAG, sysFlag, true);
    this.#setProperties(row, part.propertiesAt, part.propertiesAt + part.propertiesLength);
  }

  /** Notes where the three values are that every consumer reads. */
  #setProperties(row: number, from: number, to: number): void {
    const body = this.#body;
    for (let at = from; at < to;) {
      let end = body.indexOf(PROPERTY, at);
      if (end < 0 || end > to) end = to;
      const split = body.indexOf(NAME_VALUE, at);
      if (split > at && split < end - 1) this.#setProperty(row, at, split, end);
      at = end + 1;
    }
  }

  #setProperty(row: number, name: number, split: number, end: number): void {
    const value = split + 1, length = end - value;
    for (const [bytes, at, lengthAt] of NOTED) {
      if (!this.#equals(bytes, name, split)) continue;
      this.#row.setUint32(row + at, value, true);
      this.#row.setUint16(row + lengthAt, length, true);
    }
  }

  #equals(name: Uint8Array, from: number, to: number): boolean {
    return name.length === to - from && name.every((byte, index) => byte === this.#body[from + index]);
  }

  /** A new row, all zero; grows the table. */
  #add(): number {
    const row = this.#count++ * abi.ROW_SIZE;
    if (row + abi.ROW_SIZE > this.#rows.length) {
      const grown = new Uint8Array(this.#rows.length * 2);
      grown.set(this.#rows);
      this.#rows = grown;
      this.#row = new DataView(grown.buffer);
    }
    return row;
  }
}

const NAME_VALUE = 1;
const PROPERTY = 2;
const NOTED: readonly (readonly [name: Uint8Array, at: number, lengthAt: number])[] = [
  [encodeText(TAGS), abi.ROW_TAGS, abi.ROW_TAGS_LEN],
  [encodeText(KEYS), abi.ROW_KEYS, abi.ROW_KEYS_LEN],
  [encodeText(UNIQ_KEY), abi.ROW_UNIQ_KEY, abi.ROW_UNIQ_KEY_LEN],
];
