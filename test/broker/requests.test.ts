import { expect, test } from "vitest";
import { RequestCode } from "../../client/protocol/codes.ts";
import { utf8 } from "../support/frames.ts";
import { GROUP, inCluster, pull, pullFields, recordsOf, type Rig, sendFields, TOPIC } from "./rig.ts";

const QUEUE = { topic: TOPIC, queueId: "0" };
const { a, b, c, d, e, f, g, h } = sendFields();

/** Each request of a broker with all the fields that it must have. */
const REQUESTS: readonly (readonly [name: string, code: number, fields: Readonly<Record<string, string>>])[] = [
  ["SEND_MESSAGE_V2", RequestCode.SEND_MESSAGE_V2, { a: a!, b: b!, c: c!, d: d!, e: e!, f: f!, g: g!, h: h! }],
  ["SEND_BATCH_MESSAGE", RequestCode.SEND_BATCH_MESSAGE, { a: a!, b: b!, c: c!, d: d!, e: e!, f: f!, g: g!, h: h! }],
  ["SEND_MESSAGE", RequestCode.SEND_MESSAGE, {
    producerGroup: a!,
    topic: b!,
    defaultTopic: c!,
    defaultTopicQueueNums: d!,
    queueId: e!,
    sysFlag: f!,
    bornTimestamp: g!,
    flag: h!,
  }],
  ["PULL_MESSAGE", RequestCode.PULL_MESSAGE, withoutOptional(pullFields())],
  ["LITE_PULL_MESSAGE", RequestCode.LITE_PULL_MESSAGE, withoutOptional(pullFields())],
  ["QUERY_CONSUMER_OFFSET", RequestCode.QUERY_CONSUMER_OFFSET, { consumerGroup: GROUP, ...QUEUE }],
  ["UPDATE_CONSUMER_OFFSET", RequestCode.UPDATE_CONSUMER_OFFSET, { consumerGroup: GROUP, ...QUEUE, commitOffset: "1" }],
  ["SEARCH_OFFSET_BY_TIMESTAMP", RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, { ...QUEUE, timestamp: "1" }],
  ["GET_MAX_OFFSET", RequestCode.GET_MAX_OFFSET, QUEUE],
  ["GET_MIN_OFFSET", RequestCode.GET_MIN_OFFSET, QUEUE],
  ["GET_EARLIEST_MSG_STORETIME", RequestCode.GET_EARLIEST_MSG_STORETIME, QUEUE],
  ["UNREGISTER_CLIENT", RequestCode.UNREGISTER_CLIENT, { clientID: "c" }],
  ["CONSUMER_SEND_MSG_BACK", RequestCode.CONSUMER_SEND_MSG_BACK, { offset: "0", group: GROUP, delayLevel: "0" }],
  ["GET_CONSUMER_LIST_BY_GROUP", RequestCode.GET_CONSUMER_LIST_BY_GROUP, { consumerGroup: GROUP }],
];

function withoutOptional({ subscription: _, ...fields }: Record<string, string>): Record<string, string> {
  return fields;
}

const TEXTS: ReadonlySet<string> = new Set([
  "a",
  "b",
  "c",
  "producerGroup",
  "topic",
  "defaultTopic",
  "consumerGroup",
  "clientID",
  "group",
]);

const ask = async ({ ask }: Rig, code: number, fields: Record<string, string>): Promise<string> => {
  const { code: answered, remark } = await ask(code, fields, utf8("body"));
  return `${answered} ${remark}`;
};

for (const [name, code, fields] of REQUESTS) {
  test(
    `requests: ${name} without a field it must have, or with one that is no number, is answered 1 and names the field`,
    inCluster(async (rig) => {
      for (const serializeType of ["JSON", "ROCKETMQ"] as const) {
        rig.broker.serializeType = serializeType;
        for (const field of Object.keys(fields)) {
          const { [field]: _, ...rest } = fields;
          expect(await ask(rig, code, rest)).toBe(`1 Field "${field}" is missing`);
          expect(await ask(rig, code, { ...fields, [field]: "" })).toBe(`1 Field "${field}" is missing`);
          if (TEXTS.has(field)) continue;
          for (const wrong of ["x", "1.5", "1e3", "0x10", "--1", "NaN", " 1", "9".repeat(40)]) {
            expect(await ask(rig, code, { ...fields, [field]: wrong })).toMatch(
              new RegExp(`^1 Field "${field}" is wrong`),
            );
          }
        }
      }
    }),
  );
}

test(
  "requests: numbers at the ends of their ranges are taken or refused, and nothing breaks",
  inCluster(async (rig) => {
    const ends = [
      "0",
      "-1",
      "2147483647",
      "-2147483648",
      "9007199254740991",
      "9223372036854775807",
      "-9223372036854775808",
    ];
    for (const [name, code, fields] of REQUESTS) {
      for (const field of Object.keys(fields).filter((field) => !TEXTS.has(field))) {
        for (const end of ends) expect(await ask(rig, code, { ...fields, [field]: end }), name).toMatch(/^\d+ /);
      }
    }
    expect((await pull(rig, { queueOffset: 0 })).code).toBe(0);
  }),
);

test(
  "requests: names of any kind are names, and unknown fields are nobody's",
  inCluster(async (rig) => {
    for (
      const odd of ["__proto__", "constructor", "toString", "hasOwnProperty", "💙", "\u0000", " ", "x".repeat(20_000)]
    ) {
      for (const [, code, fields] of REQUESTS) {
        for (const field of Object.keys(fields).filter((field) => TEXTS.has(field))) {
          expect(await ask(rig, code, { ...fields, [field]: odd, [odd]: odd })).toMatch(/^\d+ /);
        }
      }
    }
    const route = await rig.sim.run(rig.names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, { topic: "__proto__" }));
    expect(route.code).toBe(0);
    expect(recordsOf(await pull(rig, { topic: "__proto__" })).length).toBeGreaterThan(0);
  }),
);
