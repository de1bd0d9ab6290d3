import * as abi from "../../core-as/abi.ts";
import { elementAt, type ElementLayout } from "./batch.ts";
import { crc32 } from "./crc32.ts";
import { KEYS, TAGS, UNIQ_KEY } from "./property_names.ts";
import { BODY_CRC_AT, layoutOf, QUEUE_OFFSET_AT, RECORD_MIN, type RecordLayout, SYS_FLAG_AT } from "./record_layout.ts";
import { COMPRESSED, INNER_BATCH, NEED_UNWRAP } from "./sys_flag.ts";
import { encodeText } from "./text.ts";

/**
 * The record walk for bodies that are not in the arena: rows in exactly the core's layout (ROW_* in `core-as/abi.ts`), all of
 * them. Never throws: what is broken is a row that says so. An inner batch of more than `most` elements stays one row.
 */
export function walkRecords(body: Uint8Array, checkCrc: boolean, most: number = abi.ROW_ENTRIES): Uint8Array {
  const walk = new Walk(body, checkCrc, most);
  for (let at = 0; at < body.length;) at = walk.record(at);
  return walk.rows();
}

class Walk {
  readonly #body: Uint8Array;
  readonly #view: DataView;
  readonly #checkCrc: boolean;
  readonly #most: number;
  #rows = new Uint8Array(abi.ROW_SIZE * 32);
  #row = new DataView(this.#rows.buffer);
  #count = 0;

  constructor(body: Uint8Array, checkCrc: boolean, most: number) {
    this.#body = body;
    this.#view = new DataView(body.buffer, body.byteOffset, body.length);
    this.#checkCrc = checkCrc;
    this.#most = most;
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

  /** A record whose lengths make sense. An inner batch whose elements cannot be told apart here stays one row. */
  #sound(at: number, size: number, layout: RecordLayout): void {
    const sysFlag = this.#view.getInt32(at + SYS_FLAG_AT);
    const status = this.#statusOf(at, layout);
    const batch = (sysFlag & BATCH) === BATCH;
    const elements = batch && status === abi.ROW_OK && (sysFlag & COMPRESSED) === 0
      ? this.#elements(layout)
      : undefined;
    if (elements) {
      for (const [index, element] of elements.entries()) {
        const row = this.#addSound(at, size, sysFlag, layout, index);
        this.#row.setUint8(row + abi.ROW_KIND, abi.ROW_ELEMENT);
        if (element) this.#setParts(row, element);
        else this.#row.setUint8(row + abi.ROW_STATUS, abi.ROW_BAD_RECORD);
      }
      return;
    }
    const row = this.#addSound(at, size, sysFlag, layout, 0);
    this.#row.setUint8(row + abi.ROW_KIND, batch ? abi.ROW_BATCH : abi.ROW_PLAIN);
    this.#row.setUint8(row + abi.ROW_STATUS, status);
    this.#setParts(row, layout);
  }

  #statusOf(at: number, { bodyAt, bodyLength }: RecordLayout): number {
    if (!this.#checkCrc) return abi.ROW_OK;
    const crc = crc32(this.#body.subarray(bodyAt, bodyAt + bodyLength)) & 0x7fffffff;
    return crc === this.#view.getInt32(at + BODY_CRC_AT) ? abi.ROW_OK : abi.ROW_BAD_CRC;
  }

  /** Elements of an inner batch, a broken one, the last, as undefined. More than there may be are none at all. */
  #elements({ bodyAt, bodyLength }: RecordLayout): (ElementLayout | undefined)[] | undefined {
    const elements: (ElementLayout | undefined)[] = [];
    for (let at = bodyAt, end = bodyAt + bodyLength; at < end;) {
      if (elements.length === this.#most) return undefined;
      const element = elementAt(this.#view, at, end);
      elements.push(element);
      if (!element) break;
      at = element.end;
    }
    return elements;
  }

  #setRecord(row: number, at: number, size: number, status: number): void {
    this.#row.setUint32(row + abi.ROW_RECORD, at, true);
    this.#row.setUint32(row + abi.ROW_RECORD_LEN, size, true);
    this.#row.setUint8(row + abi.ROW_STATUS, status);
  }

  /** A row with what all elements of a record have in common. */
  #addSound(at: number, size: number, sysFlag: number, { topicAt, topicLength }: RecordLayout, index: number): number {
    const row = this.#add(), rows = this.#row;
    this.#setRecord(row, at, size, abi.ROW_OK);
    rows.setUint32(row + abi.ROW_TOPIC, topicAt, true);
    rows.setUint16(row + abi.ROW_TOPIC_LEN, topicLength, true);
    rows.setUint16(row + abi.ROW_INNER_INDEX, index, true);
    rows.setBigInt64(row + abi.ROW_QUEUE_OFFSET, this.#view.getBigInt64(at + QUEUE_OFFSET_AT) + BigInt(index), true);
    rows.setUint32(row + abi.ROW_SYS_FLAG, sysFlag, true);
    return row;
  }

  #setParts(
    row: number,
    { bodyAt, bodyLength, propertiesAt, propertiesLength }: Omit<ElementLayout, "flag" | "end">,
  ): void {
    const rows = this.#row;
    rows.setUint32(row + abi.ROW_BODY, bodyAt, true);
    rows.setUint32(row + abi.ROW_BODY_LEN, bodyLength, true);
    rows.setUint32(row + abi.ROW_PROPERTIES, propertiesAt, true);
    rows.setUint16(row + abi.ROW_PROPERTIES_LEN, propertiesLength, true);
    this.#setProperties(row, propertiesAt, this.#body.subarray(propertiesAt, propertiesAt + propertiesLength));
  }

  /** Notes where the three values are that every consumer reads: the last of each name that is not empty. */
  #setProperties(row: number, start: number, properties: Uint8Array): void {
    for (let from = 0; from < properties.length;) {
      let end = properties.indexOf(PROPERTY, from);
      if (end < 0) end = properties.length;
      for (const [prefix, at, lengthAt] of NOTED) {
        const value = from + prefix.length;
        if (value >= end || !prefix.every((byte, index) => byte === properties[from + index])) continue;
        this.#row.setUint32(row + at, start + value, true);
        this.#row.setUint16(row + lengthAt, end - value, true);
      }
      from = end + 1;
    }
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

const BATCH = NEED_UNWRAP | INNER_BATCH;
const PROPERTY = 2;
const NOTED: readonly (readonly [prefix: Uint8Array, at: number, lengthAt: number])[] = [
  [encodeText(`${TAGS}\u0001`), abi.ROW_TAGS, abi.ROW_TAGS_LEN],
  [encodeText(`${KEYS}\u0001`), abi.ROW_KEYS, abi.ROW_KEYS_LEN],
  [encodeText(`${UNIQ_KEY}\u0001`), abi.ROW_UNIQ_KEY, abi.ROW_UNIQ_KEY_LEN],
];
