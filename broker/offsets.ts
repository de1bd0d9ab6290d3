import { ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand, Request } from "../client/protocol/command.ts";
import { optionalText } from "../client/protocol/fields.ts";
import {
  decodeQueryOffset,
  decodeSearchOffset,
  decodeTopicQueue,
  decodeUpdateOffset,
  encodeOffset,
} from "../client/protocol/offsets.ts";
import { Refusal, success } from "./answer.ts";
import type { Groups } from "./groups.ts";
import type { MessageStore } from "./message_store.ts";
import type { Topics } from "./topics.ts";

export interface OffsetsOptions {
  readonly brokerName: string;
  readonly messages: MessageStore;
  readonly topics: Topics;
  readonly groups: Groups;
}

/** Committed offsets by group and queue, and the questions about offsets (`ConsumerManageProcessor`, `AdminBrokerProcessor`). */
export class Offsets {
  readonly brokerName: string;
  readonly #messages: MessageStore;
  readonly #topics: Topics;
  readonly #groups: Groups;
  readonly #committed = new Map<string, bigint>();

  constructor({ brokerName, messages, topics, groups }: OffsetsOptions) {
    this.brokerName = brokerName;
    this.#messages = messages;
    this.#topics = topics;
    this.#groups = groups;
  }

  /** Stores what it is told, also a lower offset. */
  commit(group: string, topic: string, queueId: number, offset: bigint): void {
    this.#committed.set(keyOf(group, topic, queueId), offset);
  }

  /** A group without an offset on a queue that still has its first message begins there, whatever it asks for. */
  query({ extFields }: RemotingCommand): Request {
    const { consumerGroup, topic, queueId, setZeroIfNotFound } = decodeQueryOffset(extFields);
    const committed = this.#committed.get(keyOf(consumerGroup, topic, queueId));
    if (committed !== undefined && committed >= 0n) return success(encodeOffset(committed));
    if (!setZeroIfNotFound) {
      throw new Refusal(ResponseCode.QUERY_NOT_FOUND, "Not found, do not set to zero, maybe this group boot first");
    }
    const queue = this.#messages.existing(topic, queueId);
    if (queue && queue.min <= 0 && queue.max > 0) return success(encodeOffset(0n));
    throw new Refusal(ResponseCode.QUERY_NOT_FOUND, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first");
  }

  update({ extFields }: RemotingCommand): Request {
    const { consumerGroup, topic, queueId, commitOffset } = decodeUpdateOffset(extFields);
    if (!this.#groups.isKnown(consumerGroup)) {
      throw new Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, `Group ${consumerGroup} not exist!`);
    }
    if (!this.#topics.get(topic)) throw new Refusal(ResponseCode.TOPIC_NOT_EXIST, `Topic ${topic} not exist!`);
    this.commit(consumerGroup, topic, queueId, commitOffset);
    return success();
  }

  /** A queue without messages, or that does not exist, begins and ends at 0. */
  max({ extFields }: RemotingCommand): Request {
    return success(encodeOffset(this.#queue(extFields)?.max ?? 0));
  }

  min({ extFields }: RemotingCommand): Request {
    return success(encodeOffset(this.#queue(extFields)?.min ?? 0));
  }

  search({ extFields }: RemotingCommand): Request {
    const timestamp = Number(decodeSearchOffset(extFields).timestamp);
    const queue = this.#queue(extFields);
    const isUpper = optionalText(extFields, "boundaryType")?.toUpperCase() === "UPPER";
    if (!queue) return success(encodeOffset(0));
    return success(encodeOffset(isUpper ? queue.searchUpper(timestamp) : queue.searchLower(timestamp)));
  }

  /** When the first message of a queue was stored; -1 for an empty one. */
  earliest({ extFields }: RemotingCommand): Request {
    const queue = this.#queue(extFields);
    const timestamp = queue && queue.max > queue.min ? queue.storeTimestamp(queue.min) : -1;
    return success({ timestamp: String(timestamp) });
  }

  #queue(extFields: RemotingCommand["extFields"]): ReturnType<MessageStore["existing"]> {
    const { topic, queueId } = decodeTopicQueue(extFields);
    return this.#messages.existing(topic, queueId);
  }
}

const keyOf = (group: string, topic: string, queueId: number): string => `${topic}@${group}@${queueId}`;
