import { ArgumentError } from "../client/errors.ts";
import { RequestCode, ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand } from "../client/protocol/command.ts";
import { decodeBatch } from "../client/protocol/batch.ts";
import { createOffsetMsgId } from "../client/protocol/ids.ts";
import { parseHost } from "../client/protocol/hosts.ts";
import { checkSendTopic, dlqTopic, isRetryTopic, RETRY_PREFIX } from "../client/protocol/names.ts";
import { decodeProperties, PROPERTIES_MAX } from "../client/protocol/properties.ts";
import * as names from "../client/protocol/property_names.ts";
import { decodeSendRequest, encodeSendAnswer } from "../client/protocol/send.ts";
import { TRANSACTION_MASK } from "../client/protocol/sys_flag.ts";
import { textLength } from "../client/protocol/text.ts";
import { type Answer, type Caller, Refusal, success } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";
import type { NewMessage, StoredAt } from "./message_store.ts";
import type { TopicConfig } from "./topics.ts";

/** Largest body a broker stores (`maxMessageSize`). */
export const MESSAGE_MAX = 4_194_304;
/** After so many failures a message goes to the dead letter queue, unless the group says otherwise. */
export const RECONSUME_MAX = 16;

/** Every answer to a send has these, also one that refuses it. */
export const SEND_FIELDS: Readonly<Record<string, string>> = { MSG_REGION: "DefaultRegion", TRACE_ON: "true" };

/** SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE (`SendMessageProcessor`). */
export function send(state: BrokerState, request: RemotingCommand, caller: Caller): Answer {
  try {
    return store(state, request, caller);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { code: error.responseCode, remark: error.message, extFields: SEND_FIELDS };
  }
}

function store(state: BrokerState, { code, extFields, body }: RemotingCommand, caller: Caller): Answer {
  const header = decodeSendRequest(extFields, code);
  if (!mayBeSentTo(header.topic)) {
    throw new Refusal(ResponseCode.NO_PERMISSION, `Sending message to topic[${header.topic}] is forbidden.`);
  }
  const config = state.topics.toSend(header.topic, header.defaultTopic, header.defaultTopicQueueNums);
  const message: NewMessage = {
    topic: header.topic,
    queueId: queueOf(config, header.queueId),
    flag: header.flag,
    sysFlag: header.sysFlag,
    bornTimestamp: header.bornTimestamp,
    bornHost: caller.addr,
    reconsumeTimes: header.reconsumeTimes,
    body,
    properties: decodeProperties(header.properties),
  };
  checkSize(body, header.properties);
  if ((header.sysFlag & TRANSACTION_MASK) !== 0 || message.properties[names.TRANSACTION_PREPARED] === "true") {
    throw new Refusal(ResponseCode.NO_PERMISSION, `the broker[${state.addr}] sending transaction message is forbidden`);
  }
  if (code === RequestCode.SEND_BATCH_MESSAGE || header.batch) return storeBatch(state, message);
  const complete = completed(state, retried(state, message, header.maxReconsumeTimes));
  return answerOf(state, complete.queueId, [state.store(complete)], complete.properties[names.UNIQ_KEY]!);
}

/** Whether a topic belongs to its users, and not to brokers. */
export function mayBeSentTo(topic: string): boolean {
  try {
    checkSendTopic(topic);
    return true;
  } catch (error) {
    if (error instanceof ArgumentError) return false;
    throw error;
  }
}

/** Below zero the broker chooses. */
function queueOf({ topic, readQueueNums, writeQueueNums }: TopicConfig, queueId: number): number {
  if (queueId < 0) return Math.floor(Math.random() * writeQueueNums);
  if (queueId < Math.max(readQueueNums, writeQueueNums)) return queueId;
  throw new Refusal(
    ResponseCode.INVALID_PARAMETER,
    `request queueId[${queueId}] is illegal, topic[${topic}] has ${writeQueueNums} queues`,
  );
}

function checkSize(body: Uint8Array, properties: string): void {
  if (body.length === 0) throw new Refusal(ResponseCode.MESSAGE_ILLEGAL, "the message has no body");
  if (body.length > MESSAGE_MAX || textLength(properties) > PROPERTIES_MAX) throw tooLong();
}

const tooLong = (): Refusal =>
  new Refusal(
    ResponseCode.MESSAGE_ILLEGAL,
    "the message is illegal, maybe msg body or properties length not matched. " +
      `msg body length limit ${MESSAGE_MAX}B, msg properties length limit 32KB.`,
  );

/** One record for each element, with queue offsets that follow each other. What is wrong with one is found before any is stored. */
function storeBatch(state: BrokerState, batch: NewMessage): Answer {
  const messages = decodeBatch(batch.body).map(({ flag, body, properties }) => {
    checkSize(body, properties);
    return completed(state, { ...batch, flag, body, properties: decodeProperties(properties) });
  });
  const places = messages.map((message) => state.messages.put(message));
  return answerOf(state, batch.queueId, places, batch.properties[names.UNIQ_KEY] ?? "");
}

/** With what the broker adds. */
function completed(state: BrokerState, message: NewMessage): NewMessage {
  const { properties } = message;
  delete properties[POP_CK];
  if (!properties[names.DELAY] && Object.keys(properties).some((name) => TIMER.has(name))) {
    throw new Refusal(
      ResponseCode.SYSTEM_ERROR,
      "accurate timer message is not enabled, timerWheelEnable is false",
    );
  }
  properties[names.UNIQ_KEY] ??= state.nextUniqKey();
  properties[names.MSG_REGION] = SEND_FIELDS["MSG_REGION"]!;
  properties[names.TRACE_ON] = SEND_FIELDS["TRACE_ON"]!;
  properties[CLUSTER] = state.clusterName;
  let length = 0;
  for (const name in properties) length += textLength(name) + textLength(properties[name]!) + 2;
  if (length > PROPERTIES_MAX) throw tooLong();
  return message;
}

export const CLUSTER = "CLUSTER";
/** Of a message that was popped: it means nothing in a new one. */
export const POP_CK = "POP_CK";
/** Each of them asks for delivery at a certain time, which this broker cannot do. */
const TIMER: ReadonlySet<string> = new Set(["TIMER_DELIVER_MS", "TIMER_DELAY_SEC", "TIMER_DELAY_MS"]);

/** A message sent to a retry topic that has failed too often goes to the dead letter queue. */
function retried(state: BrokerState, message: NewMessage, maxReconsumeTimes = RECONSUME_MAX): NewMessage {
  if (!isRetryTopic(message.topic)) return message;
  const group = message.topic.slice(RETRY_PREFIX.length);
  if (!state.groups.meet(group)) {
    throw new Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, `subscription group not exist, ${group}`);
  }
  if (message.reconsumeTimes <= maxReconsumeTimes) return message;
  const topic = dlqTopic(group);
  state.topics.ensure(topic);
  return { ...message, topic, queueId: 0, properties: { ...message.properties, [names.DELAY]: "0" } };
}

function answerOf(state: BrokerState, queueId: number, places: readonly StoredAt[], uniqKey: string): Answer {
  const { ip, port } = parseHost(state.addr);
  const msgId = places.map(({ position }) => createOffsetMsgId(ip, port, BigInt(position))).join(",");
  const queueOffset = BigInt(places[0]?.queueOffset ?? 0);
  return success(encodeSendAnswer({ msgId, queueId, queueOffset, ...(uniqKey && { transactionId: uniqKey }) }));
}
