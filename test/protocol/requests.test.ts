import { describe, expect, test } from "vitest";
import { FrameError } from "../../client/errors.ts";
import { decodeCommand, type Request, type SerializeType } from "../../client/protocol/command.ts";
import { decodeNotify, notifyRequest } from "../../client/protocol/notify.ts";
import * as offsets from "../../client/protocol/offsets.ts";
import * as pull from "../../client/protocol/pull.ts";
import { decodeSendBack, sendBackRequest } from "../../client/protocol/send_back.ts";
import { ARGUMENT, type ProgramField, requestProgram, UNIQUE_ID } from "../../client/protocol/program.ts";
import * as send from "../../client/protocol/send.ts";
import { encodeText } from "../../client/protocol/text.ts";
import { decodeUnregister, unregisterRequest } from "../../client/protocol/unregister.ts";
import { answer, lend, lendUnread, runProgram } from "./frames.ts";
import { type FrameVector, present, readFrames } from "./vectors.ts";

const frames = readFrames();
const kinds: readonly SerializeType[] = ["JSON", "ROCKETMQ"];
const requests = (...codes: number[]) => frames.filter(({ type, code }) => type !== "response" && codes.includes(code));
const answers = (requestCodes: number[], codes: number[]) =>
  frames.filter(({ type, code, requestCode }) =>
    type === "response" && requestCodes.includes(requestCode!) && codes.includes(code)
  );
const fieldsOf = ({ expect: { extFields } }: FrameVector): Record<string, string> =>
  Object.fromEntries(Object.entries(present(extFields)).filter(([, value]) => value !== ""));

/** Written by hooks, or by proxies and static topics: not the business of a request. */
const HOOK_FIELDS: ReadonlySet<string> = new Set(["AccessKey", "Signature", "ReqT", "ns", "nsd", "lo", "oway"]);

/** Every recorded field that we write is written as it was recorded; `extra` are those we do not write, or always write. */
function expectSame({ id, code, ...vector }: FrameVector, request: Request, extra: readonly string[]): void {
  const without = (fields: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(fields).filter(([name, value]) => value !== "" && !extra.includes(name) && !HOOK_FIELDS.has(name)),
    );
  expect(request.code, id).toBe(code);
  expect(without(request.extFields ?? {}), id).toEqual(without(fieldsOf({ id, code, ...vector })));
}

describe("send", () => {
  test("recorded sends of every code are read, and written again to the same fields", () => {
    const recorded = requests(10, 310, 320);
    expect(recorded.length).toBeGreaterThan(200);
    for (const vector of recorded) {
      const header = send.decodeSendRequest(fieldsOf(vector), vector.code);
      const request = send.sendRequest(header, header, new Uint8Array(0), vector.code as 10 | 310 | 320);
      // A plain message of a 4.x client does not say that it is no batch.
      expectSame(vector, request, ["m", "batch"]);
    }
  });

  test("a header program writes what the cold request says, in both kinds", () => {
    const to = {
      producerGroup: "PG",
      topic: "Orders",
      brokerName: 'broker "ä"',
      defaultTopic: "TBW102",
      defaultTopicQueueNums: 4,
    };
    const values = { TAGS: '"ключ"\\\n', 'a "b" ä': "\u0001" };
    const kind: send.SendKind = { constants: "WAIT\u0001true\u0002", names: Object.keys(values), isFlagged: true };
    const properties = 'UNIQ_KEY\u0001PREFIX123456789ABC\u0002WAIT\u0001true\u0002TAGS\u0001"ключ"\\\n\u0002' +
      'a "b" ä\u0001\u0001\u0002';
    for (const serializeType of kinds) {
      const steps = send.sendProgram(to, kind, "PREFIX", serializeType);
      for (
        const [queueId, now, sysFlag] of [[0, 1_700_000_000_000, 0], [-1, 1, 769], [2 ** 31 - 1, 2 ** 45, 0]] as const
      ) {
        const body = encodeText("body");
        const frame = runProgram(steps, serializeType, {
          opaque: 2 ** 31 - 1,
          value: queueId,
          now,
          args: [String(sysFlag), ...Object.values(values)],
          body,
          id: 0x123456789abc,
        });
        const fields = {
          queueId,
          sysFlag,
          properties,
          bornTimestamp: now,
          flag: 0,
          reconsumeTimes: 0,
          unitMode: false,
          batch: false,
        };
        const command = decodeCommand(frame);
        expect({ ...command, extFields: { ...command.extFields } }).toEqual({
          code: 310,
          language: "NODE_JS",
          version: 513,
          opaque: 2 ** 31 - 1,
          flag: 0,
          extFields: send.sendRequest(to, fields, body).extFields,
          body,
          serializeType,
        });
        expect(send.decodeSendRequest(command.extFields, 310)).toEqual({
          ...to,
          ...fields,
          maxReconsumeTimes: undefined,
        });
      }
    }
  });

  test("AccessKey and SecurityToken are literals and Signature is an argument, in both kinds", () => {
    const fields: readonly ProgramField[] = [
      ["a", "PG"],
      ["i", ["UNIQ_KEY\u0001P", UNIQUE_ID, "\u0002"]],
      ["AccessKey", 'rocketmq2 "ü"'],
      ["SecurityToken", "token"],
      ["Signature", ARGUMENT],
    ];
    for (const serializeType of kinds) {
      const steps = requestProgram(310, fields, serializeType);
      for (const signature of ["yvZvKMqXR7E4uBCgkiiGE2OZ9Zg=", "+/=="]) {
        const frame = runProgram(steps, serializeType, { opaque: 1, value: 0, now: 5, args: [signature], id: 0xabc });
        expect({ ...decodeCommand(frame).extFields }).toEqual({
          a: "PG",
          i: "UNIQ_KEY\u0001P000000000ABC\u0002",
          AccessKey: 'rocketmq2 "ü"',
          SecurityToken: "token",
          Signature: signature,
        });
      }
    }
  });

  test("without a broker name the field is left out", () => {
    const to = { producerGroup: "PG", topic: "T", brokerName: "", defaultTopic: "TBW102", defaultTopicQueueNums: 4 };
    for (const serializeType of kinds) {
      const kind = { constants: "", names: [], isFlagged: false };
      const steps = send.sendProgram(to, kind, "", serializeType);
      const frame = runProgram(steps, serializeType, { opaque: 1, value: 0, now: 5, args: [] });
      expect(decodeCommand(frame).extFields).not.toHaveProperty("n");
    }
  });

  test("recorded answers are read as Java read them, with and without the core's help", () => {
    const recorded = answers([10, 310, 320], [0, 10, 11, 12]);
    expect(recorded.length).toBeGreaterThan(150);
    for (const vector of recorded) {
      const fields = fieldsOf(vector);
      const place = {
        msgId: fields["msgId"],
        queueId: Number(fields["queueId"]),
        queueOffset: BigInt(fields["queueOffset"]!),
      };
      expect(lend(vector.bytes, send.readSendAnswer), vector.id).toEqual(place);
      expect(lendUnread(vector.bytes, send.readSendAnswer), vector.id).toMatchObject(place);
      const whole = lend(vector.bytes, send.readWholeSendAnswer);
      expect(whole, vector.id).toMatchObject({ ...place, regionId: "DefaultRegion", traceOn: true });
      expect(whole.transactionId, vector.id).toBe(fields["transactionId"]);
      expect(send.decodeSendAnswer(send.encodeSendAnswer(whole)), vector.id).toEqual(whole);
    }
  });

  test("a queue offset beyond 2^53 stays exact", () => {
    const frame = answer(0, { msgId: "A", queueId: "1", queueOffset: "9223372036854775807" });
    expect(lend(frame, send.readSendAnswer).queueOffset).toBe(9223372036854775807n);
  });
});

describe("pull", () => {
  // What we do not send: consumers of proxies, and byte limits that brokers ignore.
  const others = [
    "requestSource",
    "proxyFrowardClientId",
    "maxMsgBytes",
    "ReqT",
    "lo",
    "ns",
    "nsd",
    "oway",
    "expressionType",
  ];

  test("recorded pulls are read, and written again to the same fields", () => {
    const recorded = requests(11, 361);
    expect(recorded.length).toBeGreaterThan(100);
    for (const vector of recorded) {
      const header = pull.decodePullRequest(fieldsOf(vector));
      // A 4.9.7 client sends pulls of its lite pull consumer under the ordinary code.
      expectSame(vector, pull.pullRequest(header, header, vector.code === 361), others);
    }
  });

  test("a header program writes what the cold request says, in both kinds", () => {
    const to = {
      consumerGroup: "CG",
      topic: "%RETRY%CG",
      queueId: 3,
      brokerName: "broker-a",
      maxMsgNums: 32,
      suspendTimeoutMillis: 15_000,
    };
    const fields = { queueOffset: 2 ** 53 - 1, sysFlag: 3, commitOffset: 17, subVersion: 1_700_000_000_000 };
    for (const serializeType of kinds) {
      for (const lite of [false, true]) {
        const call = { opaque: -1 >>> 1, value: 0, now: 1, args: pull.pullArguments(fields) };
        const command = decodeCommand(runProgram(pull.pullProgram(to, serializeType, lite), serializeType, call));
        expect(command.code).toBe(lite ? 361 : 11);
        expect({ ...command.extFields }).toEqual(pull.pullRequest(to, fields).extFields);
        expect(pull.decodePullRequest(command.extFields)).toEqual({
          ...to,
          ...fields,
          expressionType: "TAG",
          subscription: undefined,
        });
      }
    }
  });

  test("recorded answers are read as Java read them, with and without the core's help", () => {
    const recorded = answers([11, 361], [0, 19, 20, 21]);
    expect(recorded.length).toBeGreaterThan(100);
    for (const vector of recorded) {
      const fields = fieldsOf(vector);
      const numbers = {
        code: vector.code,
        nextBeginOffset: Number(fields["nextBeginOffset"]),
        minOffset: Number(fields["minOffset"]),
        maxOffset: Number(fields["maxOffset"]),
        suggestWhichBrokerId: Number(fields["suggestWhichBrokerId"]),
      };
      expect(lend(vector.bytes, pull.readPullAnswer), vector.id).toEqual(numbers);
      expect(lendUnread(vector.bytes, pull.readPullAnswer), vector.id).toMatchObject(numbers);
      expect(pull.decodePullAnswer(vector.code, pull.encodePullAnswer(numbers)), vector.id).toMatchObject(numbers);
    }
  });

  test("an offset of 2^53 or more is an error, not another number", () => {
    const numbers = { nextBeginOffset: "9007199254740992", minOffset: "0", maxOffset: "1", suggestWhichBrokerId: "0" };
    expect(() => lend(answer(0, numbers), pull.readPullAnswer)).toThrow(FrameError);
    expect(() => lend(answer(0, numbers), pull.readPullAnswer)).toThrow(/"nextBeginOffset"/);
  });
});

test("offsets: recorded requests are read, and written again to the same fields", () => {
  const notOurs = ["committed", "boundaryType", "setZeroIfNotFound"];
  let compared = 0;
  for (const vector of requests(14, 15, 29, 30, 31)) {
    const fields = fieldsOf(vector);
    if (vector.step === "offset-missing-field") {
      expect(() => offsets.decodeTopicQueue(fields), vector.id).toThrow(/"queueId" is missing/);
      continue;
    }
    const written = {
      14: () => offsets.queryOffsetRequest(offsets.decodeQueryOffset(fields)),
      15: () =>
        offsets.updateOffsetRequest(
          offsets.decodeUpdateOffset(fields),
          offsets.decodeUpdateOffset(fields).commitOffset,
        ),
      29: () =>
        offsets.searchOffsetRequest(
          offsets.decodeSearchOffset(fields),
          Number(offsets.decodeSearchOffset(fields).timestamp),
        ),
      30: () => offsets.maxOffsetRequest(offsets.decodeTopicQueue(fields)),
      31: () => offsets.minOffsetRequest(offsets.decodeTopicQueue(fields)),
    }[vector.code]!();
    expectSame(vector, written, notOurs);
    compared++;
  }
  expect(compared).toBeGreaterThan(100);
  for (const vector of answers([14, 29, 30, 31], [0])) {
    const fields = fieldsOf(vector);
    expect(offsets.readOffset({ extFields: fields }), vector.id).toBe(BigInt(fields["offset"]!));
  }
  expect(offsets.queryOffsetRequest({ consumerGroup: "G", topic: "T", queueId: 1 }, false).extFields).toEqual({
    consumerGroup: "G",
    topic: "T",
    queueId: "1",
    setZeroIfNotFound: "false",
  });
});

test("send-back, unregister and notify: recorded requests are read, and written again to the same fields", () => {
  for (const vector of requests(36)) {
    expectSame(vector, sendBackRequest(decodeSendBack(fieldsOf(vector))), ["unitMode"]);
  }
  for (const vector of requests(35)) {
    expectSame(vector, unregisterRequest(decodeUnregister(fieldsOf(vector))), []);
  }
  for (const vector of requests(40)) {
    expectSame(vector, notifyRequest(decodeNotify(fieldsOf(vector)).consumerGroup), []);
  }
  expect(requests(36).length).toBeGreaterThan(10);
  expect(requests(35).length).toBeGreaterThan(10);
  expect(requests(40).length).toBeGreaterThan(5);
});

test.each(kinds)(
  "a program of %s takes literals of any length: route and address servers say what they like",
  (kind) => {
    const long = "x".repeat(300_000);
    const program = requestProgram(11, [["topic", long], ["queueId", ARGUMENT], ["bname", long]], kind);
    expect(program.reduce((sum, [literal]) => sum + literal.length, 0)).toBeGreaterThan(600_000);
  },
);
