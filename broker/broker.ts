import { RequestCode, ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand } from "../client/protocol/command.ts";
import { decodeConsumerListRequest, encodeConsumerList } from "../client/protocol/consumer_list.ts";
import { decodeHeartbeat } from "../client/protocol/heartbeat.ts";
import { isRetryTopic, retryTopic } from "../client/protocol/names.ts";
import { decodeUnregister } from "../client/protocol/unregister.ts";
import { type Answer, type Caller, Refusal, success } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";
import { pull } from "./pull.ts";
import { send } from "./send.ts";
import { sendBack } from "./send_back.ts";

/** What one broker answers. Throws `Refusal`, or `FrameError` for a header that lacks what it must have. */
export function brokerHandler(
  state: BrokerState,
  isVip: boolean,
): (request: RemotingCommand, caller: Caller) => Answer {
  return (request, caller) => {
    switch (request.code) {
      case RequestCode.SEND_MESSAGE:
      case RequestCode.SEND_MESSAGE_V2:
      case RequestCode.SEND_BATCH_MESSAGE:
        return send(state, request, caller);
      case RequestCode.PULL_MESSAGE:
      case RequestCode.LITE_PULL_MESSAGE:
        return isVip ? unsupported(request) : pull(state, request, caller);
      case RequestCode.QUERY_CONSUMER_OFFSET:
        return state.offsets.query(request);
      case RequestCode.UPDATE_CONSUMER_OFFSET:
        return state.offsets.update(request);
      case RequestCode.SEARCH_OFFSET_BY_TIMESTAMP:
        return state.offsets.search(request);
      case RequestCode.GET_MAX_OFFSET:
        return state.offsets.max(request);
      case RequestCode.GET_MIN_OFFSET:
        return state.offsets.min(request);
      case RequestCode.HEART_BEAT:
        return heartbeat(state, request, caller);
      case RequestCode.UNREGISTER_CLIENT:
        return unregister(state, request);
      case RequestCode.CONSUMER_SEND_MSG_BACK:
        return sendBack(state, request);
      case RequestCode.GET_CONSUMER_LIST_BY_GROUP:
        return consumerList(state, request);
      default:
        return unsupported(request);
    }
  };
}

function heartbeat(state: BrokerState, { body }: RemotingCommand, caller: Caller): Answer {
  const data = decodeHeartbeat(body);
  for (const { groupName, messageModel, subscriptionDataSet } of data.consumerDataSet) {
    if (messageModel !== "BROADCASTING") state.topics.ensure(retryTopic(groupName));
    for (const { topic } of subscriptionDataSet) if (isRetryTopic(topic)) state.topics.ensure(topic);
  }
  state.groups.heartbeat(caller, data);
  return success();
}

function unregister(state: BrokerState, { extFields }: RemotingCommand): Answer {
  const { clientID, consumerGroup } = decodeUnregister(extFields);
  if (consumerGroup) state.groups.leave(consumerGroup, clientID);
  return success();
}

function consumerList(state: BrokerState, { extFields }: RemotingCommand): Answer {
  const { consumerGroup } = decodeConsumerListRequest(extFields);
  const members = state.groups.members(consumerGroup);
  if (members.length === 0) {
    throw new Refusal(ResponseCode.SYSTEM_ERROR, `no consumer for this group, ${consumerGroup}`);
  }
  return success({}, encodeConsumerList(members));
}

const unsupported = ({ code }: RemotingCommand): Answer => ({
  code: ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
  remark: `request type ${code} not supported`,
});
