import * as abi from "../core-as/abi.ts";
import { canBorrow, type Codec, type TextReader, textReader } from "./body_codec.ts";
import type { Core, Offset } from "./core.ts";
import { CodecError, FrameError, isRocketMQError, UnsupportedError } from "./errors.ts";
import type { Host } from "./host.ts";
import { settledError } from "./lease.ts";
import type { MessageBatch } from "./message_batch.ts";
import type { MessageExt, MessageQueue } from "./message.ts";
import { hostText } from "./protocol/hosts.ts";
import { createOffsetMsgId } from "./protocol/ids.ts";
import { isRetryTopic } from "./protocol/names.ts";
import { decodeProperties } from "./protocol/properties.ts";
import * as names from "./protocol/property_names.ts";
import * as layout from "./protocol/record_layout.ts";
import * as sysFlags from "./protocol/sys_flag.ts";

/** What a message needs of its consumer to read itself. */
export interface Reading<T> {
  readonly host: Pick<Host, "inflate" | "readText" | "readAscii">;
  /** Reads LZ4; hosts do the rest. */
  readonly core: Pick<Core, "inflateLz4">;
  readonly codec: Codec<T>;
  /** The codec keeps nothing of the bytes it reads: it needs no copy of its own. */
  readonly lendsBodies: boolean;
  /** The codec's way to read bodies that are ASCII or short from where they lie. */
  readonly readText: TextReader<T> | undefined;
  /** Longest body after decompression, in bytes: bombs end here. */
  readonly maxBodyBytes: number;
}

export const readingWith = <T>({ host, core }: Pick<Reading<T>, "host" | "core">, codec: Codec<T>): Reading<T> => ({
  host,
  core,
  codec,
  lendsBodies: canBorrow(codec),
  readText: textReader(codec, host),
  maxBodyBytes: BODY_MAX,
});

/** In the place of a body or tags that nobody has asked for yet. */
const UNREAD: unique symbol = Symbol("unread");

/** In front of the body of an inner batch's element. */
const FLAG_BEFORE_BODY = 8;

/** No lease has this generation. */
const SETTLED = -1;

/** Four times the largest message. */
export const BODY_MAX = 16_777_216;

/** Above this a decoder is as quick. */
const SHORT_BODY = 256;

/** Bodies above this leave the event loop while they are inflated. */
const INFLATE_APART = 65_536;

/** Fields of a leased message that have been read: they stay readable when it is settled, as body, tags and properties do. */
interface Kept {
  storedTopic?: string;
  queueOffset?: bigint;
  commitLogOffset?: bigint;
  flag?: number;
  sysFlag?: number;
  bornTimestamp?: number;
  bornHost?: string;
  storeTimestamp?: number;
  storeHost?: string;
  reconsumeTimes?: number;
  preparedTransactionOffset?: bigint;
  offsetMsgId?: string;
  msgId?: string;
  keys?: readonly string[];
  storedBodyLength?: number;
  rawBody?: Uint8Array;
}

/**
 * One message of a batch. Every field is read when it is asked for. Leased or not, it is of one class: making an object of a
 * derived class takes engines half as long again.
 */
export class PulledMessage<T> implements MessageExt<T> {
  readonly #stored: MessageBatch;
  /** Of the lease, as long as the message is not settled. */
  #generation: number;
  readonly #row: number;
  readonly #queue: MessageQueue;
  readonly #reading: Reading<T>;
  #properties: Readonly<Record<string, string>> | undefined;
  #raw: Uint8Array | undefined;
  #body: T | typeof UNREAD = UNREAD;
  #tags: string | undefined | typeof UNREAD = UNREAD;
  /** Most messages keep none. */
  #kept: Kept | undefined;
  /** Local retries, when the broker could not be told about a failure. */
  #more = 0;

  constructor(batch: MessageBatch, row: number, queue: MessageQueue, reading: Reading<T>) {
    this.#stored = batch;
    this.#generation = batch.lease ? batch.lease.generation : 0;
    this.#row = row;
    this.#queue = queue;
    this.#reading = reading;
  }

  /** The batch, as long as its bytes are there. */
  get #batch(): MessageBatch {
    const batch = this.#stored;
    if (batch.lease !== undefined && batch.lease.generation !== this.#generation) throw settledError();
    return batch;
  }

  /** What has just been read stays readable. */
  #keep<Name extends keyof Kept>(name: Name, value: NonNullable<Kept[Name]>): NonNullable<Kept[Name]> {
    if (this.#stored.lease !== undefined) (this.#kept ??= {})[name] = value;
    return value;
  }

  /** The message is over for its consumer: what a lease has of it may go. Only the first call counts. */
  settle(): void {
    const { lease } = this.#stored;
    if (lease === undefined || lease.generation !== this.#generation) return;
    this.#generation = SETTLED;
    lease.settled();
  }

  /** The message waits for long: a lease must not wait with it. */
  unlease(): void {
    const { lease } = this.#stored;
    if (lease !== undefined && lease.generation === this.#generation) lease.release();
  }

  /** The original topic: of a message that was sent back, not the retry topic it came through. */
  get topic(): string {
    const topic = this.storedTopic;
    return isRetryTopic(topic) ? this.properties[names.RETRY_TOPIC] ?? topic : topic;
  }

  /** The topic the record lies in. */
  get storedTopic(): string {
    return this.#kept?.storedTopic ?? this.#keep("storedTopic", this.#batch.topic(this.#row));
  }

  get brokerName(): string {
    return this.#queue.brokerName;
  }

  get queueId(): number {
    return this.#queue.queueId;
  }

  get queueOffset(): bigint {
    return this.#kept?.queueOffset ?? this.#keep("queueOffset", this.#batch.queueOffset(this.#row));
  }

  /** The same for the process queue: a number where that is enough. */
  get offset(): Offset {
    return this.#batch.offset(this.#row);
  }

  get commitLogOffset(): bigint {
    return this.#kept?.commitLogOffset ??
      this.#keep("commitLogOffset", this.#batch.view.getBigInt64(this.#record + layout.PHYSICAL_OFFSET_AT));
  }

  /** The sender's own number; part of the record, not of the public message. */
  get flag(): number {
    return this.#kept?.flag ?? this.#keep("flag", this.#readFlag());
  }

  #readFlag(): number {
    const batch = this.#batch, isElement = batch.kind(this.#row) === abi.ROW_ELEMENT;
    const at = isElement
      ? batch.records + batch.u32(this.#row, abi.ROW_BODY) - FLAG_BEFORE_BODY
      : this.#record + layout.FLAG_AT;
    return batch.view.getInt32(at);
  }

  get sysFlag(): number {
    return this.#kept?.sysFlag ?? this.#keep("sysFlag", this.#u32(abi.ROW_SYS_FLAG));
  }

  get bornTimestamp(): number {
    return this.#kept?.bornTimestamp ??
      this.#keep("bornTimestamp", Number(this.#batch.view.getBigInt64(this.#record + layout.BORN_TIMESTAMP_AT)));
  }

  get bornHost(): string {
    return this.#kept?.bornHost ?? this.#keep("bornHost", this.#readBornHost());
  }

  #readBornHost(): string {
    const v6 = (this.sysFlag & sysFlags.BORN_HOST_V6) !== 0;
    return hostText(this.#batch.bytes, this.#record + layout.BORN_HOST_AT, v6);
  }

  get storeTimestamp(): number {
    return this.#kept?.storeTimestamp ??
      this.#keep("storeTimestamp", Number(this.#batch.view.getBigInt64(this.#storeTimestampAt)));
  }

  get storeHost(): string {
    return this.#kept?.storeHost ?? this.#keep("storeHost", this.#readStoreHost());
  }

  #readStoreHost(): string {
    const v6 = (this.sysFlag & sysFlags.STORE_HOST_V6) !== 0;
    return hostText(this.#batch.bytes, this.#storeTimestampAt + 8, v6);
  }

  get reconsumeTimes(): number {
    const stored = this.#kept?.reconsumeTimes ??
      this.#keep("reconsumeTimes", this.#batch.view.getInt32(this.#afterHosts));
    return stored + this.#more;
  }

  get preparedTransactionOffset(): bigint {
    return this.#kept?.preparedTransactionOffset ??
      this.#keep("preparedTransactionOffset", this.#batch.view.getBigInt64(this.#afterHosts + 4));
  }

  get offsetMsgId(): string {
    return this.#kept?.offsetMsgId ?? this.#keep("offsetMsgId", this.#readOffsetMsgId());
  }

  #readOffsetMsgId(): string {
    const at = this.#storeTimestampAt + 8;
    const length = this.sysFlag & sysFlags.STORE_HOST_V6 ? 16 : 4;
    const port = this.#batch.view.getInt32(at + length);
    return createOffsetMsgId(this.#batch.bytes.subarray(at, at + length), port, this.commitLogOffset);
  }

  get msgId(): string {
    return this.#kept?.msgId ?? this.#keep("msgId", this.#readMsgId());
  }

  #readMsgId(): string {
    const at = this.#u32(abi.ROW_UNIQ_KEY);
    return at === 0 ? this.offsetMsgId : this.#batch.text(at, this.#u16(abi.ROW_UNIQ_KEY_LEN));
  }

  get properties(): Readonly<Record<string, string>> {
    return this.#properties ??= this.#decodeProperties();
  }

  get tags(): string | undefined {
    if (this.#tags === UNREAD) this.#tags = this.#batch.tags(this.#row) || undefined;
    return this.#tags;
  }

  get keys(): readonly string[] {
    return this.#kept?.keys ?? this.#keep("keys", this.#readKeys());
  }

  #readKeys(): readonly string[] {
    const at = this.#u32(abi.ROW_KEYS);
    if (at === 0) return [];
    return this.#batch.text(at, this.#u16(abi.ROW_KEYS_LEN)).split(names.KEY_SEPARATOR).filter((key) => key !== "");
  }

  get delayTimeLevel(): number | undefined {
    return Number(this.properties[names.DELAY] ?? 0) | 0 || undefined;
  }

  get deliverAt(): number | undefined {
    return Number(this.properties[names.TIMER_DELIVER_MS] ?? 0) || undefined;
  }

  get shardingKey(): string | undefined {
    return this.properties[names.SHARDING_KEY];
  }

  get waitStoreMsgOK(): boolean {
    return this.properties[names.WAIT] !== "false";
  }

  get transactionId(): string | undefined {
    const { properties } = this;
    return properties[names.TRANSACTION_ID] ??
      (properties[names.TRANSACTION_PREPARED] === "true" ? properties[names.UNIQ_KEY] : undefined);
  }

  get body(): T {
    if (this.#body === UNREAD) this.#body = this.#readBody();
    return this.#body as T;
  }

  #readBody(): T {
    const { codec, lendsBodies, readText } = this.#reading;
    if (readText !== undefined && this.#raw === undefined) {
      const batch = this.#batch, row = this.#row;
      const isAscii = batch.isAscii(row), length = batch.u32(row, abi.ROW_BODY_LEN);
      if ((isAscii || length <= SHORT_BODY) && batch.isPlain(row)) {
        const from = batch.records + batch.u32(row, abi.ROW_BODY);
        try {
          return readText(batch.bytes, from, from + length, isAscii);
        } catch (cause) {
          throw this.#unreadable(cause);
        }
      }
    }
    // Not by way of other fields: a leased message keeps those when they are read.
    const raw = this.#inflated();
    try {
      return lendsBodies ? codec.decode(raw, this.#queue.topic) : codec.decode(raw.slice(), this.topic);
    } catch (cause) {
      throw this.#unreadable(cause);
    }
  }

  #unreadable(cause: unknown): Error {
    if (isRocketMQError(cause)) return cause;
    const { topic } = this;
    return new CodecError(`Cannot decode the body of message ${this.msgId} of topic "${topic}"`, { cause, topic });
  }

  rawBody(): Uint8Array {
    const kept = this.#kept?.rawBody;
    if (kept !== undefined || this.#stored.lease === undefined) return (kept ?? this.#inflated()).slice();
    return this.#keep("rawBody", this.#inflated().slice()).slice();
  }

  /** Bytes of the body as it lies in the record. */
  get storedBodyLength(): number {
    return this.#kept?.storedBodyLength ?? this.#keep("storedBodyLength", this.#u32(abi.ROW_BODY_LEN));
  }

  /** The body's bytes as they lie in the record: perhaps compressed. Throws when they are damaged: nobody may copy them. */
  storedBody(): Uint8Array {
    const batch = this.#batch, at = batch.records + batch.u32(this.#row, abi.ROW_BODY);
    if (batch.unreadable) throw batch.unreadable;
    return batch.bytes.subarray(at, at + batch.u32(this.#row, abi.ROW_BODY_LEN));
  }

  /** Inflates now what would block the event loop later; undefined when there is nothing to wait for. */
  prepare(): Promise<void> | undefined {
    if (!this.#isCompressed || this.storedBodyLength <= INFLATE_APART || this.#batch.unreadable) return undefined;
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
    const copy = new PulledMessage(this.#batch.alone(this.#row), 0, this.#queue, this.#reading);
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
      bodyLength: this.storedBodyLength,
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

  /** Those of the record, and where its queue begins and ends (`PullAPIWrapper`). */
  #decodeProperties(): Record<string, string> {
    const batch = this.#batch;
    const text = batch.text(this.#u32(abi.ROW_PROPERTIES), this.#u16(abi.ROW_PROPERTIES_LEN));
    const properties = decodeProperties(text);
    if (batch.bounds) {
      properties[names.MIN_OFFSET] = String(batch.bounds.minOffset);
      properties[names.MAX_OFFSET] = String(batch.bounds.maxOffset);
    }
    return properties;
  }

  #inflated(): Uint8Array {
    if (this.#raw) return this.#raw;
    if (!this.#isCompressed) return this.storedBody();
    const raw = this.#inflate(false);
    if (!(raw instanceof Uint8Array)) {
      throw new UnsupportedError("Cannot read a compressed body here: this runtime inflates only asynchronously");
    }
    return this.#raw = raw;
  }

  get #isCompressed(): boolean {
    return (this.#u32(abi.ROW_SYS_FLAG) & sysFlags.COMPRESSED) !== 0;
  }

  #inflate(mayWait: boolean): Uint8Array | Promise<Uint8Array> {
    const body = this.storedBody(), isLeased = this.#stored.lease !== undefined;
    return inflateBody(this.#reading, this.sysFlag, isLeased && mayWait ? body.slice() : body, mayWait);
  }

  /** Where the record is in the batch's bytes. */
  get #record(): number {
    const batch = this.#batch;
    return batch.records + batch.u32(this.#row, abi.ROW_RECORD);
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
