import { RequestCode } from "./codes.ts";
import type { Request } from "./command.ts";
import { type JsonValue, parseJson, writeJson } from "./json.ts";
import { booleanOf, int32Of, listOf, objectOf, optionalTextOf, textOf } from "./json_access.ts";
import { readSubscription, type SubscriptionData, writableSubscription } from "./subscription.ts";
import { decodeText, encodeText } from "./text.ts";

/** Who a client is, told to every broker it knows. */
export interface HeartbeatData {
  readonly clientID: string;
  readonly producerDataSet: readonly ProducerData[];
  readonly consumerDataSet: readonly ConsumerData[];
  /** Hash of what is subscribed (heartbeats of the second kind); 0 otherwise. */
  readonly heartbeatFingerprint?: number;
  /** The subscriptions were left out, because the broker has them. */
  readonly withoutSub?: boolean;
}

export interface ProducerData {
  readonly groupName: string;
}

export interface ConsumerData {
  readonly groupName: string;
  /** CONSUME_PASSIVELY for push consumers, CONSUME_ACTIVELY for pull consumers. */
  readonly consumeType: string;
  /** CLUSTERING or BROADCASTING. */
  readonly messageModel: string;
  readonly consumeFromWhere: string;
  readonly subscriptionDataSet: readonly SubscriptionData[];
  readonly unitMode: boolean;
}

export const heartbeatRequest = (data: HeartbeatData): Request => ({
  code: RequestCode.HEART_BEAT,
  body: encodeHeartbeat(data),
});

/** As a 5.5.0 client writes it; older brokers ignore what they do not know. */
export function encodeHeartbeat(data: HeartbeatData): Uint8Array {
  return encodeText(writeJson({
    clientID: data.clientID,
    consumerDataSet: data.consumerDataSet.map((consumer) => ({
      ...consumer,
      subscriptionDataSet: consumer.subscriptionDataSet.map(writableSubscription),
    })),
    heartbeatFingerprint: data.heartbeatFingerprint ?? 0,
    producerDataSet: data.producerDataSet.map(({ groupName }) => ({ groupName })),
    withoutSub: data.withoutSub ?? false,
  }));
}

/** Throws `FrameError`. */
export function decodeHeartbeat(body: Uint8Array): HeartbeatData {
  const data = objectOf(parseJson(decodeText(body)), "heartbeat");
  return {
    clientID: textOf(data.get("clientID"), "clientID"),
    producerDataSet: listOf(data.get("producerDataSet"), "producerDataSet").map(readProducer),
    consumerDataSet: listOf(data.get("consumerDataSet"), "consumerDataSet").map(readConsumer),
    heartbeatFingerprint: int32Of(data.get("heartbeatFingerprint"), "heartbeatFingerprint", 0),
    withoutSub: booleanOf(data.get("withoutSub"), "withoutSub", false),
  };
}

const readProducer = (value: JsonValue): ProducerData => ({
  groupName: textOf(objectOf(value, "producerDataSet").get("groupName"), "groupName"),
});

function readConsumer(value: JsonValue): ConsumerData {
  const data = objectOf(value, "consumerDataSet");
  return {
    groupName: textOf(data.get("groupName"), "groupName"),
    consumeType: optionalTextOf(data.get("consumeType"), "consumeType") ?? "CONSUME_PASSIVELY",
    messageModel: optionalTextOf(data.get("messageModel"), "messageModel") ?? "CLUSTERING",
    consumeFromWhere: optionalTextOf(data.get("consumeFromWhere"), "consumeFromWhere") ?? "CONSUME_FROM_LAST_OFFSET",
    subscriptionDataSet: listOf(data.get("subscriptionDataSet"), "subscriptionDataSet").map(readSubscription),
    unitMode: booleanOf(data.get("unitMode"), "unitMode", false),
  };
}
