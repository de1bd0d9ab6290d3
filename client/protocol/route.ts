import { RequestCode } from "./codes.ts";
import type { Request } from "./command.ts";
import { JsonObject, type JsonValue, parseJson, type Writable, writeJson } from "./json.ts";
import { entriesOf, int32Of, listOf, objectOf, optionalTextOf, textOf } from "./json_access.ts";
import { decodeText, encodeText } from "./text.ts";

/** Where the queues of one topic are. */
export interface TopicRouteData {
  readonly brokerDatas: readonly BrokerData[];
  readonly queueDatas: readonly QueueData[];
  /** "brokerA:4;brokerB:2" for an ordered topic. */
  readonly orderTopicConf?: string;
  /** Class filter servers by broker address (4.x). */
  readonly filterServerTable?: ReadonlyMap<string, readonly string[]>;
}

export interface BrokerData {
  readonly brokerName: string;
  readonly cluster: string;
  /** Addresses by broker id; 0 is the master. */
  readonly brokerAddrs: ReadonlyMap<number, string>;
}

export interface QueueData {
  readonly brokerName: string;
  readonly readQueueNums: number;
  readonly writeQueueNums: number;
  /** Bits of `PermName`. */
  readonly perm: number;
  readonly topicSysFlag: number;
}

export const routeRequest = (topic: string): Request => ({
  code: RequestCode.GET_ROUTEINFO_BY_TOPIC,
  extFields: { topic },
});

/** Reads what any release writes: bare or quoted broker ids, `topicSynFlag` of 4.x. Throws `FrameError`. */
export function decodeRoute(body: Uint8Array): TopicRouteData {
  const route = objectOf(parseJson(decodeText(body)), "route");
  const brokerDatas = listOf(route.get("brokerDatas"), "brokerDatas").map(readBrokerData);
  const queueDatas = listOf(route.get("queueDatas"), "queueDatas").map(readQueueData);
  const orderTopicConf = optionalTextOf(route.get("orderTopicConf"), "orderTopicConf");
  const filterServers = entriesOf(route.get("filterServerTable"), "filterServerTable");
  return {
    brokerDatas,
    queueDatas,
    ...(orderTopicConf ? { orderTopicConf } : {}),
    ...(filterServers.length > 0 ? { filterServerTable: new Map(filterServers.map(readTexts)) } : {}),
  };
}

/** As Java writes it; `standardJson` quotes the broker ids, which clients from 4.9.4 on are sent. */
export function encodeRoute(route: TopicRouteData, standardJson: boolean): Uint8Array {
  return encodeText(writeJson({
    brokerDatas: route.brokerDatas.map((data) => writableBroker(data, standardJson)),
    filterServerTable: route.filterServerTable ?? new Map(),
    orderTopicConf: route.orderTopicConf,
    queueDatas: route.queueDatas.map((data) => ({ ...data })),
  }));
}

export function readBrokerData(value: JsonValue): BrokerData {
  const data = objectOf(value, "brokerDatas");
  const brokerAddrs = new Map<number, string>();
  for (const [id, addr] of entriesOf(data.get("brokerAddrs"), "brokerAddrs")) {
    // An id that no number holds exactly can be asked for by nobody: pull answers carry at most 53 bits too.
    const number = id instanceof JsonObject ? NaN : Number(id);
    if (Number.isSafeInteger(number) && addr !== null) brokerAddrs.set(number, textOf(addr, "brokerAddrs"));
  }
  return {
    brokerName: textOf(data.get("brokerName"), "brokerName"),
    cluster: optionalTextOf(data.get("cluster"), "cluster") ?? "",
    brokerAddrs,
  };
}

export const writableBroker = ({ brokerName, cluster, brokerAddrs }: BrokerData, standardJson: boolean): Writable => ({
  brokerAddrs: standardJson ? new Map([...brokerAddrs].map(([id, addr]) => [String(id), addr])) : brokerAddrs,
  brokerName,
  cluster,
  enableActingMaster: false,
});

function readQueueData(value: JsonValue): QueueData {
  const data = objectOf(value, "queueDatas");
  return {
    brokerName: textOf(data.get("brokerName"), "brokerName"),
    readQueueNums: int32Of(data.get("readQueueNums"), "readQueueNums", 0),
    writeQueueNums: int32Of(data.get("writeQueueNums"), "writeQueueNums", 0),
    perm: int32Of(data.get("perm"), "perm", 0),
    topicSysFlag: int32Of(data.get("topicSysFlag") ?? data.get("topicSynFlag"), "topicSysFlag", 0),
  };
}

/** One entry of a table of lists of texts. */
export const readTexts = ([key, value]: JsonObject["entries"][number]): [string, string[]] => {
  const name = textOf(key, "key");
  return [name, listOf(value, name).map((each) => textOf(each, name))];
};
