import { allocateQueues } from "../allocate.ts";
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
 * This client's queues by the strategy AVG. Every member sorts the same way and so comes to the same shares; one that the
 * broker does not list yet gets none. A member that it lists twice, once for each of two connections, counts twice, as with
 * all other members.
 */
export function allocateAveragely(
  instance: Instance,
  consumerGroup: string,
  queues: readonly MessageQueue[],
  members: readonly string[],
): readonly MessageQueue[] {
  const ids = [...members].sort(compare);
  if (queues.length === 0 || !ids.includes(instance.clientId)) return [];
  const sorted = [...queues].sort((one, other) =>
    compare(one.topic, other.topic) || compare(one.brokerName, other.brokerName) || one.queueId - other.queueId
  );
  return allocateQueues(instance.core, "AVG", consumerGroup, instance.clientId, sorted, ids);
}
