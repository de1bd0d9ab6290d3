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

/** Gives equal queues the same object. */
export class QueueNames {
  readonly #queues = new Map<string, MessageQueue>();

  of(topic: string, brokerName: string, queueId: number): MessageQueue {
    const key = `${topic}\n${brokerName}\n${queueId}`;
    let queue = this.#queues.get(key);
    if (!queue) this.#queues.set(key, queue = Object.freeze({ topic, brokerName, queueId }));
    return queue;
  }
}

/** `MQClientInstance#topicRouteData2TopicPublishInfo` and `…SubscribeInfo`. */
export function toTopicRoute(topic: string, data: TopicRouteData, names: QueueNames): TopicRoute {
  const masters = new Set(
    data.brokerDatas.filter((each) => each.brokerAddrs.has(MASTER_ID)).map((each) => each.brokerName),
  );
  const queueDatas = [...data.queueDatas].sort((one, other) => compare(one.brokerName, other.brokerName));
  const publishQueues = data.orderTopicConf
    ? orderedQueues(topic, data.orderTopicConf, names)
    : queueDatas.filter(({ perm, brokerName }) => (perm & PERM_WRITE) !== 0 && masters.has(brokerName))
      .flatMap(({ brokerName, writeQueueNums }) => queues(topic, brokerName, writeQueueNums, names));
  const subscribeQueues = queueDatas.filter(({ perm }) => (perm & PERM_READ) !== 0)
    .flatMap(({ brokerName, readQueueNums }) => queues(topic, brokerName, readQueueNums, names));
  return { topic, data, publishQueues: unique(publishQueues), subscribeQueues: unique(subscribeQueues) };
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

/** At most so many queues are believed of one broker: a route is bytes from the network. */
const QUEUES_MAX = 65_536;

function queues(topic: string, brokerName: string, count: number, names: QueueNames): MessageQueue[] {
  return Array.from({ length: Math.max(0, Math.min(count, QUEUES_MAX)) }, (_, id) => names.of(topic, brokerName, id));
}

/** "brokerA:4;brokerB:2", in that order. */
function orderedQueues(topic: string, conf: string, names: QueueNames): MessageQueue[] {
  return conf.split(";").flatMap((part) => {
    const [brokerName = "", count = "0"] = part.split(":");
    return brokerName === "" ? [] : queues(topic, brokerName, Number(count) || 0, names);
  });
}

const unique = (list: readonly MessageQueue[]): readonly MessageQueue[] => [...new Set(list)];

/** String order of Java and of every other member of a group: by UTF-16 code units. */
export const compare = (one: string, other: string): number => one < other ? -1 : one > other ? 1 : 0;
