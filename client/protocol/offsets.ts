import { RequestCode } from "./codes.ts";
import type { Request } from "./command.ts";
import {
  type ExtFields,
  optionalBoolean,
  optionalText,
  requireInt,
  requireLong,
  requireSafe,
  requireText,
} from "./fields.ts";

/** One queue, and the group whose offset in it is meant. */
export interface GroupQueue {
  readonly consumerGroup: string;
  readonly topic: string;
  readonly queueId: number;
  readonly brokerName?: string | undefined;
}
export type TopicQueue = Omit<GroupQueue, "consumerGroup">;

/** Answer: `offset`, or 22 when nothing was committed. */
export const queryOffsetRequest = (queue: GroupQueue, setZeroIfNotFound?: boolean): Request => ({
  code: RequestCode.QUERY_CONSUMER_OFFSET,
  extFields: {
    consumerGroup: queue.consumerGroup,
    ...queueFields(queue),
    ...(setZeroIfNotFound === undefined ? {} : { setZeroIfNotFound: String(setZeroIfNotFound) }),
  },
});

export const decodeQueryOffset = (fields: ExtFields): GroupQueue & { readonly setZeroIfNotFound: boolean } => ({
  ...decodeGroupQueue(fields),
  setZeroIfNotFound: optionalBoolean(fields, "setZeroIfNotFound", true),
});

/** Commits; usually oneway. */
export const updateOffsetRequest = (queue: GroupQueue, commitOffset: bigint | number): Request => ({
  code: RequestCode.UPDATE_CONSUMER_OFFSET,
  extFields: { consumerGroup: queue.consumerGroup, ...queueFields(queue), commitOffset: String(commitOffset) },
});

export const decodeUpdateOffset = (fields: ExtFields): GroupQueue & { readonly commitOffset: bigint } => ({
  ...decodeGroupQueue(fields),
  commitOffset: requireLong(fields, "commitOffset"),
});

/** Answer: `offset`, the next one to be written. */
export const maxOffsetRequest = (queue: TopicQueue): Request => ({
  code: RequestCode.GET_MAX_OFFSET,
  extFields: queueFields(queue),
});

/** Answer: `offset`, the lowest that is still there. */
export const minOffsetRequest = (queue: TopicQueue): Request => ({
  code: RequestCode.GET_MIN_OFFSET,
  extFields: queueFields(queue),
});

/** Answer: `offset`, the first stored at or after `timestamp` (ms). */
export const searchOffsetRequest = (queue: TopicQueue, timestamp: number): Request => ({
  code: RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
  extFields: { ...queueFields(queue), timestamp: String(timestamp) },
});

export const decodeSearchOffset = (fields: ExtFields): TopicQueue & { readonly timestamp: bigint } => ({
  ...decodeTopicQueue(fields),
  timestamp: requireLong(fields, "timestamp"),
});

/** Of an answer to any request above but a commit. Throws `FrameError` when there is none. */
export const readOffset = (answer: { readonly extFields: ExtFields }): bigint =>
  requireLong(answer.extFields, "offset");

/** The same for an offset to pull from. Throws `FrameError` too when it is 2^53 or more: no queue grows so long. */
export const readSafeOffset = (answer: { readonly extFields: ExtFields }): number =>
  requireSafe(answer.extFields, "offset");

export const encodeOffset = (offset: bigint | number): ExtFields => ({ offset: String(offset) });

export const decodeTopicQueue = (fields: ExtFields): TopicQueue => ({
  topic: requireText(fields, "topic"),
  queueId: requireInt(fields, "queueId"),
  brokerName: optionalText(fields, "bname"),
});

const decodeGroupQueue = (fields: ExtFields): GroupQueue => ({
  consumerGroup: requireText(fields, "consumerGroup"),
  ...decodeTopicQueue(fields),
});

const queueFields = ({ topic, queueId, brokerName }: TopicQueue): Record<string, string> => ({
  topic,
  queueId: String(queueId),
  ...(brokerName && { bname: brokerName }),
});
