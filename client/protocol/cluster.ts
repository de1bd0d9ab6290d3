import { RequestCode } from "./codes.ts";
import type { Request } from "./command.ts";
import { parseJson, writeJson } from "./json.ts";
import { entriesOf, objectOf, textOf } from "./json_access.ts";
import { type BrokerData, readBrokerData, readTexts, writableBroker } from "./route.ts";
import { decodeText, encodeText } from "./text.ts";

/** All brokers a name server knows. */
export interface ClusterInfo {
  readonly brokerAddrTable: ReadonlyMap<string, BrokerData>;
  /** Broker names by cluster. */
  readonly clusterAddrTable: ReadonlyMap<string, readonly string[]>;
}

export const clusterRequest = (): Request => ({ code: RequestCode.GET_BROKER_CLUSTER_INFO });

/** Throws `FrameError`. */
export function decodeCluster(body: Uint8Array): ClusterInfo {
  const info = objectOf(parseJson(decodeText(body)), "cluster");
  const brokers = entriesOf(info.get("brokerAddrTable"), "brokerAddrTable");
  const clusters = entriesOf(info.get("clusterAddrTable"), "clusterAddrTable");
  return {
    brokerAddrTable: new Map(brokers.map(([name, data]) => [textOf(name, "brokerAddrTable"), readBrokerData(data)])),
    clusterAddrTable: new Map(clusters.map(readTexts)),
  };
}

/** As Java writes it: broker ids are always bare. */
export function encodeCluster({ brokerAddrTable, clusterAddrTable }: ClusterInfo): Uint8Array {
  const brokers = new Map([...brokerAddrTable].map(([name, data]) => [name, writableBroker(data, false)]));
  return encodeText(writeJson({ brokerAddrTable: brokers, clusterAddrTable }));
}
