import * as abi from "../core-as/abi.ts";
import type { Offset } from "./core.ts";
import { CodecError, isRocketMQError, UnsupportedError } from "./errors.ts";
import { settledError } from "./lease.ts";
import type { MessageBatch } from "./message_batch.ts";
import type { MessageExt, MessageQueue } from "./message.ts";
import { isRetryTopic } from "./protocol/names.ts";
import * as names from "./protocol/property_names.ts";
import { inflateBody, type Reading } from "./reading.ts";
import * as stored from "./stored_fields.ts";

/** In the place of a body or tags that nobody has asked for yet. */
const UNREAD: unique symbol = Symbol("unread");

/** No lease has this generation. */
const SETTLED = -1;

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
      this.#keep("commitLogOffset", stored.commitLogOffset(this.#batch, this.#row));
  }

  /** The sender's own number; part of the record, not of the public message. */
  get flag(): number {
    return this.#kept?.flag ?? this.#keep("flag", stored.flag(this.#batch, this.#row));
  }

  get sysFlag(): number {
    return this.#kept?.sysFlag ?? this.#keep("sysFlag", stored.sysFlag(this.#batch, this.#row));
  }

  get bornTimestamp(): number {
    return this.#kept?.bornTimestamp ??
      this.#keep("bornTimestamp", stored.bornTimestamp(this.#batch, this.#row));
  }

  get bornHost(): string {
    return this.#kept?.bornHost ?? this.#keep("bornHost", stored.bornHost(this.#batch, this.#row));
  }

  get storeTimestamp(): number {
    return this.#kept?.storeTimestamp ??
      this.#keep("storeTimestamp", stored.storeTimestamp(this.#batch, this.#row));
  }

  get storeHost(): string {
    return this.#kept?.storeHost ?? this.#keep("storeHost", stored.storeHost(this.#batch, this.#row));
  }

  get reconsumeTimes(): number {
    const times = this.#kept?.reconsumeTimes ??
      this.#keep("reconsumeTimes", stored.reconsumeTimes(this.#batch, this.#row));
    return times + this.#more;
  }

  get preparedTransactionOffset(): bigint {
    return this.#kept?.preparedTransactionOffset ??
      this.#keep("preparedTransactionOffset", stored.preparedTransactionOffset(this.#batch, this.#row));
  }

  get offsetMsgId(): string {
    return this.#kept?.offsetMsgId ?? this.#keep("offsetMsgId", stored.offsetMsgId(this.#batch, this.#row));
  }

  get msgId(): string {
    return this.#kept?.msgId ?? this.#keep("msgId", stored.uniqKey(this.#batch, this.#row) ?? this.offsetMsgId);
  }

  get properties(): Readonly<Record<string, string>> {
    return this.#properties ??= stored.properties(this.#batch, this.#row);
  }

  get tags(): string | undefined {
    if (this.#tags === UNREAD) this.#tags = this.#batch.tags(this.#row) || undefined;
    return this.#tags;
  }

  get keys(): readonly string[] {
    return this.#kept?.keys ?? this.#keep("keys", stored.keys(this.#batch, this.#row));
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
    return this.#kept?.storedBodyLength ?? this.#keep("storedBodyLength", stored.bodyLength(this.#batch, this.#row));
  }

  /** The body's bytes as they lie in the record: perhaps compressed. Throws when they are damaged: nobody may copy them. */
  storedBody(): Uint8Array {
    return stored.body(this.#batch, this.#row);
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
    return this.#batch.isCompressed(this.#row);
  }

  #inflate(mayWait: boolean): Uint8Array | Promise<Uint8Array> {
    const body = this.storedBody(), isLeased = this.#stored.lease !== undefined;
    return inflateBody(this.#reading, this.sysFlag, isLeased && mayWait ? body.slice() : body, mayWait);
  }
}
