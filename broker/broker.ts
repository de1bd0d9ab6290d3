import { RequestCode } from "../client/protocol/codes.ts";
import type { Frame } from "../client/core.ts";
import { type Caller, type Handler, unsupported } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";
import { checkClientConfig, consumerList, heartbeat, unregister } from "./clients.ts";
import { HotSend } from "./hot_send.ts";
import { pull } from "./pull.ts";
import { send } from "./send.ts";
import { sendBack } from "./send_back.ts";

/** What one port of a broker does. */
export interface Service {
  /** Throws `Refusal`, or `FrameError` for a header that lacks what it must have. */
  readonly handler: Handler;
  /** Takes a lent frame without making a command of it; false when it does not. */
  readonly hot?: (frame: Frame, caller: Caller) => boolean;
  /** A connection has ended. */
  readonly disconnected: (caller: Caller) => void;
}

/** A broker's two ports: they differ in one thing, the VIP port has no pulls. */
export function brokerService(state: BrokerState, isVip: boolean): Service {
  const hot = new HotSend(state);
  return {
    handler: handlerOf(state, isVip),
    hot: (frame, caller) => hot.take(frame, caller),
    disconnected(caller) {
      state.groups.disconnected(caller);
      state.held.disconnected(caller);
    },
  };
}

function handlerOf(state: BrokerState, isVip: boolean): Handler {
  const { offsets } = state;
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
        return offsets.query(request);
      case RequestCode.UPDATE_CONSUMER_OFFSET:
        return offsets.update(request);
      case RequestCode.SEARCH_OFFSET_BY_TIMESTAMP:
        return offsets.search(request);
      case RequestCode.GET_MAX_OFFSET:
        return offsets.max(request);
      case RequestCode.GET_MIN_OFFSET:
        return offsets.min(request);
      case RequestCode.GET_EARLIEST_MSG_STORETIME:
        return offsets.earliest(request);
      case RequestCode.HEART_BEAT:
        return heartbeat(state, request, caller);
      case RequestCode.UNREGISTER_CLIENT:
        return unregister(state, request, caller);
      case RequestCode.CONSUMER_SEND_MSG_BACK:
        return sendBack(state, request);
      case RequestCode.GET_CONSUMER_LIST_BY_GROUP:
        return consumerList(state, request);
      case RequestCode.CHECK_CLIENT_CONFIG:
        return checkClientConfig(request);
      default:
        return unsupported(request);
    }
  };
}
