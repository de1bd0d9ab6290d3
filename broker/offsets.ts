import { ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand } from "../client/protocol/command.ts";
import {
  decodeQueryOffset,
  decodeSearchOffset,
  decodeTopicQueue,
  decodeUpdateOffset,
  encodeOffset,
  type TopicQueue,
} from "../client/protocol/offsets.ts";
import { type Answer, Refusal, success } from "./answer.ts";
import type { MessageStore } from "./message_store.ts";

/** Committed offsets by group and queue, and the questions about offsets (`ConsumerManageProcessor`, `AdminBrokerProcessor`). */
export class Offsets {
  readonly #store: MessageStore;
  readonly #committed = new Map<string, bigint>();

  constructor(store: MessageStore) {
    this.#store = store;
  }

  commit(group: string, topic: string, queueId: number, offset: bigint): void {
    this.#committed.set(keyOf(group, topic, queueId), offset);
  }

  /** A group without an offset on a queue that is still young begins at its start, whatever it asks for. */
  query({ extFields }: RemotingCommand): Answer {
    const { consumerGroup, topic, queueId, setZeroIfNotFound } = decodeQueryOffset(extFields);
    const committed = this.#committed.get(keyOf(consumerGroup, topic, queueId));
    if (committed !== undefined && committed >= 0n) return success(encodeOffset(committed));
    const queue = this.#store.queue(topic, queueId);
    if (setZeroIfNotFound && queue && queue.min <= 0) return success(encodeOffset(0n));
    throw new Refusal(ResponseCode.QUERY_NOT_FOUND, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first");
  }

  update({ extFields }: RemotingCommand): Answer {
    const { consumerGroup, topic, queueId, commitOffset } = decodeUpdateOffset(extFields);
    if (!this.#store.topics.get(topic)) throw new Refusal(ResponseCode.TOPIC_NOT_EXIST, `Topic ${topic} not exist!`);
    this.commit(consumerGroup, topic, queueId, commitOffset);
    return success();
  }

  max({ extFields }: RemotingCommand): Answer {
    return success(encodeOffset(this.#queue(decodeTopicQueue(extFields))?.max ?? 0));
  }

  min({ extFields }: RemotingCommand): Answer {
    return success(encodeOffset(this.#queue(decodeTopicQueue(extFields))?.min ?? 0));
  }

  search({ extFields }: RemotingCommand): Answer {
    const { timestamp, ...queue } = decodeSearchOffset(extFields);
    return success(encodeOffset(this.#queue(queue)?.search(Number(timestamp)) ?? 0));
  }

  #queue({ topic, queueId }: TopicQueue): ReturnType<MessageStore["queue"]> {
    return this.#store.queue(topic, queueId);
  }
}

const keyOf = (group: string, topic: string, queueId: number): string => `${topic}@${group}@${queueId}`;
