import { FIELD_A, FIELD_B, FIELD_READ, FIELD_TEXT } from "../../core-as/abi.ts";
import type { Frame, Step } from "../core.ts";
import { RequestCode } from "./codes.ts";
import type { Request, SerializeType } from "./command.ts";
import {
  type ExtFields,
  optionalBoolean,
  optionalInt,
  optionalText,
  requireInt,
  requireLong,
  requireSafe,
  requireText,
} from "./fields.ts";
import { readHeader } from "./header.ts";
import { ARGUMENT, BORN_TIMESTAMP, type Part, requestProgram, TEXT_ARGUMENT, UNIQUE_ID, VALUE } from "./program.ts";
import { NAME_VALUE, PROPERTY } from "./properties.ts";
import { UNIQ_KEY } from "./property_names.ts";
import { decodeAscii } from "./text.ts";

/** What stays the same from send to send: one header program each. */
export interface SendTarget {
  readonly producerGroup: string;
  readonly topic: string;
  readonly brokerName: string;
  /** The topic that a new one is created from. */
  readonly defaultTopic: string;
  readonly defaultTopicQueueNums: number;
}

/** What differs from send to send. */
export interface SendFields {
  /** Below zero: the broker picks one. */
  readonly queueId: number;
  readonly sysFlag: number;
  /** Milliseconds. */
  readonly bornTimestamp: number;
  /** The user's own number. */
  readonly flag: number;
  /** As `encodeProperties` wrote them. */
  readonly properties: string;
  readonly reconsumeTimes: number;
  readonly unitMode: boolean;
  /** Only for sends to a retry topic. */
  readonly maxReconsumeTimes?: number | undefined;
  readonly batch: boolean;
}

/** What many messages have in common: constant properties, and the names of those whose values differ. */
export interface SendKind {
  /** Properties that are part of the literals, as `encodeProperties` wrote them. */
  readonly constants: string;
  /** Properties whose values are arguments. */
  readonly names: readonly string[];
  /** Whether sysFlag is an argument, the first one; it is 0 otherwise. */
  readonly isFlagged: boolean;
}

/**
 * SEND_MESSAGE_V2 of one kind of message. The value is the queue id, the arguments are sysFlag, if it is flagged, and the
 * values in the order of the names; the born timestamp is the core's time, UNIQ_KEY is `idPrefix` and what the core adds.
 * What such a message does not have (flag, retries, batch) needs `sendRequest`.
 */
export const sendProgram = (
  to: SendTarget,
  kind: SendKind,
  idPrefix: string,
  serializeType: SerializeType,
): readonly Step[] =>
  requestProgram(RequestCode.SEND_MESSAGE_V2, [
    ["a", to.producerGroup],
    ["b", to.topic],
    ["c", to.defaultTopic],
    ["d", String(to.defaultTopicQueueNums)],
    ["e", VALUE],
    ["f", kind.isFlagged ? ARGUMENT : "0"],
    ["g", BORN_TIMESTAMP],
    ["h", "0"],
    ["i", propertiesValue(kind, idPrefix)],
    ["j", "0"],
    ["k", "false"],
    ["m", "false"],
    ["n", to.brokerName],
  ], serializeType);

function propertiesValue({ constants, names }: SendKind, idPrefix: string): readonly (string | Part)[] {
  const parts: (string | Part)[] = [`${UNIQ_KEY}${NAME_VALUE}${idPrefix}`, UNIQUE_ID];
  let literal = PROPERTY + constants;
  for (const name of names) {
    parts.push(`${literal}${name}${NAME_VALUE}`, TEXT_ARGUMENT);
    literal = PROPERTY;
  }
  return [...parts, literal];
}

type SendCode =
  | typeof RequestCode.SEND_MESSAGE
  | typeof RequestCode.SEND_MESSAGE_V2
  | typeof RequestCode.SEND_BATCH_MESSAGE;

/** Field names of SEND_MESSAGE, and the letters that stand for them in the other sends. */
const LETTERS: Readonly<Record<string, string>> = {
  producerGroup: "a",
  topic: "b",
  defaultTopic: "c",
  defaultTopicQueueNums: "d",
  queueId: "e",
  sysFlag: "f",
  bornTimestamp: "g",
  flag: "h",
  properties: "i",
  reconsumeTimes: "j",
  unitMode: "k",
  maxReconsumeTimes: "l",
  batch: "m",
  bname: "n",
};

/** Any send, field by field. A batch uses SEND_BATCH_MESSAGE. */
export function sendRequest(
  to: SendTarget,
  fields: SendFields,
  body: Uint8Array,
  code: SendCode = fields.batch ? RequestCode.SEND_BATCH_MESSAGE : RequestCode.SEND_MESSAGE_V2,
): Request {
  const named: Record<string, string> = {
    producerGroup: to.producerGroup,
    topic: to.topic,
    defaultTopic: to.defaultTopic,
    defaultTopicQueueNums: String(to.defaultTopicQueueNums),
    queueId: String(fields.queueId),
    sysFlag: String(fields.sysFlag),
    bornTimestamp: String(fields.bornTimestamp),
    flag: String(fields.flag),
    properties: fields.properties,
    reconsumeTimes: String(fields.reconsumeTimes),
    unitMode: String(fields.unitMode),
    batch: String(fields.batch),
    ...(fields.maxReconsumeTimes === undefined ? {} : { maxReconsumeTimes: String(fields.maxReconsumeTimes) }),
    ...(to.brokerName && { bname: to.brokerName }),
  };
  if (code === RequestCode.SEND_MESSAGE) return { code, extFields: named, body };
  const lettered: Record<string, string> = {};
  for (const name in named) lettered[LETTERS[name]!] = named[name]!;
  return { code, extFields: lettered, body };
}

/** The header of a send as a broker reads it. Throws `FrameError` when a field is missing that every client sends. */
export function decodeSendRequest(fields: ExtFields, code: number): SendTarget & SendFields {
  const name = code === RequestCode.SEND_MESSAGE || code === RequestCode.SEND_REPLY_MESSAGE
    ? (long: string) => long
    : letterOf;
  return {
    producerGroup: requireText(fields, name("producerGroup")),
    topic: requireText(fields, name("topic")),
    brokerName: optionalText(fields, name("bname")) ?? "",
    defaultTopic: requireText(fields, name("defaultTopic")),
    defaultTopicQueueNums: requireInt(fields, name("defaultTopicQueueNums")),
    queueId: requireInt(fields, name("queueId")),
    sysFlag: requireInt(fields, name("sysFlag")),
    bornTimestamp: requireSafe(fields, name("bornTimestamp")),
    flag: requireInt(fields, name("flag")),
    properties: optionalText(fields, name("properties")) ?? "",
    reconsumeTimes: optionalInt(fields, name("reconsumeTimes"), 0),
    unitMode: optionalBoolean(fields, name("unitMode"), false),
    maxReconsumeTimes: fields[name("maxReconsumeTimes")] ? requireInt(fields, name("maxReconsumeTimes")) : undefined,
    batch: optionalBoolean(fields, name("batch"), false),
  };
}

const letterOf = (name: string): string => LETTERS[name]!;

/** A stored message's place. */
export interface SendAnswer {
  /** Offset id; of a batch those of all its messages, joined by commas. */
  readonly msgId: string;
  readonly queueId: number;
  /** Of the first message of a batch. */
  readonly queueOffset: bigint;
}

/** What a broker may say besides. */
export interface WholeSendAnswer extends SendAnswer {
  readonly transactionId?: string;
  readonly batchUniqId?: string;
  readonly recallHandle?: string;
  readonly regionId: string;
  readonly traceOn: boolean;
}

const PLACE = FIELD_READ | FIELD_A | FIELD_B | FIELD_TEXT;

/** Whether the core has read the place of a stored message: `a` is its queue offset, `b` its queue id, the text its id. */
export const hasSendAnswer = (frame: Frame): boolean => (frame.fields & PLACE) === PLACE;

/** The place from what the core has read; the header is only read when the core could not. Throws `FrameError`. */
export function readSendAnswer(frame: Frame): SendAnswer {
  if (!hasSendAnswer(frame)) return readWholeSendAnswer(frame);
  return { msgId: readOffsetMsgId(frame), queueId: frame.b, queueOffset: BigInt(frame.a) };
}

/** Of a frame whose answer the core has read. */
export const readOffsetMsgId = (frame: Frame): string => decodeAscii(frame.source, frame.textPtr, frame.textLength);

/** The whole answer of a lent frame: for transactions, timed messages and traces. */
export const readWholeSendAnswer = (frame: Frame): WholeSendAnswer =>
  decodeSendAnswer(readHeader(frame.headerBytes(), frame.serializeType).extFields);

/** From the fields of a copied answer. Throws `FrameError` when msgId, queueId or queueOffset is missing. */
export function decodeSendAnswer(fields: ExtFields): WholeSendAnswer {
  const transactionId = optionalText(fields, "transactionId");
  const batchUniqId = optionalText(fields, "batchUniqId");
  const recallHandle = optionalText(fields, "recallHandle");
  return {
    msgId: requireText(fields, "msgId"),
    queueId: requireInt(fields, "queueId"),
    queueOffset: requireLong(fields, "queueOffset"),
    ...(transactionId && { transactionId }),
    ...(batchUniqId && { batchUniqId }),
    ...(recallHandle && { recallHandle }),
    regionId: optionalText(fields, "MSG_REGION") ?? "DefaultRegion",
    traceOn: fields["TRACE_ON"] !== "false",
  };
}

/** The fields of an answer as a broker writes them. */
export const encodeSendAnswer = (answer: SendAnswer & Partial<WholeSendAnswer>): ExtFields => ({
  msgId: answer.msgId,
  queueId: String(answer.queueId),
  queueOffset: String(answer.queueOffset),
  ...(answer.transactionId && { transactionId: answer.transactionId }),
  ...(answer.batchUniqId && { batchUniqId: answer.batchUniqId }),
  ...(answer.recallHandle && { recallHandle: answer.recallHandle }),
  MSG_REGION: answer.regionId ?? "DefaultRegion",
  TRACE_ON: String(answer.traceOn ?? true),
});
