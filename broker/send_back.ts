import { ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand } from "../client/protocol/command.ts";
import { dlqTopic, retryTopic } from "../client/protocol/names.ts";
import { decodeProperties } from "../client/protocol/properties.ts";
import * as names from "../client/protocol/property_names.ts";
import { offsetMsgIdOf } from "../client/protocol/record.ts";
import { decodeSendBack } from "../client/protocol/send_back.ts";
import { type Answer, Refusal, success } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";
import { RECONSUME_MAX } from "./send.ts";

/** The first retry has this level, each further one the next. */
const FIRST_LEVEL = 3;

/** The delay of a retry: what the consumer asked for, or as often as the message was retried. */
export const retryLevel = (given: number, reconsumeTimes: number): number =>
  given > 0 ? given : FIRST_LEVEL + reconsumeTimes;

/** CONSUMER_SEND_MSG_BACK (`AbstractSendMessageProcessor#consumerSendMsgBack`). */
export function sendBack(state: BrokerState, { extFields }: RemotingCommand): Answer {
  const back = decodeSendBack(extFields);
  if (!state.groups.meet(back.group)) {
    throw new Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, `subscription group not exist, ${back.group}`);
  }
  const record = state.messages.recordAt(Number(back.offset));
  if (!record) throw new Refusal(ResponseCode.SYSTEM_ERROR, `look message by offset failed, ${back.offset}`);
  const isDead = back.delayLevel < 0 || record.reconsumeTimes >= (back.maxReconsumeTimes ?? RECONSUME_MAX);
  const level = retryLevel(back.delayLevel, record.reconsumeTimes);
  const properties = decodeProperties(record.properties);
  properties[names.RETRY_TOPIC] ??= record.topic;
  properties[names.ORIGIN_MESSAGE_ID] ??= offsetMsgIdOf(record);
  properties[names.WAIT] = "false";
  properties[names.DELAY] = String(isDead ? 0 : level);
  const topic = isDead ? dlqTopic(back.group) : retryTopic(back.group);
  const { writeQueueNums } = state.topics.ensure(topic);
  state.store({
    ...record,
    topic,
    queueId: Math.floor(Math.random() * writeQueueNums),
    reconsumeTimes: record.reconsumeTimes + 1,
    properties,
  });
  return success();
}
