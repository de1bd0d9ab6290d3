import { expect, test } from "vitest";
import { BODY_BYTES, checksum, CRC_PROPERTY, fillBody, indexOf, isBodyOf, keyOf } from "../../cli/demo/payload.ts";
import { toJSON } from "../../cli/demo/report.ts";
import { quantile, Tally } from "../../cli/demo/tally.ts";
import type { MessageExt } from "../../host-node/mod.ts";

function delivered(index: number, change: Partial<MessageExt> = {}): MessageExt {
  const words = new Uint32Array(BODY_BYTES / 4);
  fillBody(words, index);
  const body = new Uint8Array(words.buffer);
  return { keys: [keyOf(index)], properties: { [CRC_PROPERTY]: checksum(body) }, body, ...change } as MessageExt;
}

test("the bodies of two messages differ, and one changed byte is noticed", () => {
  const scratch = new Uint32Array(BODY_BYTES / 4);
  const { body } = delivered(7);
  expect(isBodyOf(7, body, scratch)).toBe(true);
  expect(isBodyOf(8, body, scratch)).toBe(false);
  expect(isBodyOf(7, body.subarray(1), scratch)).toBe(false);
  body[BODY_BYTES - 1] = (body[BODY_BYTES - 1] ?? 0) ^ 1;
  expect(isBodyOf(7, body, scratch)).toBe(false);
});

test("keys name their index, and foreign ones name none", () => {
  expect(indexOf(keyOf(3), 4)).toBe(3);
  for (const key of ["m-4", "m-", "x-1", "m-1 ", "m--1", undefined]) expect(indexOf(key, 4)).toBe(-1);
});

test("the tally counts what is lost, duplicate and bad by key", () => {
  const tally = new Tally(4);
  for (let index = 0; index < 4; index++) tally.sending(index);
  tally.received(delivered(0));
  tally.received(delivered(0));
  tally.received(delivered(1, { properties: { [CRC_PROPERTY]: "00000000" } }));
  tally.received(delivered(2, { keys: ["stranger"] }));
  tally.received(delivered(3, { body: delivered(2).body, properties: delivered(2).properties }));
  expect(tally).toMatchObject({ consumed: 5, distinct: 3, duplicate: 1, bad: 3, lost: 1, checksumsVerified: 3 });
});

test("quantiles of nothing, of one and of a hundred", () => {
  expect(quantile([], 0.5)).toBe(0);
  expect(quantile([3], 0.99)).toBe(3);
  expect(quantile(Array.from({ length: 100 }, (_, i) => 100 - i), 0.99)).toBe(100);
});

test("the report has every field that programs read", () => {
  const times = { p50Ms: 1, p99Ms: 2, sendP50Ms: 1, sendP99Ms: 2 };
  const report = {
    sent: 10,
    consumed: 10,
    seconds: 2,
    cpuSeconds: 1,
    checksumsVerified: 10,
    lost: 0,
    duplicate: 0,
    bad: 0,
    ...times,
  };
  expect(toJSON(report)).toMatchObject({ messagesPerSecond: 5, cpuSecondsPerMillion: 100_000 });
  const names = ["sent", "consumed", "seconds", "messagesPerSecond", "p50Ms", "p99Ms", "cpuSecondsPerMillion"];
  expect(Object.keys(toJSON(report))).toEqual(
    expect.arrayContaining([...names, "checksumsVerified", "lost", "duplicate", "bad"]),
  );
});
