import type { Frame } from "../client/core.ts";
import { RequestCode, RESPONSE_FLAG } from "../client/protocol/codes.ts";
import { isRead } from "../client/protocol/command.ts";
import { parseHost } from "../client/protocol/hosts.ts";
import { createOffsetMsgId } from "../client/protocol/ids.ts";
import { encodeProperties, PROPERTIES_MAX } from "../client/protocol/properties.ts";
import * as layout from "../client/protocol/record_layout.ts";
import * as flags from "../client/protocol/sys_flag.ts";
import { decodeAscii, decodeText, EMPTY, encodeText } from "../client/protocol/text.ts";
import { type Caller, hostBytes } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";
import { PropertiesCopy } from "./properties_copy.ts";
import { CLUSTER, mayBeSentTo, MESSAGE_MAX, SEND_FIELDS } from "./send.ts";
import { SendHeader } from "./send_header.ts";
import type { TopicConfig } from "./topics.ts";

/**
 * The way of nearly all messages: SEND_MESSAGE_V2 of a plain message to a topic that exists goes from the lent frame into the
 * commit log, byte by byte, and its answer is a header program. Whatever is not plain goes the ordinary way (`send`), which
 * stores the same record.
 */
export class HotSend {
  readonly #state: BrokerState;
  readonly #header = new SendHeader();
  readonly #copy = new PropertiesCopy();
  readonly #storeHost: Uint8Array;
  /** Properties that the broker adds to each message. */
  readonly #added: Uint8Array;
  /** Offset ids but for their last 16 digits. */
  readonly #idStart: string;
  /** The topic of the last message: the next one mostly has the same. */
  #topic = "";
  #topicBytes: Uint8Array = EMPTY;

  constructor(state: BrokerState) {
    this.#state = state;
    const { ip, port } = parseHost(state.addr);
    this.#storeHost = hostBytes(state.addr);
    this.#idStart = createOffsetMsgId(ip, port, 0n).slice(0, -16);
    this.#added = encodeText(encodeProperties({ ...SEND_FIELDS, [CLUSTER]: state.clusterName }));
  }

  /** True when the message has been stored and answered; false: nothing has happened yet. */
  take(frame: Frame, caller: Caller): boolean {
    if (frame.code !== RequestCode.SEND_MESSAGE_V2 || !isRead(frame) || (frame.flag & RESPONSE_FLAG) !== 0) {
      return false;
    }
    const header = this.#header;
    const { source, headerPtr, headerLength, bodyLength } = frame;
    if (!header.read(source, headerPtr, headerLength, frame.serializeType === 1)) return false;
    if (bodyLength === 0 || bodyLength > MESSAGE_MAX || !isPlain(header)) return false;
    const config = this.#topicOf(source), queueId = header.number(QUEUE_ID);
    if (!config || queueId >= Math.max(config.readQueueNums, config.writeQueueNums)) return false;
    return this.#store(frame, caller, queueId);
  }

  /** A topic that exists and may be sent to like any other. */
  #topicOf(source: Uint8Array): TopicConfig | undefined {
    const at = this.#header.at[TOPIC]!, length = this.#header.length[TOPIC]!;
    if (!isSame(source, at, length, this.#topicBytes)) {
      const topic = decodeText(source.subarray(at, at + length));
      // Retry and dead letter topics begin with a percent sign and have rules of their own.
      if (length > TOPIC_V1_MAX || topic.startsWith("%") || !mayBeSentTo(topic)) return undefined;
      this.#topicBytes = encodeText(topic);
      this.#topic = topic;
    }
    return this.#state.topics.get(this.#topic);
  }

  #store(frame: Frame, caller: Caller, queueId: number): boolean {
    const header = this.#header, copy = this.#copy, topic = this.#topicBytes, added = this.#added;
    const { messages, host, crc32, answers } = this.#state;
    const { log } = messages;
    const { source, bodyLength } = frame;
    const bornHost = caller.hostBytes, storeHost = this.#storeHost;
    const propertiesMax = Math.max(0, header.length[PROPERTIES]!) + 1 + added.length;
    if (propertiesMax > PROPERTIES_MAX) return false;
    const bodyAt = layout.RECORD_MIN - 8 - BEHIND_BODY + bornHost.length - 8 + storeHost.length;
    const topicAt = bodyAt + bodyLength + 1, propertiesAt = topicAt + topic.length + 2;
    const position = log.open(propertiesAt + propertiesMax);
    const { bytes, view, at } = log;
    if (!this.#copyProperties(source, bytes, at + propertiesAt)) return false;
    bytes.set(added, at + propertiesAt + copy.length);
    const propertiesLength = copy.length + added.length, size = propertiesAt + propertiesLength;
    const body = source.subarray(frame.bodyPtr, frame.bodyPtr + bodyLength);
    const queue = messages.queue(this.#topic, queueId);
    const now = host.clock.now(), hosts = hostFlags(bornHost, storeHost);
    view.setInt32(at, size);
    view.setInt32(at + layout.MAGIC_AT, layout.MAGIC_V1);
    view.setInt32(at + layout.BODY_CRC_AT, crc32(body) & 0x7fffffff);
    view.setInt32(at + layout.QUEUE_ID_AT, queueId);
    view.setInt32(at + layout.FLAG_AT, header.number(FLAG));
    setInt64(view, at + layout.QUEUE_OFFSET_AT, queue.max);
    setInt64(view, at + layout.PHYSICAL_OFFSET_AT, position);
    view.setInt32(at + layout.SYS_FLAG_AT, header.number(SYS_FLAG) | hosts);
    setInt64(view, at + layout.BORN_TIMESTAMP_AT, header.number(BORN_TIMESTAMP));
    bytes.set(bornHost, at + layout.BORN_HOST_AT);
    const storedAt = at + layout.BORN_HOST_AT + bornHost.length;
    setInt64(view, storedAt, now);
    bytes.set(storeHost, storedAt + 8);
    // reconsumeTimes and preparedTransactionOffset
    bytes.fill(0, storedAt + 8 + storeHost.length, at + bodyAt - 4);
    view.setInt32(at + bodyAt - 4, bodyLength);
    bytes.set(body, at + bodyAt);
    bytes[at + topicAt - 1] = topic.length;
    bytes.set(topic, at + topicAt);
    view.setInt16(at + propertiesAt - 2, propertiesLength);
    const queueOffset = messages.append(queue, position, size, copy.tagHash, now);
    const uniqKey = decodeAscii(bytes, copy.uniqKeyAt, copy.uniqKeyLength);
    const { opaque, flag } = frame, serializeType = frame.serializeType === 1 ? "ROCKETMQ" : "JSON";
    const msgId = this.#idStart + hex64(position);
    caller.answer({ opaque, flag, serializeType }, answers.sent(serializeType, queueId, msgId, queueOffset, uniqKey));
    return true;
  }

  #copyProperties(source: Uint8Array, to: Uint8Array, toAt: number): boolean {
    const header = this.#header, length = header.length[PROPERTIES]!;
    const isEscaped = (header.escaped & (1 << PROPERTIES)) !== 0;
    return length > 0 && this.#copy.copy(source, header.at[PROPERTIES]!, length, isEscaped, to, toAt) &&
      this.#copy.uniqKeyLength > 0;
  }
}

// Letters of SEND_MESSAGE_V2, counted from "a".
const PRODUCER_GROUP = 0, TOPIC = 1, DEFAULT_TOPIC = 2, DEFAULT_QUEUES = 3, QUEUE_ID = 4, SYS_FLAG = 5;
const BORN_TIMESTAMP = 6, FLAG = 7, PROPERTIES = 8, RECONSUME_TIMES = 9, MAX_RECONSUME_TIMES = 11, BATCH = 12;

/** Bytes of the smallest record behind its body: lengths of topic and properties. */
const BEHIND_BODY = 3;
const TOPIC_V1_MAX = 127;
const PLAIN_SYS_FLAG = flags.COMPRESSED | flags.MULTI_TAGS | flags.COMPRESSION_MASK;

/** All that must be there is there and is right, and nothing says more than a plain message says. */
function isPlain(header: SendHeader): boolean {
  const { length } = header;
  if (length[PRODUCER_GROUP]! <= 0 || length[TOPIC]! <= 0 || length[DEFAULT_TOPIC]! <= 0) return false;
  if ((header.escaped & (1 << TOPIC)) !== 0 || length[MAX_RECONSUME_TIMES]! > 0) return false;
  if (length[RECONSUME_TIMES]! > 0 && header.number(RECONSUME_TIMES) !== 0) return false;
  // "true" has four letters; everything else is false.
  if (length[BATCH] === 4) return false;
  const sysFlag = header.number(SYS_FLAG);
  return isInt32(header.number(DEFAULT_QUEUES)) && isInt32(header.number(FLAG)) && header.number(QUEUE_ID) >= 0 &&
    header.number(BORN_TIMESTAMP) >= 0 && isInt32(sysFlag) && (sysFlag & ~PLAIN_SYS_FLAG) === 0;
}

const isInt32 = (number: number): boolean => number === (number | 0);

function isSame(bytes: Uint8Array, at: number, length: number, other: Uint8Array): boolean {
  if (length !== other.length) return false;
  for (let i = 0; i < length; i++) if (bytes[at + i] !== other[i]) return false;
  return true;
}

/** A whole number below 2^53. */
function setInt64(view: DataView, at: number, value: number): void {
  view.setInt32(at, Math.floor(value / 0x100000000));
  view.setUint32(at + 4, value % 0x100000000);
}

const hostFlags = (bornHost: Uint8Array, storeHost: Uint8Array): number =>
  (bornHost.length > 8 ? flags.BORN_HOST_V6 : 0) | (storeHost.length > 8 ? flags.STORE_HOST_V6 : 0);

const HEX: readonly string[] = Array.from(
  { length: 0x100 },
  (_, byte) => byte.toString(16).toUpperCase().padStart(2, "0"),
);

const hex32 = (value: number): string =>
  HEX[value >>> 24]! + HEX[(value >>> 16) & 0xff]! + HEX[(value >>> 8) & 0xff]! + HEX[value & 0xff]!;

const hex64 = (value: number): string => hex32(Math.floor(value / 0x100000000)) + hex32(value % 0x100000000);
