import { inspect } from "node:util";
import { expect, test } from "vitest";
import { StoredIds, storedMessage } from "../../client/producer/send_result.ts";
import { hasSendAnswer } from "../../client/protocol/send.ts";
import { UniqueIds } from "../../client/protocol/ids.ts";
import { encodeCommand } from "../../client/protocol/command.ts";
import type { SendResult } from "../../client/message.ts";
import { openCore } from "../support/core.ts";
import { freshSeed, Random } from "../core/random.ts";

const queue = { topic: "Orders", brokerName: "a", queueId: 3 };
const HEX = [..."0123456789ABCDEF"];

test("the ids of results that share most of their digits are read back as they came", () => {
  const seed = freshSeed();
  console.log(`offset ids seed ${seed}`);
  const random = new Random(seed);
  const digits = (count: number): string => Array.from({ length: count }, () => random.pick(HEX)).join("");
  const commons = [digits(24), digits(24), "0".repeat(24), digits(23) + "f", " ".repeat(24), digits(23) + "é"];
  const core = openCore(), connection = core.openConnection(), uniqueIds = new UniqueIds(0);
  const ids = new StoredIds(uniqueIds);
  const results: { result: SendResult; msgId: string; queueOffset: bigint }[] = [];
  let read = 0;
  for (let call = 0; call < 2_000; call++) {
    const rest = random.once(10) ? "00000000" : random.once(10) ? "\u0000\u0000\u0000\u0000abcd" : digits(8);
    let msgId = (random.once(8) ? random.pick(commons) : commons[call >> 9]!) + rest;
    if (random.once(20)) msgId = digits(random.pick([1, 31, 33, 56]));
    const queueOffset = BigInt(random.pick([0, 7, 2 ** 31, 2 ** 52]));
    const frame = encodeCommand({
      code: 0,
      opaque: call,
      flag: 1,
      extFields: { msgId, queueId: "3", queueOffset: String(queueOffset), MSG_REGION: "DefaultRegion" },
      serializeType: random.once(2) ? "JSON" : "ROCKETMQ",
    });
    core.room(connection).set(frame);
    core.feed(connection, frame.length, (frame) => {
      if (!hasSendAnswer(frame)) return;
      read++;
      results.push({ result: ids.result("SEND_OK", queue, frame, call), msgId, queueOffset });
    });
  }
  // What the core cannot read as it lies, as escaped texts, has another way.
  expect(read).toBeGreaterThan(1_000);
  for (const [at, { result, msgId, queueOffset }] of results.entries()) {
    if (result.offsetMsgId !== msgId) {
      throw new Error(`seed ${seed}, result ${at}: ${result.offsetMsgId}, not ${msgId}`);
    }
    expect(result.queueOffset).toBe(queueOffset);
  }
  expect(new Set(results.map(({ result }) => result.msgId)).size).toBe(results.length);
});

test("a result that is not SEND_OK tells so in every form, and all else like any other", () => {
  const ids = new StoredIds(new UniqueIds(0)), common = ids.whole("ID");
  const safe = storedMessage("SEND_OK", queue, 7, 1, common);
  const unsafe = storedMessage("FLUSH_DISK_TIMEOUT", queue, 7, 1, common);
  const all = { msgId: safe.msgId, offsetMsgId: "ID", queue, queueOffset: "7" };
  expect(JSON.parse(JSON.stringify(safe))).toEqual({ sendStatus: "SEND_OK", ...all });
  expect(JSON.parse(JSON.stringify(unsafe))).toEqual({ sendStatus: "FLUSH_DISK_TIMEOUT", ...all });
  expect([safe.sendStatus, unsafe.sendStatus]).toEqual(["SEND_OK", "FLUSH_DISK_TIMEOUT"]);
  for (const shown of ["FLUSH_DISK_TIMEOUT", unsafe.msgId, "7n"]) expect(inspect(unsafe)).toContain(shown);
});
