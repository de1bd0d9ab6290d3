import { expect, test } from "vitest";
import { RequestCode } from "../../client/protocol/codes.ts";
import { encodeCommand } from "../../client/protocol/command.ts";
import { javaHashCode } from "../../client/protocol/hash.ts";
import { concat } from "../support/frames.ts";
import {
  GROUP,
  heartbeat,
  inCluster,
  pull,
  pullFields,
  recordsOf,
  type Rig,
  send,
  stateOf,
  SUSPEND,
  TOPIC,
} from "./rig.ts";

const tagged = (rig: Rig, tag: string) => send(rig, { properties: { UNIQ_KEY: "U", TAGS: tag } });

test(
  "pull: the states of a queue that never had a message",
  inCluster(async (rig) => {
    expect(stateOf(await pull(rig))).toBe("19 NO_MATCHED_LOGIC_QUEUE next 0 min 0 max 0");
    expect(stateOf(await pull(rig, { queueOffset: 5 }))).toBe("21 NO_MATCHED_LOGIC_QUEUE next 0 min 0 max 0");
    // Somebody has waited for it: it is there now, and empty.
    const held = rig.broker.request(
      RequestCode.PULL_MESSAGE,
      pullFields({ sysFlag: SUSPEND | 4, suspendTimeoutMillis: 1 }),
    );
    expect(stateOf(await rig.sim.run(held))).toBe("19 NO_MESSAGE_IN_QUEUE next 0 min 0 max 0");
    expect(stateOf(await pull(rig, { queueOffset: 5 }))).toBe("21 NO_MESSAGE_IN_QUEUE next 0 min 0 max 0");
  }),
);

test(
  "pull: the states of a queue with three messages",
  inCluster(async (rig) => {
    for (const tag of ["a", "b", "a"]) await tagged(rig, tag);
    const states = async (fields: Record<string, string | number>) => stateOf(await pull(rig, fields));
    expect(await states({})).toBe("0 FOUND next 3 min 0 max 3");
    expect(await states({ queueOffset: 2 })).toBe("0 FOUND next 3 min 0 max 3");
    expect(await states({ maxMsgNums: 1 })).toBe("0 FOUND next 1 min 0 max 3");
    expect(await states({ maxMsgNums: 0 })).toBe("0 FOUND next 1 min 0 max 3");
    expect(await states({ queueOffset: 3 })).toBe("19 OFFSET_OVERFLOW_ONE next 3 min 0 max 3");
    expect(await states({ queueOffset: 4 })).toBe("21 OFFSET_OVERFLOW_BADLY next 3 min 0 max 3");
    expect(await states({ queueOffset: Number.MAX_SAFE_INTEGER })).toBe("21 OFFSET_OVERFLOW_BADLY next 3 min 0 max 3");
    expect(await states({ queueOffset: -1 })).toBe("21 OFFSET_TOO_SMALL next 0 min 0 max 3");
    expect(await states({ subscription: "c" })).toBe("20 NO_MATCHED_MESSAGE next 3 min 0 max 3");
    expect(await states({ subscription: "b" })).toBe("0 FOUND next 3 min 0 max 3");
    // Blank tags are a set that nothing is in.
    expect(await states({ subscription: " || " })).toBe("20 NO_MATCHED_MESSAGE next 3 min 0 max 3");
  }),
);

test(
  "pull: an answer has four numbers, the flags of topic and group, and a body only with messages",
  inCluster(async (rig) => {
    await send(rig);
    const found = await pull(rig), nothing = await pull(rig, { queueOffset: 1 });
    const fields = [
      "suggestWhichBrokerId",
      "nextBeginOffset",
      "minOffset",
      "maxOffset",
      "topicSysFlag",
      "groupSysFlag",
    ];
    for (const answer of [found, nothing]) {
      expect(Object.keys(answer.extFields).sort()).toEqual(fields.sort());
      expect(answer.extFields["suggestWhichBrokerId"]).toBe("0");
    }
    expect(recordsOf(found).map(({ queueOffset }) => queueOffset)).toEqual([0n]);
    expect(nothing.body.length).toBe(0);
    rig.broker.serializeType = "ROCKETMQ";
    const binary = await pull(rig);
    expect([binary.serializeType, stateOf(binary)]).toEqual(["ROCKETMQ", stateOf(found)]);
    expect(binary.body).toEqual(found.body);
    const lite = await rig.ask(RequestCode.LITE_PULL_MESSAGE, pullFields({ sysFlag: 4 | 16 }));
    expect(lite.body).toEqual(found.body);
  }),
);

test(
  "pull: tags are compared by hash alone; the client looks again",
  inCluster(async (rig) => {
    expect(javaHashCode("AaBB")).toBe(javaHashCode("BBAa"));
    await tagged(rig, "AaBB");
    await send(rig, { properties: { UNIQ_KEY: "U" } });
    await tagged(rig, "other");
    const answer = await pull(rig, { subscription: "BBAa" });
    expect(recordsOf(answer).map(({ queueOffset }) => queueOffset)).toEqual([0n]);
    expect(answer.extFields["nextBeginOffset"]).toBe("3");
  }),
);

test(
  "pull: a scan ends after 800 entries, or 20 for each message asked for",
  inCluster(async (rig) => {
    for (let i = 0; i < 1_000; i++) rig.broker.request(RequestCode.SEND_MESSAGE_V2, sendFieldsOf("a"), body);
    expect(stateOf(await pull(rig, { subscription: "b" }))).toBe("20 NO_MATCHED_MESSAGE next 800 min 0 max 1000");
    expect(stateOf(await pull(rig, { subscription: "b", maxMsgNums: 45 }))).toBe(
      "20 NO_MATCHED_MESSAGE next 900 min 0 max 1000",
    );
    expect(stateOf(await pull(rig, { subscription: "b", queueOffset: 800 }))).toBe(
      "20 NO_MATCHED_MESSAGE next 1000 min 0 max 1000",
    );
  }),
);

const body = new Uint8Array(1).fill(65);
const sendFieldsOf = (tag: string) => ({
  a: "p",
  b: TOPIC,
  c: "TBW102",
  d: "4",
  e: "0",
  f: "0",
  g: "1",
  h: "0",
  i: `UNIQ_KEY\u0001U\u0002TAGS\u0001${tag}\u0002`,
});

test(
  "pull: an answer has at most 256 KiB of records, but always one",
  inCluster(async (rig) => {
    for (const size of [100_000, 100_000, 100_000, 1_000_000, 10]) await send(rig, {}, "x".repeat(size));
    const counts: number[] = [];
    for (let queueOffset = 0; queueOffset < 5;) {
      const answer = await pull(rig, { queueOffset });
      counts.push(recordsOf(answer).length);
      queueOffset = Number(answer.extFields["nextBeginOffset"]);
    }
    expect(counts).toEqual([2, 1, 1, 1]);
  }),
);

test(
  "pull: held until a message comes, and answered with all that came in the same turn",
  inCluster(async (rig) => {
    let answered = false;
    const held = rig.broker.request(RequestCode.PULL_MESSAGE, pullFields({ sysFlag: SUSPEND | 4 }));
    held.then(() => answered = true);
    await rig.sim.run(10_000);
    expect(answered).toBe(false);
    const producer = await rig.connect();
    const frames = [1, 2, 3].map((opaque) =>
      encodeCommand({
        code: RequestCode.SEND_MESSAGE_V2,
        opaque,
        flag: 0,
        extFields: sendFieldsOf("a"),
        body,
        serializeType: "JSON",
      })
    );
    producer.write(concat(frames));
    expect(recordsOf(await rig.sim.run(held)).length).toBe(3);
  }),
);

test(
  "pull: a message with another tag wakes nobody; time over, the answer says how far it looked",
  inCluster(async (rig) => {
    const start = rig.sim.now;
    let answered = false;
    const held = rig.broker.request(
      RequestCode.PULL_MESSAGE,
      pullFields({ sysFlag: SUSPEND | 4, subscription: "a", suspendTimeoutMillis: 20_000 }),
    );
    held.then(() => answered = true);
    await rig.sim.run(1_000);
    await tagged(rig, "b");
    await rig.sim.run(5_000);
    expect(answered).toBe(false);
    expect(stateOf(await rig.sim.run(held))).toBe("20 NO_MATCHED_MESSAGE next 1 min 0 max 1");
    expect(rig.sim.now - start).toBeGreaterThanOrEqual(20_000);
    expect(rig.sim.now - start).toBeLessThan(21_000);
  }),
);

test(
  "pull: a hold that ends without a message answers 19",
  inCluster(async (rig) => {
    await send(rig);
    const held = rig.broker.request(RequestCode.PULL_MESSAGE, pullFields({ sysFlag: SUSPEND | 4, queueOffset: 1 }));
    expect(stateOf(await rig.sim.run(held))).toBe("19 OFFSET_OVERFLOW_ONE next 1 min 0 max 1");
  }),
);

test(
  "pull: a held pull of a lost connection is forgotten",
  inCluster(async (rig) => {
    const lost = await rig.connect();
    lost.request(RequestCode.PULL_MESSAGE, pullFields({ sysFlag: SUSPEND | 4 }));
    await rig.sim.run(100);
    const planned = rig.sim.planned;
    lost.close();
    await rig.sim.run(100);
    expect(rig.sim.planned).toBeLessThan(planned);
    await send(rig);
    expect(lost.strays).toEqual([]);
  }),
);

test(
  "pull: commits with its first pass when it says so, also while it is held",
  inCluster(async (rig) => {
    const committed = async () =>
      (await rig.ask(RequestCode.QUERY_CONSUMER_OFFSET, { consumerGroup: GROUP, topic: TOPIC, queueId: "0" }))
        .extFields["offset"];
    await send(rig);
    await pull(rig, { sysFlag: 4, commitOffset: 1 });
    expect(await committed()).toBe("0");
    rig.broker.request(RequestCode.PULL_MESSAGE, pullFields({ sysFlag: 1 | 2 | 4, queueOffset: 1, commitOffset: 1 }));
    await rig.sim.run(10);
    expect(await committed()).toBe("1");
  }),
);

test(
  "pull: without a subscription of its own the group's counts, as told by heartbeat",
  inCluster(async (rig) => {
    const own = { sysFlag: 0, subVersion: 5 };
    const outcome = async (fields: Record<string, string | number> = {}) => {
      const { code, remark } = await pull(rig, { ...own, ...fields });
      return `${code} ${remark}`;
    };
    expect(await outcome()).toBe("24 the consumer's group info not exist");
    await rig.ask(RequestCode.HEART_BEAT, {}, heartbeat({ subscriptions: { Others: "*" }, subVersion: 5 }));
    expect(await outcome()).toBe("24 the consumer's subscription not exist");
    await rig.ask(RequestCode.HEART_BEAT, {}, heartbeat({ subscriptions: { [TOPIC]: "a" }, subVersion: 4 }));
    expect(await outcome()).toBe("25 the consumer's subscription not latest");
    await rig.ask(RequestCode.HEART_BEAT, {}, heartbeat({ subscriptions: { [TOPIC]: "a" }, subVersion: 6 }));
    for (const tag of ["b", "a"]) await tagged(rig, tag);
    const answer = await pull(rig, own);
    expect(recordsOf(answer).map(({ queueOffset }) => queueOffset)).toEqual([1n]);
  }),
);

test(
  "pull: what a broker refuses",
  inCluster(async (rig) => {
    const outcome = async (fields: Record<string, string | number>) => {
      const { code, remark } = await pull(rig, fields);
      return `${code} ${remark}`;
    };
    expect(await outcome({ topic: "Nope" })).toBe("17 topic[Nope] not exist, apply first please!");
    expect(await outcome({ queueId: 1 })).toMatch(/^29 queueId\[1\] is illegal, topic:\[Orders\]/);
    expect(await outcome({ queueId: -1 })).toMatch(/^29 /);
    expect(await outcome({ subscription: "||" })).toBe("23 parse the consumer's subscription failed");
    expect(await outcome({ expressionType: "SQL92", subscription: "a > 1" })).toMatch(/^1 .*SQL92/);
    expect(await outcome({ consumerGroup: "bad group!" })).toMatch(/^26 /);
    expect((await rig.sim.run(rig.vip.request(RequestCode.PULL_MESSAGE, pullFields()))).code).toBe(3);
    expect((await rig.sim.run(rig.vip.request(RequestCode.LITE_PULL_MESSAGE, pullFields()))).code).toBe(3);
  }),
);

test(
  "pull: closing the cluster leaves no held pull behind",
  inCluster(async (rig) => {
    rig.broker.request(RequestCode.PULL_MESSAGE, pullFields({ sysFlag: SUSPEND | 4 }));
    await rig.sim.run(10);
    await rig.sim.run(rig.cluster.close());
    await rig.sim.run(100);
    expect(rig.sim.planned).toBe(0);
  }),
);
