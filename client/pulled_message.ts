import * as abi from "../core-as/abi.ts";
import type { Codec } from "./body_codec.ts";
import type { Core, Frame } from "./core.ts";
import { CodecError, FrameError, isRocketMQError, UnsupportedError } from "./errors.ts";
import type { Host } from "./host.ts";
import type { MessageExt, MessageQueue } from "./message.ts";
import { decodeBatch } from "./protocol/batch.ts";
import { recordsOfBatch } from "./protocol/inner_batch.ts";
import { hostText } from "./protocol/hosts.ts";
import { createOffsetMsgId } from "./protocol/ids.ts";
import { isRetryTopic } from "./protocol/names.ts";
import { decodeProperties } from "./protocol/properties.ts";
import * as names from "./protocol/property_names.ts";
import { decodeRecord, type StoredRecord } from "./protocol/record.ts";
import * as layout from "./protocol/record_layout.ts";
import { walkRecords } from "./protocol/record_walk.ts";
import * as sysFlags from "./protocol/sys_flag.ts";
import { concat, decodeText } from "./protocol/text.ts";

/** What a message needs of its consumer to read itself. */
export interface Reading<T> {
  readonly host: Pick<Host, "inflate">;
  /** Reads LZ4; hosts do the rest. */
  readonly core: Pick<Core, "inflateLz4">;
  readonly codec: Codec<T>;
  /** Longest body after decompression, in bytes: bombs end here. */
  readonly maxBodyBytes: number;
}

/** Four times the largest message. */
export const BODY_MAX = 16_777_216;

/** Bodies above this leave the event loop while they are inflated. */
const INFLATE_APART = 65_536;

/** The records of one pull answer and their rows, copied out of the core once. */
export class MessageBatch {
  readonly bytes: Uint8Array;
  readonly records: DataView;
  readonly rows: DataView;
  readonly count: number;

  constructor(bytes: Uint8Array, rows: Uint8Array) {
    this.bytes = bytes;
    this.records = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.rows = new DataView(rows.buffer, rows.byteOffset, rows.length);
    this.count = rows.length / abi.ROW_SIZE;
  }

  status(row: number): number {
    return this.rows.getUint8(row * abi.ROW_SIZE + abi.ROW_STATUS);
  }

  kind(row: number): number {
    return this.rows.getUint8(row * abi.ROW_SIZE + abi.ROW_KIND);
  }

  queueOffset(row: number): number {
    return Number(this.rows.getBigInt64(row * abi.ROW_SIZE + abi.ROW_QUEUE_OFFSET, true));
  }

  u32(row: number, field: number): number {
    return this.rows.getUint32(row * abi.ROW_SIZE + field, true);
  }

  u16(row: number, field: number): number {
    return this.rows.getUint16(row * abi.ROW_SIZE + field, true);
  }

  /** The value of TAGS, "" when there is none. */
  tags(row: number): string {
    const at = this.u32(row, abi.ROW_TAGS);
    return at === 0 ? "" : this.text(at, this.u16(row, abi.ROW_TAGS_LEN));
  }

  text(at: number, length: number): string {
    return decodeText(this.bytes.subarray(at, at + length));
  }
}

/**
 * Copies what a pull answer brought. A frame in the arena is walked by the core; one that found no block there by the slow
 * walk.
 */
export function copyBatch(core: Core, frame: Frame, checkCrc: boolean, slabs: Slabs): MessageBatch {
  if (!frame.inArena) {
    const body = frame.body();
    return new MessageBatch(body, walkRecords(body, checkCrc));
  }
  const bytes = slabs.take(frame.bodyLength);
  bytes.set(frame.source.subarray(frame.bodyPtr, frame.bodyPtr + frame.bodyLength));
  return new MessageBatch(bytes, walkBody(core, frame.bodyPtr, frame.bodyLength, checkCrc));
}

/** All rows of a body that lies in the arena: the core fills a table at a time. */
export function walkBody(core: Core, ptr: number, length: number, checkCrc: boolean): Uint8Array {
  const tables: Uint8Array[] = [];
  for (let from = 0; from < length; from = core.walkedTo) {
    const count = core.walkAt(ptr, length, from, checkCrc);
    const table = new Uint8Array(count * abi.ROW_SIZE);
    core.copyRows(count, table, 0);
    tables.push(table);
    if (core.walkedTo <= from) break;
  }
  return tables.length === 1 ? tables[0]! : concat(tables);
}

const SLAB_BYTES = 262_144;

/** JavaScript memory that consecutive batches share: a buffer for each of them would be slower. */
export class Slabs {
  #slab = new Uint8Array(0);
  #used = 0;

  take(length: number): Uint8Array {
    if (length > SLAB_BYTES / 4) return new Uint8Array(length);
    if (this.#used + length > this.#slab.length) {
      this.#slab = new Uint8Array(SLAB_BYTES);
      this.#used = 0;
    }
    const at = this.#used;
    this.#used += (length + 7) & ~7;
    return this.#slab.subarray(at, at + length);
  }
}

/** One message of a batch. Every field is read when it is asked for. */
export class PulledMessage<T> implements MessageExt<T> {
  readonly #batch: MessageBatch;
  readonly #row: number;
  readonly #queue: MessageQueue;
  readonly #reading: Reading<T>;
  #properties: Readonly<Record<string, string>> | undefined;
  #raw: Uint8Array | undefined;
  #body: T | undefined;
  #decoded = false;
  /** Local retries, when the broker could not be told about a failure. */
  #more = 0;

  constructor(batch: MessageBatch, row: number, queue: MessageQueue, reading: Reading<T>) {
    this.#batch = batch;
    this.#row = row;
    this.#queue = queue;
    this.#reading = reading;
  }

  /** The original topic: of a message that was sent back, not the retry topic it came through. */
  get topic(): string {
    const topic = this.storedTopic;
    return isRetryTopic(topic) ? this.properties[names.RETRY_TOPIC] ?? topic : topic;
  }

  /** The topic the record lies in. */
  get storedTopic(): string {
    return this.#batch.text(this.#u32(abi.ROW_TOPIC), this.#u16(abi.ROW_TOPIC_LEN));
  }

  get brokerName(): string {
    return this.#queue.brokerName;
  }

  get queueId(): number {
    return this.#queue.queueId;
  }

  get queueOffset(): bigint {
    return this.#batch.rows.getBigInt64(this.#row * abi.ROW_SIZE + abi.ROW_QUEUE_OFFSET, true);
  }

  get commitLogOffset(): bigint {
    return this.#batch.records.getBigInt64(this.#record + layout.PHYSICAL_OFFSET_AT);
  }

  /** The sender's own number; part of the record, not of the public message. */
  get flag(): number {
    return this.#batch.records.getInt32(this.#record + layout.FLAG_AT);
  }

  get sysFlag(): number {
    return this.#u32(abi.ROW_SYS_FLAG);
  }

  get bornTimestamp(): number {
    return Number(this.#batch.records.getBigInt64(this.#record + layout.BORN_TIMESTAMP_AT));
  }

  get bornHost(): string {
    const v6 = (this.sysFlag & sysFlags.BORN_HOST_V6) !== 0;
    return hostText(this.#batch.bytes, this.#record + layout.BORN_HOST_AT, v6);
  }

  get storeTimestamp(): number {
    return Number(this.#batch.records.getBigInt64(this.#storeTimestampAt));
  }

  get storeHost(): string {
    const v6 = (this.sysFlag & sysFlags.STORE_HOST_V6) !== 0;
    return hostText(this.#batch.bytes, this.#storeTimestampAt + 8, v6);
  }

  get reconsumeTimes(): number {
    return this.#batch.records.getInt32(this.#afterHosts) + this.#more;
  }

  get preparedTransactionOffset(): bigint {
    return this.#batch.records.getBigInt64(this.#afterHosts + 4);
  }

  get offsetMsgId(): string {
    const at = this.#storeTimestampAt + 8;
    const length = this.sysFlag & sysFlags.STORE_HOST_V6 ? 16 : 4;
    const port = this.#batch.records.getInt32(at + length);
    return createOffsetMsgId(this.#batch.bytes.subarray(at, at + length), port, this.commitLogOffset);
  }

  get msgId(): string {
    const at = this.#u32(abi.ROW_UNIQ_KEY);
    return at === 0 ? this.offsetMsgId : this.#batch.text(at, this.#u16(abi.ROW_UNIQ_KEY_LEN));
  }

  get properties(): Readonly<Record<string, string>> {
    return this.#properties ??= decodeProperties(
      this.#batch.text(this.#u32(abi.ROW_PROPERTIES), this.#u16(abi.ROW_PROPERTIES_LEN)),
    );
  }

  get tags(): string {
    return this.#batch.tags(this.#row);
  }

  get keys(): readonly string[] {
    const at = this.#u32(abi.ROW_KEYS);
    if (at === 0) return [];
    return this.#batch.text(at, this.#u16(abi.ROW_KEYS_LEN)).split(names.KEY_SEPARATOR).filter((key) => key !== "");
  }

  get delayTimeLevel(): number {
    return Number(this.properties[names.DELAY] ?? 0) | 0;
  }

  get deliverAt(): number {
    return Number(this.properties[names.TIMER_DELIVER_MS] ?? 0);
  }

  get shardingKey(): string {
    return this.properties[names.SHARDING_KEY] ?? "";
  }

  get waitStoreMsgOK(): boolean {
    return this.properties[names.WAIT] !== "false";
  }

  get transactionId(): string {
    const { properties } = this;
    return properties[names.TRANSACTION_ID] ??
      (properties[names.TRANSACTION_PREPARED] === "true" ? properties[names.UNIQ_KEY] ?? "" : "");
  }

  get body(): T {
    if (!this.#decoded) {
      const raw = this.#inflated();
      try {
        this.#body = this.#reading.codec.decode(raw.slice(), this.topic);
      } catch (cause) {
        if (isRocketMQError(cause)) throw cause;
        const { topic } = this;
        throw new CodecError(`Cannot decode the body of message ${this.msgId} of topic "${topic}"`, { cause, topic });
      }
      this.#decoded = true;
    }
    return this.#body as T;
  }

  rawBody(): Uint8Array {
    return this.#inflated().slice();
  }

  /** Bytes of the record. */
  get storedLength(): number {
    return this.#u32(abi.ROW_RECORD_LEN);
  }

  /** The body's bytes as they lie in the record: perhaps compressed. */
  storedBody(): Uint8Array {
    const at = this.#u32(abi.ROW_BODY);
    return this.#batch.bytes.subarray(at, at + this.#u32(abi.ROW_BODY_LEN));
  }

  /** Inflates now what would block the event loop later; undefined when there is nothing to wait for. */
  prepare(): Promise<void> | undefined {
    if ((this.sysFlag & sysFlags.COMPRESSED) === 0 || this.#u32(abi.ROW_BODY_LEN) <= INFLATE_APART) return undefined;
    const inflating = this.#inflate(true);
    if (inflating instanceof Uint8Array) {
      this.#raw = inflating;
      return undefined;
    }
    return inflating.then((raw) => {
      this.#raw = raw;
    });
  }

  retain(): MessageExt<T> {
    const { bytes, rows } = this.#batch;
    const at = this.#record, length = this.#u32(abi.ROW_RECORD_LEN), rowAt = this.#row * abi.ROW_SIZE;
    const row = new Uint8Array(rows.buffer, rows.byteOffset + rowAt, abi.ROW_SIZE).slice();
    const view = new DataView(row.buffer);
    for (const field of POSITIONS) {
      const position = view.getUint32(field, true);
      if (position !== 0) view.setUint32(field, position - at, true);
    }
    const copy = new PulledMessage(new MessageBatch(bytes.slice(at, at + length), row), 0, this.#queue, this.#reading);
    copy.#more = this.#more;
    return copy;
  }

  /** One more failure that no broker knows of. */
  failedLocally(): void {
    this.#more++;
  }

  toJSON(): Record<string, unknown> {
    return {
      topic: this.topic,
      brokerName: this.brokerName,
      queueId: this.queueId,
      queueOffset: String(this.queueOffset),
      commitLogOffset: String(this.commitLogOffset),
      msgId: this.msgId,
      offsetMsgId: this.offsetMsgId,
      tags: this.tags,
      keys: this.keys,
      properties: { ...this.properties },
      sysFlag: this.sysFlag,
      reconsumeTimes: this.reconsumeTimes,
      bornTimestamp: this.bornTimestamp,
      bornHost: this.bornHost,
      storeTimestamp: this.storeTimestamp,
      storeHost: this.storeHost,
      preparedTransactionOffset: String(this.preparedTransactionOffset),
      bodyLength: this.#u32(abi.ROW_BODY_LEN),
    };
  }

  [Symbol.for("nodejs.util.inspect.custom")](): unknown {
    return this.toJSON();
  }

  [Symbol.for("Deno.customInspect")](
    inspect: (value: unknown, options?: unknown) => string,
    options?: unknown,
  ): string {
    return inspect(this.toJSON(), options);
  }

  #inflated(): Uint8Array {
    if (this.#raw) return this.#raw;
    if ((this.sysFlag & sysFlags.COMPRESSED) === 0) return this.storedBody();
    const raw = this.#inflate(false);
    if (!(raw instanceof Uint8Array)) {
      throw new UnsupportedError("Cannot read a compressed body here: this runtime inflates only asynchronously");
    }
    return this.#raw = raw;
  }

  #inflate(mayWait: boolean): Uint8Array | Promise<Uint8Array> {
    return inflateBody(this.#reading, this.sysFlag, this.storedBody(), mayWait);
  }

  get #record(): number {
    return this.#u32(abi.ROW_RECORD);
  }

  get #storeTimestampAt(): number {
    return this.#record + layout.BORN_HOST_AT + (this.sysFlag & sysFlags.BORN_HOST_V6 ? 20 : 8);
  }

  /** Where reconsumeTimes is. */
  get #afterHosts(): number {
    return this.#storeTimestampAt + 8 + (this.sysFlag & sysFlags.STORE_HOST_V6 ? 20 : 8);
  }

  #u32(field: number): number {
    return this.#batch.u32(this.#row, field);
  }

  #u16(field: number): number {
    return this.#batch.u16(this.#row, field);
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

/**
 * A compressed body, as `Host.inflate` gives it, or the core: LZ4 is never waited for. Throws `FrameError` for bits that mean
 * nothing, and for LZ4 that is damaged or too long.
 */
export function inflateBody(
  { host, core, maxBodyBytes }: Pick<Reading<unknown>, "host" | "core" | "maxBodyBytes">,
  sysFlag: number,
  body: Uint8Array,
  mayWait: boolean,
): Uint8Array | Promise<Uint8Array> {
  const type = sysFlags.compressionOf(sysFlag);
  if (type === "LZ4") return core.inflateLz4(body, maxBodyBytes);
  if (type === undefined) throw new FrameError(`A body is compressed in an unknown way: sysFlag ${sysFlag}`);
  return host.inflate(type, body, maxBodyBytes, mayWait);
}

/** The messages of an inner batch that the walk left whole, as a batch of their own. Throws what inflating throws. */
export async function unwrapBatch(batch: MessageBatch, row: number, reading: Reading<unknown>): Promise<MessageBatch> {
  const outer = decodeRecord(batch.bytes, batch.u32(row, abi.ROW_RECORD));
  const { sysFlag, body } = outer;
  return elementsOf(outer, sysFlag & sysFlags.COMPRESSED ? await inflateBody(reading, sysFlag, body, true) : body);
}

/** The messages of an inner batch whose body is `inflated`. */
export function elementsOf(outer: StoredRecord, inflated: Uint8Array): MessageBatch {
  const records = recordsOfBatch(outer, decodeBatch(inflated));
  return new MessageBatch(records, walkRecords(records, false));
}
