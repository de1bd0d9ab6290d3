import { expect, test } from "vitest";
import { BrokerState } from "../../broker/broker_state.ts";
import { encodeBatch } from "../../client/protocol/batch.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import type { RemotingCommand } from "../../client/protocol/command.ts";
import { bodyCrc } from "../../client/protocol/crc32.ts";
import { decodeOffsetMsgId } from "../../client/protocol/ids.ts";
import { decodeProperties, encodeProperties } from "../../client/protocol/properties.ts";
import { encodeRecord } from "../../client/protocol/record.ts";
import { decodeRoute } from "../../client/protocol/route.ts";
import { formatAddress } from "../../client/remoting/address.ts";
import { Random } from "../core/random.ts";
import { utf8 } from "../support/frames.ts";
import { readLines } from "../protocol/vectors.ts";
import { inCluster, pull, recordsOf, type Rig, send, sendFields, type Sent, TOPIC } from "./rig.ts";

const ADDED = { MSG_REGION: "DefaultRegion", TRACE_ON: "true", CLUSTER: "DefaultCluster" };
const outcome = ({ code, remark }: RemotingCommand): string => `${code} ${remark ?? ""}`;

test(
  "send: the answer says where the message lies; the record there is byte for byte the layout",
  inCluster(async (rig) => {
    await send(rig, {}, "first");
    const properties = { UNIQ_KEY: "0A00000100010000000100000001000B", TAGS: "paid", KEYS: "1 2", "größe": "七" };
    const answer = await send(rig, { properties, flag: -7, bornTimestamp: 1_712_345_678_901, sysFlag: 0x301 });
    const { msgId, ...fields } = answer.extFields;
    expect(fields).toEqual({
      queueId: "0",
      queueOffset: "1",
      transactionId: "0A00000100010000000100000001000B",
      MSG_REGION: "DefaultRegion",
      TRACE_ON: "true",
    });
    expect([answer.code, answer.version, answer.flag, answer.body.length]).toEqual([0, 513, 1, 0]);
    const [first, second] = recordsOf(await pull(rig));
    const { host, port, offset } = decodeOffsetMsgId(msgId!);
    expect(formatAddress(host, port)).toBe(rig.brokerAddr);
    expect(offset).toBe(BigInt(first!.totalSize));
    expect(second!.bornHost).toMatch(new RegExp(`^${rig.broker.localAddress}:\\d+$`));
    const { body } = await pull(rig, { queueOffset: 1 });
    expect(body).toEqual(encodeRecord({
      topic: TOPIC,
      queueId: 0,
      flag: -7,
      queueOffset: 1n,
      physicalOffset: offset,
      sysFlag: 0x301,
      bornTimestamp: 1_712_345_678_901,
      bornHost: second!.bornHost,
      storeTimestamp: second!.storeTimestamp,
      storeHost: rig.brokerAddr,
      reconsumeTimes: 0,
      preparedTransactionOffset: 0n,
      bodyCRC: bodyCrc(utf8("hello")),
      body: utf8("hello"),
      properties: encodeProperties({ ...properties, ...ADDED }),
    }));
  }),
);

/** The same message by both ways: field `l`, which says nothing here, makes a send take the ordinary one. */
async function bothWays(rig: Rig, sent: Sent, body: string): Promise<[Uint8Array, Uint8Array]> {
  const records: Uint8Array[] = [];
  for (const maxReconsumeTimes of [undefined, 16]) {
    const { code, extFields } = await send(rig, { ...sent, ...(maxReconsumeTimes && { maxReconsumeTimes }) }, body);
    expect(code).toBe(0);
    const { body: bytes } = await pull(rig, { queueOffset: extFields["queueOffset"]!, maxMsgNums: 1 });
    // Only where and when it was stored differs.
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    view.setBigInt64(20, 0n);
    view.setBigInt64(28, 0n);
    view.setBigInt64(56, 0n);
    records.push(bytes);
  }
  return records as [Uint8Array, Uint8Array];
}

test(
  "send: the hot way stores what the ordinary way stores, whatever the message",
  inCluster(async (rig) => {
    const seed = 20_261_130, random = new Random(seed);
    const texts = ["a", "TagA", "Ünï", "七", "💙", 'q"\\/\b\f\n\r\t', "\u0003", "x\u0001y", "v".repeat(300), "1"];
    const tags = ["a", "TagA", "Ünï", "日本", "a b"];
    for (let round = 0; round < 300; round++) {
      rig.broker.serializeType = random.once(2) ? "JSON" : "ROCKETMQ";
      const properties: Record<string, string> = {
        UNIQ_KEY: random.once(3) ? "ключ" : "0A00000100010000000100000001000A",
      };
      if (random.once(2)) properties["TAGS"] = random.pick(tags);
      for (
        let i = random.below(4);
        i > 0;
        i--
      ) properties[`${random.pick(["k", "TAG", "DELAYS", "ÄÖ", "WAIT"])}${i}`] = random.pick(texts);
      const sent = {
        properties,
        sysFlag: random.pick([0, 1, 2, 0x101, 0x301, 0x30]),
        flag: random.bits() | 0,
        bornTimestamp: random.pick([0, 1, 1_700_000_000_000, 999_999_999_999_999]),
      };
      const [hot, ordinary] = await bothWays(rig, sent, random.pick(["b", "body", "七".repeat(100)]));
      expect(hot, `seed ${seed}, round ${round}: ${JSON.stringify(sent)}`).toEqual(ordinary);
    }
  }),
);

test(
  "send: properties of odd shapes are stored as the ordinary way reads them",
  inCluster(async (rig) => {
    for (
      const [text, expected] of [
        ["UNIQ_KEY\u0001U\u0002TAGS\u0001a", { UNIQ_KEY: "U", TAGS: "a" }],
        ["UNIQ_KEY\u0001U\u0002TAGS\u0001a\u0002TAGS\u0001b\u0002", { UNIQ_KEY: "U", TAGS: "b" }],
        ["UNIQ_KEY\u0001U\u0002nothing\u0002=\u0001\u0002\u0001x\u0002", { UNIQ_KEY: "U" }],
        ["UNIQ_KEY\u0001U\u0002POP_CK\u00010 1 2\u0002", { UNIQ_KEY: "U" }],
        ["UNIQ_KEY\u0001U\u0002MSG_REGION\u0001other\u0002TRACE_ON\u0001false\u0002CLUSTER\u0001x\u0002", {
          UNIQ_KEY: "U",
        }],
        ["UNIQ_KEY\u0001U\u0002__proto__\u0001p\u0002", JSON.parse('{"UNIQ_KEY":"U","__proto__":"p"}')],
      ] as const
    ) {
      const { extFields } = await rig.ask(RequestCode.SEND_MESSAGE_V2, { ...sendFields(), i: text }, utf8("x"));
      const [record] = recordsOf(await pull(rig, { queueOffset: extFields["queueOffset"]! }));
      expect({ ...decodeProperties(record!.properties) }, JSON.stringify(text)).toEqual({ ...expected, ...ADDED });
    }
  }),
);

test(
  "send: a message without an id gets one, which is its transaction id too",
  inCluster(async (rig) => {
    const { extFields } = await send(rig, { properties: { k: "v" } });
    const [record] = recordsOf(await pull(rig));
    const { UNIQ_KEY, ...rest } = decodeProperties(record!.properties);
    expect(UNIQ_KEY).toMatch(/^[0-9A-F]{32}$/);
    expect(extFields["transactionId"]).toBe(UNIQ_KEY);
    expect(rest).toEqual({ k: "v", ...ADDED });
  }),
);

test(
  "send: SEND_MESSAGE with its long names stores the same",
  inCluster(async (rig) => {
    const { a, b, c, d, e, f, g, h, i, j, k, m } = sendFields({ properties: { UNIQ_KEY: "U", TAGS: "t" } });
    const fields = {
      producerGroup: a!,
      topic: b!,
      defaultTopic: c!,
      defaultTopicQueueNums: d!,
      queueId: e!,
      sysFlag: f!,
      bornTimestamp: g!,
      flag: h!,
      properties: i!,
      reconsumeTimes: j!,
      unitMode: k!,
      batch: m!,
    };
    await rig.ask(RequestCode.SEND_MESSAGE_V2, { ...sendFields(), i: i! }, utf8("x"));
    expect((await rig.ask(RequestCode.SEND_MESSAGE, fields, utf8("x"))).code).toBe(0);
    const [one, other] = recordsOf(await pull(rig));
    const { queueOffset, physicalOffset, ...same } = { ...one!, storeTimestamp: other!.storeTimestamp };
    expect(other).toEqual({
      ...same,
      queueOffset: queueOffset + 1n,
      physicalOffset: physicalOffset + BigInt(one!.totalSize),
    });
  }),
);

test(
  "send: a oneway message is stored and not answered",
  inCluster(async (rig) => {
    rig.broker.oneway(RequestCode.SEND_MESSAGE_V2, sendFields(), utf8("x"));
    rig.broker.oneway(RequestCode.SEND_MESSAGE_V2, sendFields({ queueId: 9 }), utf8("refused"));
    rig.broker.oneway(9_999);
    expect(recordsOf(await pull(rig)).length).toBe(1);
    expect(rig.broker.strays).toEqual([]);
  }),
);

test(
  "send: the elements of a batch are messages with offsets that follow each other",
  inCluster(async (rig) => {
    await send(rig);
    const elements = ["a", "b", "c"].map((name, flag) => ({
      flag,
      body: utf8(name),
      properties: encodeProperties({ UNIQ_KEY: name, TAGS: name }),
    }));
    const fields = { ...sendFields({ properties: { UNIQ_KEY: "all" } }), m: "true" };
    const answer = await rig.ask(RequestCode.SEND_BATCH_MESSAGE, fields, encodeBatch(elements));
    const records = recordsOf(await pull(rig, { queueOffset: 1 }));
    expect(answer.extFields["msgId"]!.split(",").map((id) => decodeOffsetMsgId(id).offset)).toEqual(
      records.map(({ physicalOffset }) => physicalOffset),
    );
    expect([answer.extFields["queueOffset"], answer.extFields["transactionId"]]).toEqual(["1", "all"]);
    expect(
      records.map(({ flag, queueOffset, properties }) => [flag, queueOffset, decodeProperties(properties)["TAGS"]]),
    ).toEqual([
      [0, 1n, "a"],
      [1, 2n, "b"],
      [2, 3n, "c"],
    ]);
    const broken = await rig.ask(RequestCode.SEND_BATCH_MESSAGE, fields, encodeBatch(elements).subarray(0, 30));
    expect(outcome(broken)).toMatch(/^1 .*batch/);
    const empty = [...elements, { flag: 0, body: new Uint8Array(0), properties: "" }];
    expect((await rig.ask(RequestCode.SEND_BATCH_MESSAGE, fields, encodeBatch(empty))).code).toBe(13);
    // None of a batch is stored when one cannot be.
    expect(recordsOf(await pull(rig)).length).toBe(4);
  }),
);

test(
  "send: an unknown topic comes into being as its template says",
  inCluster(async (rig) => {
    const queues = async (topic: string) => {
      const answer = await rig.sim.run(rig.names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, { topic }));
      if (answer.code !== 0) return `${answer.code}`;
      const { readQueueNums, writeQueueNums, perm } = decodeRoute(answer.body).queueDatas[0]!;
      return `${readQueueNums} ${writeQueueNums} ${perm}`;
    };
    expect(await queues("New")).toBe("17");
    expect((await send(rig, { topic: "New", queueId: 3 })).code).toBe(0);
    expect(await queues("New")).toBe("4 4 6");
    const many = await rig.ask(RequestCode.SEND_MESSAGE_V2, { ...sendFields({ topic: "Many" }), d: "64" }, utf8("x"));
    expect(many.code).toBe(0);
    expect(await queues("Many")).toBe("8 8 6");
    expect(outcome(await send(rig, { topic: "Other", defaultTopic: "Orders" }))).toBe(
      "17 topic[Other] not exist, apply first please!",
    );
    expect(outcome(await send(rig, { topic: "Other", defaultTopic: "nothing" }))).toMatch(/^17 /);
    const none = await rig.ask(RequestCode.SEND_MESSAGE_V2, { ...sendFields({ topic: "None" }), d: "0" }, utf8("x"));
    expect(none.code).toBe(17);
    expect((await send(rig, { topic: "%RETRY%g", defaultTopic: "nothing" })).code).toBe(0);
    expect(await queues("%RETRY%g")).toBe("1 1 6");
  }),
);

test(
  "send: a queue id below zero is the broker's choice",
  inCluster(async (rig) => {
    const ids = new Set<string>();
    for (let i = 0; i < 60; i++) ids.add((await send(rig, { topic: "New", queueId: -1 })).extFields["queueId"]!);
    expect([...ids].sort()).toEqual(["0", "1", "2", "3"]);
  }),
);

test(
  "send: what a broker refuses, and that each refusal has the region",
  inCluster(async (rig) => {
    const refused = async (sent: Sent, body?: string) => {
      const answer = await send(rig, sent, body);
      expect(answer.extFields).toEqual({ MSG_REGION: "DefaultRegion", TRACE_ON: "true" });
      return outcome(answer);
    };
    expect(await refused({ queueId: 1 })).toMatch(/^29 request queueId\[1\] is illegal/);
    expect(await refused({ topic: "bad topic!" })).toBe(
      "29 The specified topic: bad topic!, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
    );
    for (const topic of ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT"]) {
      expect(await refused({ topic })).toBe(`16 Sending message to topic[${topic}] is forbidden.`);
    }
    expect(await refused({ properties: { UNIQ_KEY: "U", big: "p".repeat(32_760) } })).toMatch(
      /^13 the message is illegal/,
    );
    // It would fit, but not with what the broker adds.
    expect(await refused({ properties: { UNIQ_KEY: "U", big: "p".repeat(32_720) } })).toMatch(
      /^13 the message is illegal/,
    );
    expect(await refused({}, "x".repeat(4_194_305))).toMatch(/^13 the message is illegal/);
    expect(await refused({ sysFlag: 4 })).toMatch(/^16 .*transaction/);
    expect(await refused({ properties: { UNIQ_KEY: "U", TRAN_MSG: "true" } })).toMatch(/^16 .*transaction/);
    expect(await refused({ properties: { UNIQ_KEY: "U", TIMER_DELAY_SEC: "5" } })).toMatch(/^1 .*timer/);
    expect(await refused({ topic: "%RETRY%bad group" })).toMatch(/^29 /);
    const empty = await rig.ask(RequestCode.SEND_MESSAGE_V2, sendFields());
    expect(outcome(empty)).toBe("13 the message has no body");
    expect(recordsOf(await pull(rig))).toEqual([]);
  }),
);

test(
  "send: a body of 4 MiB is taken",
  inCluster(async (rig) => {
    const body = "x".repeat(4_194_304);
    expect((await send(rig, {}, body)).code).toBe(0);
    const [record] = recordsOf(await pull(rig));
    expect([record!.body.length, record!.bodyCRC]).toEqual([4_194_304, bodyCrc(utf8(body))]);
  }),
);

test(
  "send: names are checked as TopicValidator does",
  inCluster(async (rig) => {
    for (const { name, serverTopic } of readLines("oracle-validate.jsonl")) {
      if (!serverTopic || !name) continue;
      const answer = await rig.ask(
        RequestCode.SEND_MESSAGE_V2,
        sendFields({ topic: name, defaultTopic: "nothing" }),
        utf8("x"),
      );
      if (answer.code === 16 || answer.code === 0) expect(serverTopic.valid).toBe(true);
      else if (answer.code === 26) expect(serverTopic.valid).toBe(true);
      else {expect(outcome(answer)).toBe(
          serverTopic.valid ? `17 topic[${name}] not exist, apply first please!` : `29 ${serverTopic.remark}`,
        );}
    }
  }),
);

test(
  "send: a broker with an IPv6 address writes 16 bytes for it, by both ways",
  inCluster(async (rig) => {
    const [hot, ordinary] = await bothWays(rig, { properties: { UNIQ_KEY: "U" } }, "x");
    expect(hot).toEqual(ordinary);
    const [record] = recordsOf(await pull(rig));
    expect(record!.storeHost).toMatch(/^\[fd00:/);
  }, { listenHost: "fd00::1" }),
);

test(
  "send: a plain message takes the hot way in both header kinds, one with a delay or without an id does not",
  inCluster(async (rig) => {
    const original = BrokerState.prototype.store;
    let ordinary = 0;
    BrokerState.prototype.store = function (message) {
      ordinary++;
      return original.call(this, message);
    };
    try {
      for (const serializeType of ["JSON", "ROCKETMQ"] as const) {
        rig.broker.serializeType = serializeType;
        ordinary = 0;
        await send(rig);
        await send(rig, { properties: { WAIT: "true", UNIQ_KEY: "U", TAGS: "paid", KEYS: "1", "größe": '七 "' } });
        expect(ordinary).toBe(0);
        await send(rig, { properties: { UNIQ_KEY: "U", DELAY: "1" } });
        await send(rig, { properties: { TAGS: "paid" } });
        expect(ordinary).toBe(2);
      }
    } finally {
      BrokerState.prototype.store = original;
    }
  }),
);
