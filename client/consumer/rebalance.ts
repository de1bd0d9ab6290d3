import { allocateQueues, type AllocateStrategy, queueText } from "../allocate.ts";
import { brokerError, type Instance } from "../instance.ts";
import type { MessageQueue } from "../message.ts";
import { ResponseCode } from "../protocol/codes.ts";
import { consumerListRequest, decodeConsumerList } from "../protocol/consumer_list.ts";
import { compare, type TopicRoute } from "../route/topic_route.ts";

/** Members of a group as one of its brokers knows them; undefined when it knows nobody, or cannot say. */
export async function groupMembers(
  instance: Instance,
  consumerGroup: string,
  route: TopicRoute,
): Promise<string[] | undefined> {
  const addrs = route.data.brokerDatas.flatMap(({ brokerAddrs }) => [...brokerAddrs.values()]);
  if (addrs.length === 0) return undefined;
  const addr = addrs[Math.floor(Math.random() * addrs.length)]!;
  const { requestTimeout } = instance.options;
  const response = await instance.remoting.invoke(addr, consumerListRequest(consumerGroup), {
    timeout: requestTimeout,
  });
  if (response.code === ResponseCode.SYSTEM_ERROR) return undefined;
  if (response.code !== ResponseCode.SUCCESS) {
    throw brokerError(`Cannot get the members of group "${consumerGroup}"`, response, addr);
  }
  return decodeConsumerList(response.body);
}

/**
 * This client's queues of one topic. Every member sorts the same way and so comes to the same shares; one that the broker does
 * not list yet gets none. A member that it lists twice, once for each of two connections, counts twice, as with all other
 * members. What a strategy gives that is no queue of this topic is left out.
 */
export function allocate(
  instance: Instance,
  strategy: AllocateStrategy,
  consumerGroup: string,
  queues: readonly MessageQueue[],
  members: readonly string[],
): readonly MessageQueue[] {
  const ids = [...members].sort(compare);
  if (queues.length === 0 || ids.length === 0) return [];
  const sorted = [...queues].sort((one, other) =>
    compare(one.topic, other.topic) || compare(one.brokerName, other.brokerName) || one.queueId - other.queueId
  );
  const share = allocateQueues(instance.core, strategy, consumerGroup, instance.clientId, sorted, ids);
  // The consumer knows its queues by the route's objects; a strategy may give others that say the same.
  const wanted = new Set(share.map(queueText));
  return sorted.filter((queue) => wanted.has(queueText(queue)));
}
