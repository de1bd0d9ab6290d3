import { ArgumentError } from "../client/errors.ts";
import { ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand, Request } from "../client/protocol/command.ts";
import { decodePullRequest, encodePullAnswer, type PullFields, type PullTarget } from "../client/protocol/pull.ts";
import { buildSubscription, type SubscriptionData, TAG } from "../client/protocol/subscription.ts";
import { PERM_READ, PULL_COMMIT_OFFSET, PULL_SUBSCRIPTION, PULL_SUSPEND } from "../client/protocol/sys_flag.ts";
import { type Answer, type Caller, Refusal } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";

type PullHeader = PullTarget & PullFields;

/** Most bytes of one answer, though always one message. */
const BYTES_MAX = 262_144;
const MESSAGES_MAX = 1_024;
/** Entries of a consume queue that one pull looks at: 16,000 bytes of 20, or twenty times what was asked for. */
const SCAN_MIN = 800;

/** PULL_MESSAGE and LITE_PULL_MESSAGE (`PullMessageProcessor`). */
export function pull(state: BrokerState, request: RemotingCommand, caller: Caller): Answer {
  const header = decodePullRequest(request.extFields);
  const subscription = check(state, header);
  const answer = read(state, header, subscription);
  if ((header.sysFlag & PULL_COMMIT_OFFSET) !== 0) {
    state.offsets.commit(header.consumerGroup, header.topic, header.queueId, BigInt(header.commitOffset));
  }
  if (answer.code !== ResponseCode.PULL_NOT_FOUND || (header.sysFlag & PULL_SUSPEND) === 0) return answer;
  state.held.hold(header.topic, header.queueId, {
    caller,
    codes: subscription.codeSet,
    wake: () => caller.answer(request, read(state, header, subscription)),
  }, header.suspendTimeoutMillis);
  return undefined;
}

function check(state: BrokerState, header: PullHeader): SubscriptionData {
  const { consumerGroup, topic, queueId } = header;
  state.groups.meet(consumerGroup);
  const config = state.topics.get(topic);
  if (!config) throw new Refusal(ResponseCode.TOPIC_NOT_EXIST, `topic[${topic}] not exist, apply first please!`);
  if ((config.perm & PERM_READ) === 0) {
    throw new Refusal(ResponseCode.NO_PERMISSION, `the topic[${topic}] pulling message is forbidden`);
  }
  if (queueId < 0 || queueId >= config.readQueueNums) {
    throw new Refusal(
      ResponseCode.INVALID_PARAMETER,
      `queueId[${queueId}] is illegal, topic:[${topic}] has ${config.readQueueNums} queues`,
    );
  }
  return subscriptionOf(state, header);
}

function subscriptionOf(state: BrokerState, header: PullHeader): SubscriptionData {
  const { consumerGroup, topic, subscription, expressionType, subVersion } = header;
  if ((header.sysFlag & PULL_SUBSCRIPTION) !== 0) {
    try {
      return checkType(buildSubscription(topic, subscription, subVersion, expressionType ?? TAG));
    } catch (error) {
      if (error instanceof ArgumentError) {
        throw new Refusal(ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed");
      }
      throw error;
    }
  }
  if (!state.groups.isOnline(consumerGroup)) {
    throw new Refusal(
      ResponseCode.SUBSCRIPTION_NOT_EXIST,
      `the consumer's group info not exist, group: ${consumerGroup}`,
    );
  }
  const known = state.groups.subscription(consumerGroup, topic);
  if (!known) {
    throw new Refusal(
      ResponseCode.SUBSCRIPTION_NOT_EXIST,
      `the consumer's subscription not exist, group: ${consumerGroup}`,
    );
  }
  if (known.subVersion < subVersion) {
    throw new Refusal(ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest");
  }
  return checkType(known);
}

/** Like a broker without `enablePropertyFilter`. */
function checkType(subscription: SubscriptionData): SubscriptionData {
  if (subscription.expressionType === TAG) return subscription;
  throw new Refusal(
    ResponseCode.SYSTEM_ERROR,
    `The broker does not support consumer to filter message by ${subscription.expressionType}`,
  );
}

/** The state table of a pull (`DefaultMessageStore#getMessage`). */
function read(state: BrokerState, header: PullHeader, { subString, codeSet }: SubscriptionData): Request {
  const { topic, queueId, queueOffset } = header;
  const queue = state.messages.queue(topic, queueId);
  const min = queue?.min ?? 0, max = queue?.max ?? 0;
  const answer = (code: number, remark: string, nextBeginOffset: number, body?: Uint8Array): Request => ({
    code,
    remark,
    extFields: encodePullAnswer({ suggestWhichBrokerId: 0, nextBeginOffset, minOffset: min, maxOffset: max }),
    ...(body && { body }),
  });
  if (!queue || max === 0) {
    const code = queueOffset === 0 ? ResponseCode.PULL_NOT_FOUND : ResponseCode.PULL_OFFSET_MOVED;
    return answer(code, queue ? "NO_MESSAGE_IN_QUEUE" : "NO_MATCHED_LOGIC_QUEUE", 0);
  }
  if (queueOffset < min) return answer(ResponseCode.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL", min);
  if (queueOffset === max) return answer(ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", queueOffset);
  if (queueOffset > max) return answer(ResponseCode.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", max);
  const wanted = Math.min(Math.max(1, header.maxMsgNums), MESSAGES_MAX);
  const scanEnd = Math.min(max, queueOffset + Math.max(SCAN_MIN, wanted * 20));
  // Blank tags are a set that nothing is in.
  const codes = subString === "*" ? undefined : new Set(codeSet);
  const found: number[] = [];
  let size = 0, at = queueOffset;
  for (; at < scanEnd && found.length < wanted; at++) {
    if (codes && !codes.has(queue.tagHash(at))) continue;
    if (found.length > 0 && size + queue.size(at) > BYTES_MAX) break;
    found.push(at);
    size += queue.size(at);
  }
  if (found.length === 0) return answer(ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE", at);
  const body = new Uint8Array(size);
  let to = 0;
  for (const offset of found) {
    body.set(state.messages.read(queue.position(offset), queue.size(offset))!, to);
    to += queue.size(offset);
  }
  return answer(ResponseCode.SUCCESS, "FOUND", at, body);
}
