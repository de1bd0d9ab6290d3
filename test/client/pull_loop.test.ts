import { expect, test } from "vitest";
import { FrameError } from "../../client/errors.ts";
import type { ConsumeFromWhere } from "../../client/options.ts";
import { encodeProperties } from "../../client/protocol/properties.ts";
import { concat } from "../support/frames.ts";
import { pulled, record, withScript } from "./scripted_consumer.ts";
import { collect } from "./world.ts";

const MOVED = 21, NO_MATCH = 20, NONE = 19;

test.each<[ConsumeFromWhere, number, number]>([
  ["CONSUME_FROM_LAST_OFFSET", 70, 0],
  ["CONSUME_FROM_FIRST_OFFSET", 0, 0],
  [{ timestamp: 1_700_000_000_000 }, 30, 70],
])(
  "a group without an offset begins with %j at %i, in its retry topic at %i",
  (consumeFromWhere, first, retry) =>
    withScript({ maxOffset: 70, searched: 30 }, async ({ sim, consumer, pulls, retryPulls }) => {
      collect(consumer({ consumeFromWhere }));
      await sim.run(() => pulls.length === 1 && retryPulls.length === 1);
      expect([pulls[0]!.queueOffset, retryPulls[0]!.queueOffset]).toEqual([first, retry]);
    })(),
);

test.each<ConsumeFromWhere>([
  "CONSUME_FROM_LAST_OFFSET",
  "CONSUME_FROM_FIRST_OFFSET",
  { timestamp: 1 },
])(
  "a committed offset goes before %j",
  (consumeFromWhere) =>
    withScript({ committed: 42, maxOffset: 70, searched: 30 }, async ({ sim, consumer, pulls }) => {
      collect(consumer({ consumeFromWhere }));
      await sim.run(() => pulls.length === 1);
      expect(pulls[0]!.queueOffset).toBe(42);
    })(),
);

test.each([[900, "up"], [10, "down"]])("an offset the broker does not have is corrected: to %i, %s", (offset) => {
  const script = {
    committed: 500,
    pull: (_: unknown, count: number) => {
      if (count > 0) return undefined;
      script.committed = offset; // as the broker has it after the commit
      return pulled(offset, MOVED);
    },
  };
  return withScript(script, async ({ sim, consumer, pulls, commits }) => {
    collect(consumer());
    await sim.run(() => pulls.length === 2);
    expect(pulls.map(({ queueOffset }) => queueOffset)).toEqual([500, offset]);
    expect(commits).toEqual([offset]);
  })();
});

test(
  "consumer-7: the next offset is taken when nothing was delivered, and committed",
  withScript({
    pull: (_, count) => [pulled(500, NO_MATCH), pulled(503, NO_MATCH), pulled(503, NONE)][count],
  }, async ({ sim, consumer, pulls, commits }) => {
    collect(consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }));
    await sim.run(() => pulls.length === 4);
    expect(pulls.map(({ queueOffset }) => queueOffset)).toEqual([0, 500, 503, 503]);
    await sim.run(() => commits.length > 0);
    expect(commits.at(-1)).toBe(503);
  }),
);

test(
  "a broker that does not hold pulls is not asked without pause",
  withScript({ pull: () => pulled(0, NONE) }, async ({ sim, consumer, pulls }) => {
    collect(consumer());
    await sim.run(10_000);
    expect(pulls.length).toBeLessThan(110);
  }),
);

test(
  "consumer-12: an idle poll is held 15 s, in ms, below the client's own limit, and is no error",
  withScript({}, async ({ sim, consumer, pulls, errors }) => {
    collect(consumer());
    await sim.run(() => pulls.length === 1);
    expect(pulls[0]).toMatchObject({ suspendTimeoutMillis: 15_000, sysFlag: 2 });
    await sim.run(20_000);
    expect(errors).toEqual([]);
  }),
);

test(
  "a bad record is reported once, and the others are delivered and committed",
  withScript({
    pull(_, count) {
      if (count > 0) return undefined;
      const records = ["one", "two", "three"].map((body, offset) => record(offset, body));
      const bad = records[1]!;
      bad[bad.lastIndexOf("w".charCodeAt(0))]! ^= 1; // in its body
      return pulled(3, 0, concat(records));
    },
  }, async ({ sim, consumer, errors, commits }) => {
    const seen = collect(consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }));
    await sim.run(() => seen.length === 2);
    await sim.run(() => commits.length > 0);
    expect(seen.map(({ body }) => body)).toEqual(["one", "three"]);
    expect(errors.length).toBe(1);
    expect(errors[0]).toBeInstanceOf(FrameError);
    expect(errors[0]!.message).toContain("offset 1");
    expect(commits.at(-1)).toBe(3);
  }),
);

test(
  "with checkCrc off the same record is delivered",
  withScript({
    pull: (_, count) => count > 0 ? undefined : pulled(1, 0, record(0, "one", { bodyCRC: 7 })),
  }, async ({ sim, consumer, errors }) => {
    const options = { consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET", checkCrc: false } as const;
    const seen = collect(consumer(options));
    await sim.run(() => seen.length === 1);
    expect([seen[0]!.body, errors]).toEqual(["one", []]);
  }),
);

test(
  "consumer-6: a message of the retry topic shows its original topic, or the retry topic when it names none",
  withScript({
    pull(_, count) {
      if (count > 0) return undefined;
      const topic = "%RETRY%billing";
      return pulled(
        2,
        0,
        concat([
          record(0, "known", { topic, properties: encodeProperties({ RETRY_TOPIC: "Bills" }), reconsumeTimes: 1 }),
          record(1, "unknown", { topic, reconsumeTimes: 2 }),
        ]),
      );
    },
  }, async ({ sim, consumer }) => {
    const seen = collect(consumer({ consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET" }));
    await sim.run(() => seen.length === 2);
    expect(seen.map(({ topic, reconsumeTimes }) => [topic, reconsumeTimes])).toEqual([
      ["Bills", 1],
      ["%RETRY%billing", 2],
    ]);
  }),
);

test(
  "a refused pull is reported and tried again a second later; a busy broker soon",
  withScript({
    pull: (_, count) => [{ code: 1, remark: "ill" }, { code: 215, remark: "busy" }][count],
  }, async ({ sim, consumer, pulls, errors }) => {
    collect(consumer());
    await sim.run(() => pulls.length === 1);
    const first = sim.now;
    await sim.run(() => pulls.length === 2);
    expect(sim.now - first).toBeGreaterThanOrEqual(1_000);
    const second = sim.now;
    await sim.run(() => pulls.length === 3);
    expect(sim.now - second).toBeLessThan(100);
    expect(errors.map((error) => (error as { responseCode?: number }).responseCode)).toEqual([1, 215]);
  }),
);

test(
  "consumer-14 and -15: heartbeats come at once and every 30 s, with the broker's own words",
  withScript({}, async ({ sim, consumer, heartbeats }) => {
    collect(consumer());
    await sim.run(120_000);
    const gaps = heartbeats.map(({ at }, index) => at - (heartbeats[index - 1]?.at ?? 0));
    expect(gaps[0]).toBeLessThan(100);
    expect(Math.max(...gaps)).toBeLessThan(30_100);
    for (const word of ["CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_LAST_OFFSET"]) {
      expect(heartbeats.at(-1)!.json).toContain(`"${word}"`);
    }
  }),
);
