import { RequestCode, ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand } from "../client/protocol/command.ts";
import { decodeBatch } from "../client/protocol/batch.ts";
import { createOffsetMsgId } from "../client/protocol/ids.ts";
import { parseHost } from "../client/protocol/hosts.ts";
import { dlqTopic, isRetryTopic, RETRY_PREFIX } from "../client/protocol/names.ts";
import { decodeProperties } from "../client/protocol/properties.ts";
import * as names from "../client/protocol/property_names.ts";
import { decodeSendRequest, encodeSendAnswer } from "../client/protocol/send.ts";
import { textLength } from "../client/protocol/text.ts";
import { type Answer, type Caller, Refusal, success } from "./answer.ts";
import type { NewMessage, StoredAt } from "./message_store.ts";
import type { BrokerState } from "./broker_state.ts";

/** Largest body a broker stores (`maxMessageSize`). */
const MESSAGE_MAX = 4_194_304;
const PROPERTIES_MAX = 32_767;
/** After so many failures a message goes to the dead letter queue, unless the group says otherwise. */
export const RECONSUME_MAX = 16;

/** SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE (`SendMessageProcessor`). */
export function send(state: BrokerState, { code, extFields, body }: RemotingCommand, caller: Caller): Answer {
  const header = decodeSendRequest(extFields, code);
  const config = state.topics.toSend(header.topic, header.defaultTopic, header.defaultTopicQueueNums);
  const queues = Math.max(config.readQueueNums, config.writeQueueNums);
  if (header.queueId >= queues) {
    throw new Refusal(
      ResponseCode.INVALID_PARAMETER,
      `request queueId[${header.queueId}] is illegal, the topic has ${queues}`,
    );
  }
  const queueId = header.queueId < 0 ? Math.floor(Math.random() * config.writeQueueNums) : header.queueId;
  if (body.length === 0) throw new Refusal(ResponseCode.MESSAGE_ILLEGAL, "the message has no body");
  if (body.length > MESSAGE_MAX) {
    throw new Refusal(ResponseCode.MESSAGE_ILLEGAL, `the body has ${body.length} bytes, more than ${MESSAGE_MAX}`);
  }
  if (textLength(header.properties) > PROPERTIES_MAX) {
    throw new Refusal(ResponseCode.MESSAGE_ILLEGAL, `the properties have more than ${PROPERTIES_MAX} bytes`);
  }
  const message: NewMessage = {
    topic: header.topic,
    queueId,
    flag: header.flag,
    sysFlag: header.sysFlag,
    bornTimestamp: header.bornTimestamp,
    bornHost: caller.addr,
    reconsumeTimes: header.reconsumeTimes,
    body,
    properties: decodeProperties(header.properties),
  };
  if (code === RequestCode.SEND_BATCH_MESSAGE || header.batch) return sendBatch(state, message);
  const dead = deadLetter(state, message, header.maxReconsumeTimes);
  return answerOf(state, dead.queueId, [state.store(dead)]);
}

function sendBatch(state: BrokerState, batch: NewMessage): Answer {
  const places = decodeBatch(batch.body).map(({ flag, body, properties }) =>
    state.store({ ...batch, flag, body: body.slice(), properties: decodeProperties(properties) })
  );
  return answerOf(state, batch.queueId, places);
}

/** A message sent to a retry topic that has failed too often goes to the dead letter queue. */
function deadLetter(state: BrokerState, message: NewMessage, maxReconsumeTimes = RECONSUME_MAX): NewMessage {
  if (!isRetryTopic(message.topic) || message.reconsumeTimes <= maxReconsumeTimes) return message;
  const topic = dlqTopic(message.topic.slice(RETRY_PREFIX.length));
  state.topics.ensure(topic);
  delete message.properties[names.DELAY];
  return { ...message, topic, queueId: 0 };
}

function answerOf(state: BrokerState, queueId: number, places: readonly StoredAt[]): Answer {
  const { ip, port } = parseHost(state.addr);
  const msgId = places.map(({ position }) => createOffsetMsgId(ip, port, BigInt(position))).join(",");
  return success(encodeSendAnswer({ msgId, queueId, queueOffset: BigInt(places[0]?.queueOffset ?? 0) }));
}
