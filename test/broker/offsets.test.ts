import { expect, test } from "vitest";
import { RequestCode } from "../../client/protocol/codes.ts";
import { GROUP, heartbeat, inCluster, type Rig, send, TOPIC } from "./rig.ts";

const QUEUE = { topic: TOPIC, queueId: "0" };
const outcome = async (answer: ReturnType<Rig["ask"]>) => {
  const { code, remark, extFields } = await answer;
  return code === 0 ? `${code} ${extFields["offset"] ?? extFields["timestamp"] ?? ""}`.trim() : `${code} ${remark}`;
};
const query = ({ ask }: Rig, fields: Record<string, string> = {}) =>
  outcome(ask(RequestCode.QUERY_CONSUMER_OFFSET, { consumerGroup: GROUP, ...QUEUE, ...fields }));
const update = ({ ask }: Rig, commitOffset: string, fields: Record<string, string> = {}) =>
  outcome(ask(RequestCode.UPDATE_CONSUMER_OFFSET, { consumerGroup: GROUP, ...QUEUE, commitOffset, ...fields }));
const join = ({ ask }: Rig) => ask(RequestCode.HEART_BEAT, {}, heartbeat());

test(
  "offsets: what is committed is answered, a lower one too",
  inCluster(async (rig) => {
    await join(rig);
    for (const offset of ["7", "3", "9223372036854775807"]) {
      expect(await update(rig, offset)).toBe("0");
      expect(await query(rig)).toBe(`0 ${offset}`);
    }
    expect(await query(rig, { setZeroIfNotFound: "false" })).toBe("0 9223372036854775807");
  }),
);

test(
  "offsets: one commit that wants no answer counts, on the VIP port too",
  inCluster(async (rig) => {
    await join(rig);
    rig.vip.oneway(RequestCode.UPDATE_CONSUMER_OFFSET, { consumerGroup: GROUP, ...QUEUE, commitOffset: "5" });
    await rig.sim.run(10);
    expect(await query(rig)).toBe("0 5");
    expect(rig.vip.strays).toEqual([]);
  }),
);

test(
  "offsets: a group without one begins at 0 while the first message is there, unless it will not",
  inCluster(async (rig) => {
    expect(await query(rig)).toBe("22 Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first");
    await send(rig);
    expect(await query(rig)).toBe("0 0");
    expect(await query(rig, { setZeroIfNotFound: "false" })).toBe(
      "22 Not found, do not set to zero, maybe this group boot first",
    );
    expect(await query(rig, { queueId: "7" })).toMatch(/^22 /);
    expect(await query(rig, { topic: "Nope" })).toMatch(/^22 /);
  }),
);

test(
  "offsets: a commit for an unknown group is 26, for an unknown topic 17, for a queue that is not there 0",
  inCluster(async (rig) => {
    expect(await update(rig, "1")).toBe(`26 Group ${GROUP} not exist!`);
    await join(rig);
    expect(await update(rig, "1", { topic: "Nope" })).toBe("17 Topic Nope not exist!");
    expect(await update(rig, "1", { queueId: "99" })).toBe("0");
  }),
);

test(
  "offsets: lowest, highest and first stored",
  inCluster(async (rig) => {
    const numbers = async (queue: Record<string, string> = QUEUE) => [
      await outcome(rig.ask(RequestCode.GET_MIN_OFFSET, queue)),
      await outcome(rig.ask(RequestCode.GET_MAX_OFFSET, queue)),
      await outcome(rig.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, queue)),
    ];
    expect(await numbers()).toEqual(["0 0", "0 0", "0 -1"]);
    const before = rig.sim.clock.now();
    for (let i = 0; i < 3; i++) await send(rig);
    const [min, max, stored] = await numbers();
    expect([min, max]).toEqual(["0 0", "0 3"]);
    expect(Number(stored!.slice(2))).toBeGreaterThanOrEqual(before);
    expect(await numbers({ topic: "Nope", queueId: "3" })).toEqual(["0 0", "0 0", "0 -1"]);
  }),
);

test(
  "offsets: by time, from below and from above",
  inCluster(async (rig) => {
    const start = rig.sim.clock.now();
    const times: number[] = [];
    for (let i = 0; i < 3; i++) {
      await rig.sim.run(1_000);
      await send(rig);
      times.push(rig.sim.clock.now());
    }
    const search = (timestamp: number, boundaryType?: string) =>
      outcome(rig.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {
        ...QUEUE,
        timestamp: String(Math.round(timestamp)),
        ...(boundaryType && { boundaryType }),
      }));
    expect(await search(start)).toBe("0 0");
    expect(await search(times[0]! + 500)).toBe("0 1");
    expect(await search(times[1]! + 500, "LOWER")).toBe("0 2");
    expect(await search(times[2]! + 500)).toBe("0 3");
    expect(await search(start, "UPPER")).toBe("0 0");
    expect(await search(times[0]! + 500, "upper")).toBe("0 0");
    expect(await search(times[1]! + 500, "UPPER")).toBe("0 1");
    expect(await search(times[2]! + 500, "UPPER")).toBe("0 2");
    expect(
      await outcome(rig.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, { topic: "Nope", queueId: "0", timestamp: "0" })),
    ).toBe("0 0");
  }),
);
