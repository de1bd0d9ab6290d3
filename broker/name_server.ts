import { RequestCode, ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand } from "../client/protocol/command.ts";
import { encodeCluster } from "../client/protocol/cluster.ts";
import { optionalBoolean, requireText } from "../client/protocol/fields.ts";
import { type BrokerData, encodeRoute, type QueueData } from "../client/protocol/route.ts";
import { VERSION_STANDARD_JSON } from "../client/protocol/version.ts";
import { type Answer, type Handler, Refusal, success, unsupported } from "./answer.ts";
import type { BrokerState } from "./broker_state.ts";

/** What the name server answers: it looks at the brokers themselves, so it knows of a topic at once. */
export function nameServerHandler(brokers: readonly BrokerState[]): Handler {
  return (request) => {
    switch (request.code) {
      case RequestCode.GET_ROUTEINFO_BY_TOPIC:
        return route(brokers, request);
      case RequestCode.GET_BROKER_CLUSTER_INFO:
        return success({}, encodeCluster(cluster(brokers)));
      default:
        return unsupported(request);
    }
  };
}

function route(brokers: readonly BrokerState[], { extFields, version }: RemotingCommand): Answer {
  const topic = requireText(extFields, "topic");
  const brokerDatas: BrokerData[] = [], queueDatas: QueueData[] = [];
  for (const state of brokers) {
    const config = state.topics.get(topic);
    if (!config) continue;
    const { readQueueNums, writeQueueNums, perm } = config;
    queueDatas.push({ brokerName: state.brokerName, readQueueNums, writeQueueNums, perm, topicSysFlag: 0 });
    brokerDatas.push(brokerData(state));
  }
  if (queueDatas.length === 0) {
    throw new Refusal(ResponseCode.TOPIC_NOT_EXIST, `No topic route info in name server for the topic: ${topic}`);
  }
  const standardJson = version >= VERSION_STANDARD_JSON || optionalBoolean(extFields, "acceptStandardJsonOnly", false);
  return success({}, encodeRoute({ brokerDatas, queueDatas }, standardJson));
}

function cluster(brokers: readonly BrokerState[]): Parameters<typeof encodeCluster>[0] {
  const clusterAddrTable = new Map<string, string[]>();
  for (const { clusterName, brokerName } of brokers) {
    clusterAddrTable.set(clusterName, [...clusterAddrTable.get(clusterName) ?? [], brokerName]);
  }
  return { brokerAddrTable: new Map(brokers.map((state) => [state.brokerName, brokerData(state)])), clusterAddrTable };
}

const brokerData = ({ brokerName, clusterName, addr }: BrokerState): BrokerData => ({
  brokerName,
  cluster: clusterName,
  brokerAddrs: new Map([[0, addr]]),
});
