import { expect, test } from "vitest";
import { RequestCode } from "../../client/protocol/codes.ts";
import { decodeRoute } from "../../client/protocol/route.ts";
import { decodeText } from "../../client/protocol/text.ts";
import { inCluster, type Rig, send, TOPIC } from "./rig.ts";

const route = ({ sim, names }: Rig, version: number, extFields: Record<string, string> = {}) =>
  sim.run(names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, { topic: TOPIC, ...extFields }, undefined, { version }));

/** As a 5.5.0 name server writes it. */
const body = ({ brokerAddr }: Rig, id: string): string =>
  `{"brokerDatas":[{"brokerAddrs":{${id}:"${brokerAddr}"},"brokerName":"broker-a","cluster":"DefaultCluster",` +
  `"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":1,` +
  `"topicSysFlag":0,"writeQueueNums":1}]}`;

test(
  "name server: broker ids of a route are bare for old clients, quoted from 401 on or when asked for",
  inCluster(async (rig) => {
    const bare = body(rig, "0"), quoted = body(rig, '"0"');
    for (const [version, text] of [[0, bare], [293, bare], [400, bare], [401, quoted], [513, quoted]] as const) {
      const answer = await route(rig, version);
      expect([answer.code, answer.version, decodeText(answer.body)]).toEqual([0, 513, text]);
    }
    expect(decodeText((await route(rig, 293, { acceptStandardJsonOnly: "true" })).body)).toBe(quoted);
  }),
);

test(
  "name server: a topic that nobody has is 17 and says so",
  inCluster(async (rig) => {
    const { code, remark, body } = await route(rig, 513, { topic: "Nope" });
    expect([code, body.length]).toEqual([17, 0]);
    expect(remark).toBe("No topic route info in name server for the topic: Nope");
    const missing = await rig.sim.run(rig.names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC));
    expect([missing.code, missing.remark]).toEqual([1, 'Field "topic" is missing']);
  }),
);

test(
  "name server: the template of new topics is there, and the topics of brokers",
  inCluster(async (rig) => {
    const config = async (topic: string) => {
      const { readQueueNums, writeQueueNums, perm } = decodeRoute((await route(rig, 513, { topic })).body)
        .queueDatas[0]!;
      return [readQueueNums, writeQueueNums, perm];
    };
    expect(await config("TBW102")).toEqual([8, 8, 7]);
    expect(await config("DefaultCluster")).toEqual([16, 16, 7]);
    expect(await config("broker-a")).toEqual([1, 1, 7]);
    expect(await config("SCHEDULE_TOPIC_XXXX")).toEqual([18, 18, 6]);
    expect(await config("BenchmarkTest")).toEqual([1_024, 1_024, 6]);
    expect(await config("DefaultCluster_REPLY_TOPIC")).toEqual([1, 1, 6]);
  }),
);

test(
  "name server: of several brokers a route has those that got the first message",
  inCluster(async (rig) => {
    const addrs = decodeRoute((await route(rig, 513, { topic: "TBW102" })).body).brokerDatas;
    expect(addrs.map(({ brokerName }) => brokerName)).toEqual(["broker-a", "broker-b", "broker-c"]);
    expect(new Set(addrs.map(({ brokerAddrs }) => brokerAddrs.get(0))).size).toBe(3);
    await send(rig, { topic: "New" });
    const { brokerDatas, queueDatas } = decodeRoute((await route(rig, 513, { topic: "New" })).body);
    expect(brokerDatas.map(({ brokerName }) => brokerName)).toEqual(["broker-a"]);
    expect(queueDatas.map(({ brokerName }) => brokerName)).toEqual(["broker-a"]);
    // Topics given at the start are everywhere.
    expect(decodeRoute((await route(rig, 513)).body).queueDatas.length).toBe(3);
  }, { brokers: 3 }),
);

test(
  "name server: the cluster's brokers, with bare ids whoever asks",
  inCluster(async (rig) => {
    const [first, second] = decodeRoute((await route(rig, 513)).body).brokerDatas.map(({ brokerAddrs }) =>
      brokerAddrs.get(0)
    );
    for (const version of [293, 513]) {
      const request = rig.names.request(RequestCode.GET_BROKER_CLUSTER_INFO, {}, undefined, { version });
      const broker = (name: string, addr: string | undefined) =>
        `"${name}":{"brokerAddrs":{0:"${addr}"},"brokerName":"${name}","cluster":"DefaultCluster","enableActingMaster":false}`;
      expect(decodeText((await rig.sim.run(request)).body)).toBe(
        `{"brokerAddrTable":{${broker("broker-a", first)},${broker("broker-b", second)}},` +
          `"clusterAddrTable":{"DefaultCluster":["broker-a","broker-b"]}}`,
      );
    }
  }, { brokers: 2 }),
);
