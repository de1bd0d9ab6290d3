import { ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand } from "../client/protocol/command.ts";
import { decodeConsumerListRequest, encodeConsumerList } from "../client/protocol/consumer_list.ts";
import { decodeHeartbeat } from "../client/protocol/heartbeat.ts";
import { parseJson } from "../client/protocol/json.ts";
import { objectOf } from "../client/protocol/json_access.ts";
import { isRetryTopic, retryTopic } from "../client/protocol/names.ts";
import { readSubscription } from "../client/protocol/subscription.ts";
import { decodeText } from "../client/protocol/text.ts";
import { decodeUnregister } from "../client/protocol/unregister.ts";
import { type Answer, type Caller, Refusal, success } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";
import { groupProblem } from "./name_check.ts";
import { checkType } from "./pull.ts";

/** HEART_BEAT (`ClientManageProcessor`). A group's retry topic comes into being with its first member. */
export function heartbeat(state: BrokerState, { body }: RemotingCommand, caller: Caller): Answer {
  const data = decodeHeartbeat(body);
  for (const { groupName, messageModel, subscriptionDataSet } of data.consumerDataSet) {
    if (groupProblem(groupName)) continue;
    if (messageModel !== "BROADCASTING") state.topics.ensure(retryTopic(groupName));
    for (const { topic } of subscriptionDataSet) if (isRetryTopic(topic)) state.topics.ensure(topic);
  }
  const isChanged = state.groups.heartbeat(caller, data);
  // As Java: a heartbeat of the first kind always counts as a change.
  const isFirstKind = (data.heartbeatFingerprint ?? 0) === 0;
  return success({ IS_SUPPORT_HEART_BEAT_V2: "true", IS_SUB_CHANGE: String(isFirstKind || isChanged) });
}

/** UNREGISTER_CLIENT. */
export function unregister(state: BrokerState, { extFields }: RemotingCommand, caller: Caller): Answer {
  const { clientID, consumerGroup } = decodeUnregister(extFields);
  if (consumerGroup) state.groups.leave(consumerGroup, clientID, caller);
  return success();
}

/** GET_CONSUMER_LIST_BY_GROUP. */
export function consumerList(state: BrokerState, { extFields }: RemotingCommand): Answer {
  const { consumerGroup } = decodeConsumerListRequest(extFields);
  const members = state.groups.members(consumerGroup);
  if (members.length === 0) {
    throw new Refusal(ResponseCode.SYSTEM_ERROR, `no consumer for this group, ${consumerGroup}`);
  }
  return success({}, encodeConsumerList(members));
}

/** CHECK_CLIENT_CONFIG: clients ask before they filter by anything but tags. */
export function checkClientConfig({ body }: RemotingCommand): Answer {
  checkType(readSubscription(objectOf(parseJson(decodeText(body)), "body").get("subscriptionData")));
  return success();
}
