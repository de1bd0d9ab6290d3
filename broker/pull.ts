import { ArgumentError } from "../client/errors.ts";
import { ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand, SerializeType } from "../client/protocol/command.ts";
import { decodePullRequest, encodePullAnswer, type PullFields, type PullTarget } from "../client/protocol/pull.ts";
import { buildSubscription, SUB_ALL, type SubscriptionData, TAG } from "../client/protocol/subscription.ts";
import { PERM_READ, PULL_COMMIT_OFFSET, PULL_SUBSCRIPTION, PULL_SUSPEND } from "../client/protocol/sys_flag.ts";
import type { Outgoing } from "../client/remoting/outgoing.ts";
import { type Answer, type Caller, Refusal } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";
import { type Reading, readQueue } from "./read_queue.ts";

type PullHeader = PullTarget & PullFields;

/** PULL_MESSAGE and LITE_PULL_MESSAGE (`PullMessageProcessor`). */
export function pull(state: BrokerState, request: RemotingCommand, caller: Caller): Answer {
  const header = decodePullRequest(request.extFields);
  const { topic, queueId, sysFlag } = header;
  const subscription = check(state, header);
  const answer = (): Outgoing => answerOf(state, request.serializeType, read(state, header, subscription));
  const reading = read(state, header, subscription);
  if ((sysFlag & PULL_COMMIT_OFFSET) !== 0) {
    state.offsets.commit(header.consumerGroup, topic, queueId, BigInt(header.commitOffset));
  }
  if (reading.code !== ResponseCode.PULL_NOT_FOUND || (sysFlag & PULL_SUSPEND) === 0) {
    return answerOf(state, request.serializeType, reading);
  }
  state.held.hold(state.messages.queue(topic, queueId), {
    caller,
    codes: subscription.codeSet,
    wake: () => caller.answer(request, answer()),
  }, header.suspendTimeoutMillis);
  return undefined;
}

function read(
  state: BrokerState,
  { topic, queueId, queueOffset, maxMsgNums }: PullHeader,
  to: SubscriptionData,
): Reading {
  // Blank tags are a set that nothing is in.
  const codes = to.subString === SUB_ALL ? undefined : to.codeSet;
  return readQueue(state.messages, topic, queueId, queueOffset, maxMsgNums, codes);
}

/** Only answers with messages are many. */
function answerOf({ answers }: BrokerState, serializeType: SerializeType, reading: Reading): Outgoing {
  const { code, remark, nextBeginOffset, minOffset, maxOffset, body } = reading;
  if (body) return answers.found(serializeType, nextBeginOffset, minOffset, maxOffset, body);
  const fields = encodePullAnswer({ suggestWhichBrokerId: 0, nextBeginOffset, minOffset, maxOffset });
  return { code, remark, extFields: { ...fields, topicSysFlag: "0", groupSysFlag: "0" } };
}

function check(state: BrokerState, header: PullHeader): SubscriptionData {
  const { consumerGroup, topic, queueId } = header;
  if (!state.groups.meet(consumerGroup)) {
    throw new Refusal(
      ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
      `subscription group [${consumerGroup}] does not exist`,
    );
  }
  const config = state.topics.get(topic);
  if (!config) throw new Refusal(ResponseCode.TOPIC_NOT_EXIST, `topic[${topic}] not exist, apply first please!`);
  if ((config.perm & PERM_READ) === 0) {
    throw new Refusal(ResponseCode.NO_PERMISSION, `the topic[${topic}] pulling message is forbidden`);
  }
  if (queueId < 0 || queueId >= config.readQueueNums) {
    throw new Refusal(
      ResponseCode.INVALID_PARAMETER,
      `queueId[${queueId}] is illegal, topic:[${topic}] topicConfig.readQueueNums:[${config.readQueueNums}]`,
    );
  }
  return checkType(subscriptionOf(state, header));
}

/** The pull's own, or the one its group has told by heartbeat. */
function subscriptionOf(state: BrokerState, header: PullHeader): SubscriptionData {
  const { consumerGroup, topic, subVersion } = header;
  if ((header.sysFlag & PULL_SUBSCRIPTION) !== 0) return ownSubscription(header);
  if (!state.groups.isOnline(consumerGroup)) {
    throw new Refusal(ResponseCode.SUBSCRIPTION_NOT_EXIST, "the consumer's group info not exist");
  }
  const known = state.groups.subscription(consumerGroup, topic);
  if (!known) throw new Refusal(ResponseCode.SUBSCRIPTION_NOT_EXIST, "the consumer's subscription not exist");
  if (known.subVersion < subVersion) {
    throw new Refusal(ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest");
  }
  return known;
}

function ownSubscription({ topic, subscription, subVersion, expressionType }: PullHeader): SubscriptionData {
  try {
    return buildSubscription(topic, subscription, subVersion, expressionType ?? TAG);
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    throw new Refusal(ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed");
  }
}

/** Like a broker without `enablePropertyFilter`. */
export function checkType<T extends Pick<SubscriptionData, "expressionType">>(subscription: T): T {
  const { expressionType } = subscription;
  if (expressionType === TAG) return subscription;
  throw new Refusal(
    ResponseCode.SYSTEM_ERROR,
    `The broker does not support consumer to filter message by ${expressionType}`,
  );
}
