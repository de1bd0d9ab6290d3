import { expect, test } from "vitest";
import { ONEWAY_FLAG, RequestCode, RESPONSE_FLAG } from "../../client/protocol/codes.ts";
import { encodeCommand } from "../../client/protocol/command.ts";
import { utf8 } from "../support/frames.ts";
import { Random } from "../support/sim.ts";
import { heartbeat, inCluster, pull, pullFields, type Rig, send, sendFields } from "./rig.ts";

/** Both servers still serve. */
async function works(rig: Rig): Promise<void> {
  const client = await rig.connect();
  const ask = (code: number, fields: Record<string, string>, body?: Uint8Array) =>
    rig.sim.run(client.request(code, fields, body));
  expect((await ask(RequestCode.SEND_MESSAGE_V2, sendFields(), utf8("still here"))).code).toBe(0);
  expect((await ask(RequestCode.PULL_MESSAGE, pullFields())).code).toBe(0);
  client.close();
  const names = await rig.connect(rig.cluster.namesrvAddr);
  expect((await rig.sim.run(names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, { topic: "TBW102" }))).code).toBe(0);
  names.close();
}

test(
  "broker: bytes that are no frame end their connection and no other",
  inCluster(async (rig) => {
    const garbage = [
      utf8("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
      new Uint8Array(64).fill(0xff),
      new Uint8Array(64),
      // A frame of 20 bytes whose header claims to be longer, and one of a header kind there is not.
      Uint8Array.from([0, 0, 0, 20, 0, 0, 1, 0, ...new Array<number>(16).fill(32)]),
      Uint8Array.from([0, 0, 0, 20, 7, 0, 0, 16, ...new Array<number>(16).fill(32)]),
      // Headers of the right length that say nothing.
      Uint8Array.from([0, 0, 0, 6, 0, 0, 0, 2, 0x7b, 0x7b]),
      Uint8Array.from([0, 0, 0, 6, 1, 0, 0, 2, 0, 10]),
    ];
    for (const bytes of garbage) {
      for (const addr of [rig.brokerAddr, rig.cluster.namesrvAddr]) {
        const peer = await rig.connect(addr);
        peer.write(bytes);
        await rig.sim.run(() => peer.isClosed);
        expect(peer.strays).toEqual([]);
      }
    }
    await works(rig);
  }),
);

test(
  "broker: a frame that never ends keeps nobody else waiting",
  inCluster(async (rig) => {
    const frame = encodeCommand({
      code: RequestCode.SEND_MESSAGE_V2,
      opaque: 1,
      flag: 0,
      extFields: sendFields(),
      body: new Uint8Array(1_000_000),
      serializeType: "JSON",
    });
    const peers = await Promise.all(Array.from({ length: 20 }, () => rig.connect()));
    for (const [at, peer] of peers.entries()) peer.write(frame.subarray(0, (frame.length * at / 20) | 0));
    await rig.sim.run(1_000);
    await works(rig);
    for (const peer of peers) peer.close();
    await rig.sim.run(100);
    await works(rig);
  }),
);

test(
  "broker: damaged requests are answered or end their connection; nothing stands still",
  inCluster(async (rig) => {
    const seed = 20_261_130, random = new Random(seed);
    console.log(`seed ${seed}`);
    const requests: [number, Record<string, string>, Uint8Array?][] = [
      [RequestCode.SEND_MESSAGE_V2, sendFields(), utf8("body")],
      [RequestCode.SEND_BATCH_MESSAGE, { ...sendFields(), m: "true" }, new Uint8Array(40).fill(1)],
      [RequestCode.PULL_MESSAGE, pullFields()],
      [RequestCode.HEART_BEAT, {}, heartbeat()],
      [RequestCode.UNREGISTER_CLIENT, { clientID: "c", consumerGroup: "g" }],
      [RequestCode.GET_CONSUMER_LIST_BY_GROUP, { consumerGroup: "g" }],
      [RequestCode.QUERY_CONSUMER_OFFSET, { consumerGroup: "g", topic: "Orders", queueId: "0" }],
      [RequestCode.CONSUMER_SEND_MSG_BACK, { group: "g", offset: "0", delayLevel: "0" }],
      [RequestCode.CHECK_CLIENT_CONFIG, {}, utf8('{"subscriptionData":{"topic":"T","subString":"*"}}')],
      [RequestCode.GET_ROUTEINFO_BY_TOPIC, { topic: "Orders" }],
    ];
    for (let round = 0; round < 300; round++) {
      const [code, extFields, body] = requests[round % requests.length]!;
      const serializeType = round % 20 < 10 ? "JSON" : "ROCKETMQ";
      const bytes = encodeCommand({ code, opaque: round, flag: 0, extFields, body, serializeType });
      for (let i = 0; i < 3; i++) bytes[4 + Math.floor(random.next() * (bytes.length - 4))] = random.next() * 256;
      const peer = await rig.connect(round % 7 === 0 ? rig.cluster.namesrvAddr : rig.brokerAddr);
      peer.write(bytes);
      await rig.sim.run(5);
      peer.close();
    }
    await rig.sim.run(100);
    await works(rig);
  }),
);

test(
  "broker: bodies that are not what their code says are answered 1",
  inCluster(async (rig) => {
    const bodies = [
      "",
      "{",
      "[]",
      "null",
      '"text"',
      '{"producerDataSet":[]}',
      '{"consumerDataSet":{}}',
      "{".repeat(10_000),
    ];
    for (const code of [RequestCode.HEART_BEAT, RequestCode.CHECK_CLIENT_CONFIG]) {
      for (const body of bodies) {
        const answer = await rig.ask(code, {}, utf8(body));
        expect(`${code} ${body.slice(0, 30)}: ${answer.code} ${answer.remark}`).toMatch(/: 1 .+/);
      }
    }
    await works(rig);
  }),
);

test(
  "broker: an unknown code is answered 3 with a remark, in the request's header kind; a oneway one is not answered",
  inCluster(async (rig) => {
    for (const serializeType of ["JSON", "ROCKETMQ"] as const) {
      for (const client of [rig.broker, rig.names]) {
        const answer = await rig.sim.run(client.request(9_999, {}, undefined, { serializeType }));
        expect([answer.code, answer.remark, answer.serializeType]).toEqual([
          3,
          " request type 9999 not supported",
          serializeType,
        ]);
        expect(answer.version).toBe(513);
      }
    }
    const far = await rig.ask(200_050);
    expect([far.code, far.serializeType]).toEqual([3, "JSON"]);
    rig.broker.oneway(9_999);
    await rig.sim.run(100);
    expect(rig.broker.strays).toEqual([]);
  }),
);

test(
  "broker: what looks like an answer is nobody's, and is not answered",
  inCluster(async (rig) => {
    for (const flag of [RESPONSE_FLAG, RESPONSE_FLAG | ONEWAY_FLAG]) {
      rig.broker.write(
        encodeCommand({
          code: RequestCode.SEND_MESSAGE_V2,
          opaque: 77,
          flag,
          extFields: sendFields(),
          body: utf8("x"),
          serializeType: "JSON",
        }),
      );
    }
    await rig.sim.run(100);
    expect(rig.broker.strays).toEqual([]);
    expect(rig.broker.isClosed).toBe(false);
    expect((await pull(rig)).code).toBe(19);
    expect((await send(rig)).extFields["queueOffset"]).toBe("0");
  }),
);
