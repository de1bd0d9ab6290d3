import { expect, test } from "vitest";
import { RequestCode } from "../../client/protocol/codes.ts";
import { decodeConsumerList } from "../../client/protocol/consumer_list.ts";
import { decodeText } from "../../client/protocol/text.ts";
import { GROUP, heartbeat, inCluster, type Member, type Rig, TOPIC } from "./rig.ts";
import type { RawClient } from "./raw_client.ts";

const beat = ({ sim }: Rig, client: RawClient, member?: Member) =>
  sim.run(client.request(RequestCode.HEART_BEAT, {}, heartbeat(member)));
const list = ({ ask }: Rig, group = GROUP) => ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, { consumerGroup: group });
const members = async (rig: Rig, group?: string) => {
  const { code, body } = await list(rig, group);
  return code === 0 ? decodeConsumerList(body).sort() : code;
};
/** Lets what is under way arrive, and counts notifications. */
const notified = async ({ sim }: Rig, client: RawClient) => {
  await sim.run(10);
  return client.asked.splice(0).map(({ code, flag, extFields }) => `${code} ${flag} ${extFields["consumerGroup"]}`);
};
const NOTIFY = `40 2 ${GROUP}`;

test(
  "groups: a heartbeat makes a member, and its group's retry topic",
  inCluster(async (rig) => {
    expect(await members(rig)).toBe(1);
    expect((await list(rig)).remark).toBe(`no consumer for this group, ${GROUP}`);
    const answer = await beat(rig, rig.broker);
    expect([answer.code, answer.version, { ...answer.extFields }]).toEqual([
      0,
      513,
      { IS_SUPPORT_HEART_BEAT_V2: "true", IS_SUB_CHANGE: "true" },
    ]);
    expect(decodeText((await list(rig)).body)).toBe('{"consumerIdList":["10.0.0.2@1"]}');
    const topic = `%RETRY%${GROUP}`;
    expect((await rig.sim.run(rig.names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, { topic }))).code).toBe(0);
  }),
);

test(
  "groups: every member is told when one joins, leaves, changes its subscription or is lost",
  inCluster(async (rig) => {
    const first = await rig.connect(), second = await rig.connect();
    await beat(rig, first, { clientID: "a" });
    expect(await notified(rig, first)).toEqual([NOTIFY]);
    await beat(rig, first, { clientID: "a" });
    expect(await notified(rig, first)).toEqual([]);
    await beat(rig, second, { clientID: "b" });
    expect([await notified(rig, first), await notified(rig, second)]).toEqual([[NOTIFY], [NOTIFY]]);
    await beat(rig, second, { clientID: "b", subscriptions: { [TOPIC]: "paid" }, subVersion: 2 });
    expect([await notified(rig, first), await notified(rig, second)]).toEqual([[NOTIFY], [NOTIFY]]);
    expect(await members(rig)).toEqual(["a", "b"]);
    await rig.sim.run(second.request(RequestCode.UNREGISTER_CLIENT, { clientID: "b", consumerGroup: GROUP }));
    expect([await notified(rig, first), await notified(rig, second)]).toEqual([[NOTIFY], []]);
    expect(await members(rig)).toEqual(["a"]);
    await beat(rig, second, { clientID: "b" });
    await notified(rig, first);
    second.close();
    expect(await notified(rig, first)).toEqual([NOTIFY]);
    expect(await members(rig)).toEqual(["a"]);
  }),
);

test(
  "groups: an id is listed once, however many connections it has",
  inCluster(async (rig) => {
    const first = await rig.connect(), second = await rig.connect();
    for (const client of [first, second]) await beat(rig, client, { clientID: "twin" });
    expect(await members(rig)).toEqual(["twin"]);
    await rig.sim.run(first.request(RequestCode.UNREGISTER_CLIENT, { clientID: "twin", consumerGroup: GROUP }));
    expect(await members(rig)).toEqual(["twin"]);
    // By a connection that is no member: the client came back another way.
    await rig.ask(RequestCode.UNREGISTER_CLIENT, { clientID: "twin", consumerGroup: GROUP });
    expect(await members(rig)).toBe(1);
  }),
);

test(
  "groups: broadcasting ones are not told",
  inCluster(async (rig) => {
    const first = await rig.connect(), second = await rig.connect();
    await beat(rig, first, { clientID: "a", messageModel: "BROADCASTING" });
    await beat(rig, second, { clientID: "b", messageModel: "BROADCASTING" });
    expect(await notified(rig, first)).toEqual([]);
    expect(await members(rig)).toEqual(["a", "b"]);
  }),
);

test(
  "groups: an older subscription does not replace a newer one",
  inCluster(async (rig) => {
    await beat(rig, rig.broker, { subscriptions: { [TOPIC]: "new" }, subVersion: 5 });
    await notified(rig, rig.broker);
    await beat(rig, rig.broker, { subscriptions: { [TOPIC]: "old" }, subVersion: 4 });
    expect(await notified(rig, rig.broker)).toEqual([]);
  }),
);

test(
  "groups: heartbeats that leave subscriptions out keep them, and say so when there are none",
  inCluster(async (rig) => {
    const changed = async (member: Member) => (await beat(rig, rig.broker, member)).extFields["IS_SUB_CHANGE"];
    expect(await changed({ heartbeatFingerprint: 7, withoutSub: true })).toBe("true");
    expect(await changed({ heartbeatFingerprint: 7 })).toBe("true");
    expect(await changed({ heartbeatFingerprint: 7 })).toBe("false");
    expect(await changed({ heartbeatFingerprint: 7, withoutSub: true })).toBe("false");
    const pulled = await rig.ask(RequestCode.PULL_MESSAGE, {
      consumerGroup: GROUP,
      topic: TOPIC,
      queueId: "0",
      queueOffset: "0",
      maxMsgNums: "1",
      sysFlag: "0",
      commitOffset: "0",
      suspendTimeoutMillis: "0",
      subVersion: "1",
    });
    expect(pulled.code).toBe(19);
  }),
);

test(
  "groups: a member without a heartbeat for two minutes is closed",
  inCluster(async (rig) => {
    const silent = await rig.connect(), alive = await rig.connect();
    await beat(rig, silent, { clientID: "silent" });
    for (let i = 0; i < 4; i++) {
      await beat(rig, alive, { clientID: "alive" });
      await rig.sim.run(29_000);
    }
    expect([silent.isClosed, await members(rig)]).toEqual([false, ["alive", "silent"]]);
    await beat(rig, alive, { clientID: "alive" });
    await rig.sim.run(20_000);
    expect([silent.isClosed, alive.isClosed, await members(rig)]).toEqual([true, false, ["alive"]]);
  }),
);

test(
  "groups: one with an illegal name has no members, the others of the heartbeat do",
  inCluster(async (rig) => {
    expect((await beat(rig, rig.broker, { group: "bad group" })).code).toBe(0);
    expect((await beat(rig, rig.broker, { group: "g".repeat(121) })).code).toBe(0);
    expect(await members(rig, "bad group")).toBe(1);
    expect(await members(rig, "g".repeat(121))).toBe(1);
    expect((await beat(rig, rig.broker, { group: "g".repeat(120) })).code).toBe(0);
    expect(await members(rig, "g".repeat(120))).toEqual(["10.0.0.2@1"]);
  }),
);

test(
  "groups: filters other than tags are refused before anybody relies on them",
  inCluster(async (rig) => {
    const check = (expressionType: string) =>
      rig.ask(
        RequestCode.CHECK_CLIENT_CONFIG,
        {},
        new TextEncoder().encode(JSON.stringify({
          clientId: "c",
          group: GROUP,
          subscriptionData: { topic: TOPIC, subString: "a > 1", expressionType, subVersion: 1 },
        })),
      );
    expect((await check("TAG")).code).toBe(0);
    const { code, remark } = await check("SQL92");
    expect([code, remark]).toEqual([1, "The broker does not support consumer to filter message by SQL92"]);
  }),
);
