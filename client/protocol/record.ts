import { ArgumentError, FrameError } from "../errors.ts";
import { bodyCrc } from "./crc32.ts";
import { hostText, parseHost } from "./hosts.ts";
import { createOffsetMsgId } from "./ids.ts";
import { PROPERTIES_MAX } from "./properties.ts";
import * as layout from "./record_layout.ts";
import { BORN_HOST_V6, STORE_HOST_V6 } from "./sys_flag.ts";
import { decodeText, encodeText } from "./text.ts";

/** A message as a broker stores it and a pull returns it. */
export interface StoredRecord {
  readonly topic: string;
  readonly queueId: number;
  /** The user's own number. */
  readonly flag: number;
  readonly queueOffset: bigint;
  /** Commit-log offset. */
  readonly physicalOffset: bigint;
  /** The two bits for 16-byte hosts follow from the hosts when a record is encoded. */
  readonly sysFlag: number;
  /** Milliseconds. */
  readonly bornTimestamp: number;
  /** "ip:port", or "[ip]:port". */
  readonly bornHost: string;
  readonly storeTimestamp: number;
  readonly storeHost: string;
  readonly reconsumeTimes: number;
  readonly preparedTransactionOffset: bigint;
  /** Over the stored body, 31 bits. */
  readonly bodyCRC: number;
  /** As stored: perhaps compressed. */
  readonly body: Uint8Array;
  /** As `encodeProperties` writes them. */
  readonly properties: string;
}

/** What `encodeRecord` takes; the checksum is computed unless it is known. */
export type NewRecord = Omit<StoredRecord, "bodyCRC"> & { readonly bodyCRC?: number };

const TOPIC_V1_MAX = 127;
const TOPIC_V2_MAX = 32_767;

/** Throws `ArgumentError` when the topic or the properties are too long for their length fields. */
export function encodeRecord(record: NewRecord): Uint8Array {
  const topic = encodeText(record.topic), properties = encodeText(record.properties);
  const born = parseHost(record.bornHost), store = parseHost(record.storeHost);
  if (topic.length > TOPIC_V2_MAX) {
    throw new ArgumentError(`Cannot encode a topic of ${topic.length} bytes: at most ${TOPIC_V2_MAX} fit`);
  }
  checkPropertiesLength(properties.length);
  const v2 = topic.length > TOPIC_V1_MAX;
  const size = layout.RECORD_MIN - 8 + born.ip.length + store.ip.length + record.body.length + topic.length +
    properties.length + (v2 ? 1 : 0);
  const sysFlag = record.sysFlag & ~(BORN_HOST_V6 | STORE_HOST_V6) |
    (born.ip.length > 4 ? BORN_HOST_V6 : 0) | (store.ip.length > 4 ? STORE_HOST_V6 : 0);
  const writer = new Writer(size);
  writer.int32(size);
  writer.int32(v2 ? layout.MAGIC_V2 : layout.MAGIC_V1);
  writer.int32(record.bodyCRC ?? bodyCrc(record.body));
  writer.int32(record.queueId);
  writer.int32(record.flag);
  writer.int64(record.queueOffset);
  writer.int64(record.physicalOffset);
  writer.int32(sysFlag);
  writer.time(record.bornTimestamp);
  writer.put(born.ip);
  writer.int32(born.port);
  writer.time(record.storeTimestamp);
  writer.put(store.ip);
  writer.int32(store.port);
  writer.int32(record.reconsumeTimes);
  writer.int64(record.preparedTransactionOffset);
  writer.int32(record.body.length);
  writer.put(record.body);
  if (v2) writer.int16(topic.length);
  else writer.int8(topic.length);
  writer.put(topic);
  writer.int16(properties.length);
  writer.put(properties);
  return writer.bytes;
}

/** Throws `ArgumentError`: a length field of 16 signed bits stands before the properties. */
export function checkPropertiesLength(length: number): void {
  if (length > PROPERTIES_MAX) {
    throw new ArgumentError(`Cannot encode properties of ${length} bytes: at most ${PROPERTIES_MAX} are allowed`);
  }
}

/** The record that starts at `at`; its body is a view. Throws `FrameError` when it is broken or does not end within the bytes. */
export function decodeRecord(bytes: Uint8Array, at = 0): StoredRecord & { readonly totalSize: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const left = bytes.length - at;
  const size = left >= layout.RECORD_MIN ? view.getInt32(at) : 0;
  if (size < layout.RECORD_MIN || size > left) {
    throw new FrameError(`A record of ${size} bytes does not fit the ${left} that are left`);
  }
  const parts = layout.layoutOf(view, at, size);
  if (!parts) throw new FrameError(`A record at ${at} contradicts itself in its magic or its lengths`);
  const sysFlag = view.getInt32(at + layout.SYS_FLAG_AT);
  return {
    totalSize: size,
    topic: textAt(bytes, parts.topicAt, parts.topicLength),
    queueId: view.getInt32(at + layout.QUEUE_ID_AT),
    flag: view.getInt32(at + layout.FLAG_AT),
    queueOffset: view.getBigInt64(at + layout.QUEUE_OFFSET_AT),
    physicalOffset: view.getBigInt64(at + layout.PHYSICAL_OFFSET_AT),
    sysFlag,
    bornTimestamp: Number(view.getBigInt64(at + layout.BORN_TIMESTAMP_AT)),
    bornHost: hostText(bytes, at + layout.BORN_HOST_AT, (sysFlag & BORN_HOST_V6) !== 0),
    storeTimestamp: Number(view.getBigInt64(parts.storeTimestampAt)),
    storeHost: hostText(bytes, parts.storeHostAt, (sysFlag & STORE_HOST_V6) !== 0),
    reconsumeTimes: view.getInt32(parts.reconsumeTimesAt),
    preparedTransactionOffset: view.getBigInt64(parts.reconsumeTimesAt + 4),
    bodyCRC: view.getInt32(at + layout.BODY_CRC_AT),
    body: bytes.subarray(parts.bodyAt, parts.bodyAt + parts.bodyLength),
    properties: textAt(bytes, parts.propertiesAt, parts.propertiesLength),
  };
}

/** The id that says where the record lies. */
export function offsetMsgIdOf(record: Pick<StoredRecord, "storeHost" | "physicalOffset">): string {
  const { ip, port } = parseHost(record.storeHost);
  return createOffsetMsgId(ip, port, record.physicalOffset);
}

const textAt = (bytes: Uint8Array, at: number, length: number): string => decodeText(bytes.subarray(at, at + length));

/** Big-endian, one field behind the other. */
class Writer {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.#view = new DataView(this.bytes.buffer);
  }

  int8(value: number): void {
    this.#view.setInt8(this.#at, value);
    this.#at += 1;
  }

  int16(value: number): void {
    this.#view.setInt16(this.#at, value);
    this.#at += 2;
  }

  int32(value: number): void {
    this.#view.setInt32(this.#at, value);
    this.#at += 4;
  }

  int64(value: bigint): void {
    this.#view.setBigInt64(this.#at, value);
    this.#at += 8;
  }

  /** 64 bits from a number below 2^53. */
  time(value: number): void {
    this.#view.setInt32(this.#at, Math.floor(value / 0x100000000));
    this.#view.setInt32(this.#at + 4, value % 0x100000000);
    this.#at += 8;
  }

  put(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }
}
