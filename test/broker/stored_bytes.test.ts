import { expect, test } from "vitest";
import { encodeBatch } from "../../client/protocol/batch.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import type { RemotingCommand } from "../../client/protocol/command.ts";
import { bodyCrc } from "../../client/protocol/crc32.ts";
import { encodeProperties } from "../../client/protocol/properties.ts";
import { utf8 } from "../support/frames.ts";
import { inCluster, pull, recordsOf, type Rig, send, sendFields } from "./rig.ts";

const outcome = ({ code, remark }: RemotingCommand) => `${code} ${remark}`;
const isSame = (one: Uint8Array, other: Uint8Array) =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);
const isEmpty = async (rig: Rig) => (await pull(rig)).code === 19;

test(
  "store: bodies come back byte by byte, from one byte to 4 MiB",
  inCluster(async (rig) => {
    const sizes = [1, 127, 4_095, 65_536, 300 * 1_024, 4_194_304, 4_194_304, 1];
    const bodies = sizes.map((size) => new Uint8Array(size).map((_, at) => at ^ (at >> 8) ^ size));
    for (const [at, body] of bodies.entries()) {
      rig.broker.serializeType = at % 2 === 0 ? "JSON" : "ROCKETMQ";
      expect((await rig.ask(RequestCode.SEND_MESSAGE_V2, sendFields(), body)).code).toBe(0);
    }
    for (const [queueOffset, body] of bodies.entries()) {
      const [record] = recordsOf(await pull(rig, { queueOffset, maxMsgNums: 1 }));
      expect(isSame(record!.body, body)).toBe(true);
      expect(record!.bodyCRC).toBe(bodyCrc(body));
      expect(record!.queueOffset).toBe(BigInt(queueOffset));
    }
  }),
);

test(
  "store: thousands of records over many chunks, each where its queue says",
  inCluster(async (rig) => {
    const count = 4_000, body = new Uint8Array(5_000), connections = 4;
    const clients = await Promise.all(Array.from({ length: connections }, () => rig.connect()));
    const answers: Promise<RemotingCommand>[] = [];
    for (let i = 0; i < count; i++) {
      new DataView(body.buffer).setInt32(0, i);
      answers.push(clients[i % connections]!.request(RequestCode.SEND_MESSAGE_V2, sendFields(), body));
    }
    const all = await rig.sim.run(Promise.all(answers));
    const positions = new Set<string>();
    for (const { extFields } of all) positions.add(extFields["msgId"]!);
    expect(positions.size).toBe(count);
    const seen = new Set<number>();
    for (let queueOffset = 0; queueOffset < count;) {
      const records = recordsOf(await pull(rig, { queueOffset }));
      for (const { body, queueOffset: at } of records) {
        expect(at).toBe(BigInt(queueOffset++));
        seen.add(new DataView(body.buffer, body.byteOffset).getInt32(0));
      }
    }
    expect(seen.size).toBe(count);
  }),
);

test(
  "store: a send whose fields are missing or are no numbers is answered 1 with the reason, and not stored",
  inCluster(async (rig) => {
    for (const letter of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      const fields = sendFields();
      delete fields[letter];
      expect(outcome(await rig.ask(RequestCode.SEND_MESSAGE_V2, fields, utf8("x")))).toMatch(/^1 .+/);
    }
    for (const letter of ["d", "e", "f", "g", "h"]) {
      for (const value of ["", "x", "1.5", "99999999999999999999"]) {
        const answer = await rig.ask(RequestCode.SEND_MESSAGE_V2, { ...sendFields(), [letter]: value }, utf8("x"));
        expect(outcome(answer)).toMatch(/^1 .+/);
      }
    }
    expect(await isEmpty(rig)).toBe(true);
    expect((await send(rig)).code).toBe(0);
  }),
);

test(
  "store: a batch with something wrong in one element is not stored at all",
  inCluster(async (rig) => {
    const batch = encodeBatch([
      { flag: 0, body: utf8("good"), properties: "" },
      { flag: 0, body: utf8("bad"), properties: encodeProperties({ TIMER_DELAY_MS: "1" }) },
    ]);
    for (const body of [batch, batch.subarray(0, batch.length - 1), utf8("garbage"), new Uint8Array(22)]) {
      const answer = await rig.ask(RequestCode.SEND_BATCH_MESSAGE, { ...sendFields(), m: "true" }, body);
      expect(outcome(answer)).toMatch(/^(1|13) .+/);
    }
    expect(await isEmpty(rig)).toBe(true);
  }),
);
