import { ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand } from "../client/protocol/command.ts";
import { dlqTopic, retryTopic } from "../client/protocol/names.ts";
import { decodeProperties } from "../client/protocol/properties.ts";
import * as names from "../client/protocol/property_names.ts";
import { decodeRecord, offsetMsgIdOf } from "../client/protocol/record.ts";
import { decodeSendBack } from "../client/protocol/send_back.ts";
import { type Answer, Refusal, success } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";
import { RECONSUME_MAX } from "./send.ts";

/** The first retry has this level, each further one the next. */
const FIRST_LEVEL = 3;

/** CONSUMER_SEND_MSG_BACK (`AbstractSendMessageProcessor#consumerSendMsgBack`). */
export function sendBack(state: BrokerState, { extFields }: RemotingCommand): Answer {
  const back = decodeSendBack(extFields);
  state.groups.meet(back.group);
  const bytes = state.messages.recordAt(Number(back.offset));
  if (!bytes) throw new Refusal(ResponseCode.SYSTEM_ERROR, `look message by offset failed, ${back.offset}`);
  const record = decodeRecord(bytes);
  const properties = decodeProperties(record.properties);
  properties[names.RETRY_TOPIC] ??= record.topic;
  properties[names.ORIGIN_MESSAGE_ID] ??= offsetMsgIdOf(record);
  properties[names.WAIT] = "false";
  const isDead = back.delayLevel < 0 || record.reconsumeTimes >= (back.maxReconsumeTimes ?? RECONSUME_MAX);
  if (isDead) delete properties[names.DELAY];
  else properties[names.DELAY] = String(back.delayLevel > 0 ? back.delayLevel : FIRST_LEVEL + record.reconsumeTimes);
  const topic = isDead ? dlqTopic(back.group) : retryTopic(back.group);
  const { writeQueueNums } = state.topics.ensure(topic);
  state.store({
    topic,
    queueId: Math.floor(Math.random() * writeQueueNums),
    flag: record.flag,
    sysFlag: record.sysFlag,
    bornTimestamp: record.bornTimestamp,
    bornHost: record.bornHost,
    reconsumeTimes: record.reconsumeTimes + 1,
    body: record.body,
    properties,
  });
  return success();
}
