import { FrameError } from "../errors.ts";
import type { MessageQueue } from "../message.ts";
import type { TopicRouteData } from "../protocol/route.ts";
import { PERM_READ, PERM_WRITE } from "../protocol/sys_flag.ts";

/** What is known of one topic: its queues for sending and for consuming, and where its brokers are. */
export interface TopicRoute {
  readonly topic: string;
  readonly data: TopicRouteData;
  /** In the order every client agrees on: broker name, then queue id. */
  readonly publishQueues: readonly MessageQueue[];
  readonly subscribeQueues: readonly MessageQueue[];
}

/** Broker id of the master. */
export const MASTER_ID = 0;

/** Gives equal queues of routes the same object. */
export class QueueNames {
  readonly #queues = new Map<string, MessageQueue>();

  /** For a queue that no route has named: it is not kept. */
  known(topic: string, brokerName: string, queueId: number): MessageQueue {
    return this.#queues.get(`${topic}\n${brokerName}\n${queueId}`) ?? Object.freeze({ topic, brokerName, queueId });
  }

  of(topic: string, brokerName: string, queueId: number): MessageQueue {
    const key = `${topic}\n${brokerName}\n${queueId}`;
    let queue = this.#queues.get(key);
    if (!queue) this.#queues.set(key, queue = Object.freeze({ topic, brokerName, queueId }));
    return queue;
  }
}

/**
 * `MQClientInstance#topicRouteData2TopicPublishInfo` and its sister for `SubscribeInfo`. Throws `FrameError` when there are
 * more than 65,536 queues: a route is bytes from the network.
 */
export function toTopicRoute(topic: string, data: TopicRouteData, names: QueueNames): TopicRoute {
  const masters = new Set(
    data.brokerDatas.filter((each) => each.brokerAddrs.has(MASTER_ID)).map((each) => each.brokerName),
  );
  const queueDatas = [...data.queueDatas].sort((one, other) => compare(one.brokerName, other.brokerName));
  const written = data.orderTopicConf
    ? orderedQueueNums(data.orderTopicConf)
    : queueDatas.filter(({ perm, brokerName }) => (perm & PERM_WRITE) !== 0 && masters.has(brokerName))
      .map(({ brokerName, writeQueueNums }) => [brokerName, writeQueueNums] as const);
  const read = queueDatas.filter(({ perm }) => (perm & PERM_READ) !== 0)
    .map(({ brokerName, readQueueNums }) => [brokerName, readQueueNums] as const);
  return { topic, data, publishQueues: queues(topic, written, names), subscribeQueues: queues(topic, read, names) };
}

/** The route of the topic that new ones are created from, cut to the queues a new topic would get. */
export function asNewTopic(data: TopicRouteData, defaultTopicQueueNums: number): TopicRouteData {
  return {
    ...data,
    queueDatas: data.queueDatas.map((each) => {
      const nums = Math.min(defaultTopicQueueNums, each.readQueueNums);
      return { ...each, readQueueNums: nums, writeQueueNums: nums };
    }),
  };
}

/** Whether two answers say the same. */
export function isSameRoute(one: TopicRouteData, other: TopicRouteData): boolean {
  return normalized(one) === normalized(other);
}

function normalized({ brokerDatas, queueDatas, orderTopicConf }: TopicRouteData): string {
  const brokers = brokerDatas.map((
    each,
  ) => [each.brokerName, [...each.brokerAddrs].sort(([one], [other]) => one - other)]);
  return JSON.stringify([
    brokers.sort(([one], [other]) => compare(String(one), String(other))),
    [...queueDatas].sort((one, other) => compare(one.brokerName, other.brokerName)),
    orderTopicConf ?? "",
  ]);
}

/** Queues of one topic, at all brokers together. */
const QUEUES_MAX = 65_536;

type QueueNums = readonly (readonly [brokerName: string, count: number])[];

/** A broker that is named twice has the larger number. */
function queues(topic: string, nums: QueueNums, names: QueueNames): readonly MessageQueue[] {
  const counts = new Map<string, number>();
  for (const [brokerName, count] of nums) counts.set(brokerName, Math.max(counts.get(brokerName) ?? 0, count));
  let total = 0;
  for (const count of counts.values()) total += count;
  if (total > QUEUES_MAX) {
    throw new FrameError(`The route of topic "${topic}" has ${total} queues, more than ${QUEUES_MAX}`, { topic });
  }
  return [...counts].flatMap(([brokerName, count]) =>
    Array.from({ length: count }, (_, id) => names.of(topic, brokerName, id))
  );
}

/** "brokerA:4;brokerB:2", in that order. */
function orderedQueueNums(conf: string): QueueNums {
  return conf.split(";").flatMap((part) => {
    const [brokerName = "", count = "0"] = part.split(":");
    return brokerName === "" ? [] : [[brokerName, Math.max(0, Math.trunc(Number(count)) || 0)] as const];
  });
}

/** String order of Java and of every other member of a group: by UTF-16 code units. */
export const compare = (one: string, other: string): number => one < other ? -1 : one > other ? 1 : 0;
