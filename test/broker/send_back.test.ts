import { expect, test } from "vitest";
import { DELAY_LEVELS, parseDelayLevels } from "../../broker/schedule.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { decodeOffsetMsgId } from "../../client/protocol/ids.ts";
import { decodeProperties } from "../../client/protocol/properties.ts";
import type { StoredRecord } from "../../client/protocol/record.ts";
import { readLines } from "../protocol/vectors.ts";
import { GROUP, inCluster, pull, pullFields, recordsOf, type Rig, send, SUSPEND, TOPIC } from "./rig.ts";

const RETRY = `%RETRY%${GROUP}`, DLQ = `%DLQ%${GROUP}`, SCHEDULE = "SCHEDULE_TOPIC_XXXX";

const back = ({ ask }: Rig, offset: bigint, fields: Record<string, string | number> = {}) => {
  const all = {
    group: GROUP,
    offset,
    delayLevel: 0,
    maxReconsumeTimes: 16,
    originTopic: TOPIC,
    unitMode: false,
    ...fields,
  };
  const texts = Object.entries(all).map(([name, value]) => [name, String(value)]);
  return ask(RequestCode.CONSUMER_SEND_MSG_BACK, Object.fromEntries(texts));
};
const records = async (rig: Rig, topic: string, queueId = 0): Promise<StoredRecord[]> => {
  const answer = await pull(rig, { topic, queueId });
  return answer.code === 0 ? recordsOf(answer) : [];
};
/** Waits for the next message of a topic. */
const next = async ({ sim, broker }: Rig, topic: string, queueOffset: number): Promise<StoredRecord> => {
  const fields = pullFields({ topic, queueOffset, sysFlag: SUSPEND | 4, suspendTimeoutMillis: 10_000_000 });
  return recordsOf(await sim.run(broker.request(RequestCode.PULL_MESSAGE, fields), 10_000_000))[0]!;
};

test(
  "send-back: the message comes again in the retry topic after its delay, with what it was",
  inCluster(async (rig) => {
    await send(rig, { properties: { UNIQ_KEY: "U", TAGS: "paid", k: "v" }, flag: 3, bornTimestamp: 5 }, "body");
    const [original] = await records(rig, TOPIC);
    const start = rig.sim.now;
    expect((await back(rig, original!.physicalOffset)).code).toBe(0);
    const retry = await next(rig, RETRY, 0);
    expect(Math.round((rig.sim.now - start) / 1_000)).toBe(10);
    const { flag, bornTimestamp, bornHost, sysFlag, body } = original!;
    expect(retry).toMatchObject({
      topic: RETRY,
      queueId: 0,
      queueOffset: 0n,
      reconsumeTimes: 1,
      flag,
      bornTimestamp,
      bornHost,
      sysFlag,
      body,
    });
    const { ORIGIN_MESSAGE_ID, ...properties } = decodeProperties(retry.properties);
    expect(decodeOffsetMsgId(ORIGIN_MESSAGE_ID!).offset).toBe(original!.physicalOffset);
    // As the recorded retry messages of 5.5.0 have them.
    expect(properties).toEqual({
      UNIQ_KEY: "U",
      TAGS: "paid",
      k: "v",
      RETRY_TOPIC: TOPIC,
      WAIT: "false",
      DELAY: "3",
      REAL_TOPIC: RETRY,
      REAL_QID: "0",
      MSG_REGION: "DefaultRegion",
      TRACE_ON: "true",
      CLUSTER: "DefaultCluster",
    });
  }),
);

test(
  "send-back: each time a level more, then the dead letter topic, all with the first message's id and topic",
  inCluster(async (rig) => {
    const levels = new Map(
      readLines("oracle-delay.jsonl").filter((row) => "retry" in row).map((row) => [row.retry, row.delayLevelWhenZero]),
    );
    const delays = parseDelayLevels(DELAY_LEVELS);
    await send(rig, { properties: { UNIQ_KEY: "U" } });
    let [record] = await records(rig, TOPIC);
    const first = record!;
    for (let failures = 0; failures < 16; failures++) {
      const start = rig.sim.now;
      expect((await back(rig, record!.physicalOffset)).code).toBe(0);
      record = await next(rig, RETRY, failures);
      const delay = delays[Math.min(levels.get(failures), delays.length) - 1]!;
      expect(Math.round((rig.sim.now - start) / 1_000)).toBe(delay / 1_000);
      expect(record.reconsumeTimes).toBe(failures + 1);
    }
    expect(await records(rig, DLQ)).toEqual([]);
    expect((await back(rig, record!.physicalOffset)).code).toBe(0);
    const [dead] = await records(rig, DLQ);
    const { RETRY_TOPIC, ORIGIN_MESSAGE_ID, UNIQ_KEY, DELAY } = decodeProperties(dead!.properties);
    expect([RETRY_TOPIC, UNIQ_KEY, DELAY]).toEqual([TOPIC, "U", "0"]);
    expect(decodeOffsetMsgId(ORIGIN_MESSAGE_ID!).offset).toBe(first.physicalOffset);
  }),
);

test(
  "send-back: level below zero and a limit that is reached lead to the dead letter topic at once",
  inCluster(async (rig) => {
    await send(rig);
    const [record] = await records(rig, TOPIC);
    await back(rig, record!.physicalOffset, { delayLevel: -1 });
    await back(rig, record!.physicalOffset, { maxReconsumeTimes: 0 });
    expect((await records(rig, DLQ)).map(({ reconsumeTimes }) => reconsumeTimes)).toEqual([1, 1]);
  }),
);

test(
  "send-back: a level of its own counts, one that is too high is the highest",
  inCluster(async (rig) => {
    await send(rig);
    const [record] = await records(rig, TOPIC);
    for (const [delayLevel, level, seconds] of [[2, "2", 7], [1, "1", 3], [99, "2", 7]] as const) {
      const start = rig.sim.now;
      await back(rig, record!.physicalOffset, { delayLevel });
      const retry = await next(rig, RETRY, Number((await pull(rig, { topic: RETRY })).extFields["maxOffset"]));
      expect(decodeProperties(retry.properties)["DELAY"]).toBe(level);
      expect(Math.round((rig.sim.now - start) / 1_000)).toBe(seconds);
    }
  }, { messageDelayLevel: "3s 7s" }),
);

test(
  "send-back: what is not there cannot be sent back",
  inCluster(async (rig) => {
    await send(rig, {}, "x".repeat(500));
    for (const offset of [1n, 200n, 999_999_999_999n, -1n, 9_223_372_036_854_775_807n]) {
      const { code, remark } = await back(rig, offset);
      expect([code, remark]).toEqual([1, `look message by offset failed, ${offset}`]);
    }
    expect((await back(rig, 0n, { group: "bad group" })).code).toBe(26);
  }),
);

test(
  "send-back: a body that looks like a record at its own place is none",
  inCluster(async (rig) => {
    await send(rig, {}, "0123456789");
    const { body: bytes } = await pull(rig);
    // The next record begins behind this one, and its body 88 bytes further.
    const at = bytes.length + 88, fake = bytes.slice();
    new DataView(fake.buffer).setBigInt64(28, BigInt(at));
    await rig.ask(RequestCode.SEND_MESSAGE_V2, {
      a: "p",
      b: TOPIC,
      c: "TBW102",
      d: "4",
      e: "0",
      f: "0",
      g: "1",
      h: "0",
      i: "UNIQ_KEY\u0001U\u0002",
    }, fake);
    const [, second] = await records(rig, TOPIC);
    expect(second!.body).toEqual(fake);
    expect((await back(rig, BigInt(at))).code).toBe(1);
  }),
);

test(
  "delay: a message with a level waits in the schedule topic and then comes where it belongs",
  inCluster(async (rig) => {
    const start = rig.sim.now;
    const sent = await send(rig, { properties: { UNIQ_KEY: "U", DELAY: "2", WAIT: "true" } });
    expect(sent.extFields["queueOffset"]).toBe("0");
    expect(await records(rig, TOPIC)).toEqual([]);
    const [waiting] = await records(rig, SCHEDULE, 1);
    expect(decodeProperties(waiting!.properties)).toMatchObject({ REAL_TOPIC: TOPIC, REAL_QID: "0", DELAY: "2" });
    const delivered = await next(rig, TOPIC, 0);
    expect(Math.round((rig.sim.now - start) / 1_000)).toBe(5);
    expect(delivered.body).toEqual(waiting!.body);
    expect(delivered.properties).toBe(waiting!.properties);
  }),
);

test(
  "delay: messages of one level come in order, of several levels each in its time",
  inCluster(async (rig) => {
    for (const [id, level] of [["slow", 3], ["a", 1], ["b", 1], ["c", 2]] as const) {
      await send(rig, { properties: { UNIQ_KEY: id, DELAY: String(level) } });
    }
    await rig.sim.run(20_000);
    expect((await records(rig, TOPIC)).map(({ properties }) => decodeProperties(properties)["UNIQ_KEY"])).toEqual([
      "a",
      "b",
      "c",
      "slow",
    ]);
  }),
);

test(
  "delay: a level that is no number, or 0, is none",
  inCluster(async (rig) => {
    for (const DELAY of ["0", "x", "-1", "1.5"]) await send(rig, { properties: { UNIQ_KEY: "U", DELAY } });
    expect((await records(rig, TOPIC)).length).toBe(4);
  }),
);

test(
  "delay: a retry message that has failed too often is dead, whoever sends it",
  inCluster(async (rig) => {
    await send(rig, {
      topic: RETRY,
      reconsumeTimes: 17,
      maxReconsumeTimes: 16,
      properties: { UNIQ_KEY: "dead", DELAY: "3" },
    });
    await send(rig, { topic: RETRY, reconsumeTimes: 16, maxReconsumeTimes: 16, properties: { UNIQ_KEY: "alive" } });
    const ids = async (topic: string) =>
      (await records(rig, topic)).map(({ properties }) => decodeProperties(properties)["UNIQ_KEY"]);
    expect([await ids(DLQ), await ids(RETRY)]).toEqual([["dead"], ["alive"]]);
  }),
);
