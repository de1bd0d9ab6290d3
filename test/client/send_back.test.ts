import { expect, test } from "vitest";
import { text } from "../../client/body_codec.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { encodeConsumerList } from "../../client/protocol/consumer_list.ts";
import { decodeHeartbeat } from "../../client/protocol/heartbeat.ts";
import { retryTopic } from "../../client/protocol/names.ts";
import { encodeOffset } from "../../client/protocol/offsets.ts";
import { decodeProperties, encodeProperties } from "../../client/protocol/properties.ts";
import { decodePullRequest } from "../../client/protocol/pull.ts";
import { decodeSendBack, type SendBack } from "../../client/protocol/send_back.ts";
import { decodeSendRequest } from "../../client/protocol/send.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import { Simulation } from "../support/sim.ts";
import { scripted } from "./scripted_broker.ts";
import { pulled, record } from "./scripted_consumer.ts";
import { GROUP, TOPIC } from "./world.ts";

test("what a broker does not take back goes to the retry topic as it was, with all that its sender said", async () => {
  using sim = new Simulation(13);
  let clientId = "", pulls = 0;
  const asked: SendBack[] = [];
  const message = record(7, "fails", {
    flag: 42,
    reconsumeTimes: 2,
    properties: encodeProperties({ UNIQ_KEY: "0A", KEYS: "k", mine: "kept", MIN_OFFSET: "0" }),
  });
  const world = await scripted(sim, {
    a: {
      queues: 1,
      onOther(request, connection) {
        const { code, extFields, body } = request;
        if (code === RequestCode.HEART_BEAT) clientId = decodeHeartbeat(body).clientID;
        if (code === RequestCode.GET_CONSUMER_LIST_BY_GROUP) {
          connection.answer(request, { body: encodeConsumerList([clientId]) });
        } else if (code === RequestCode.QUERY_CONSUMER_OFFSET) {
          connection.answer(request, { extFields: encodeOffset(7) });
        } else if (code === RequestCode.PULL_MESSAGE) {
          if (decodePullRequest(extFields).topic === TOPIC && pulls++ === 0) {
            connection.answer(request, pulled(8, 0, message));
          }
        } else if (code === RequestCode.CONSUMER_SEND_MSG_BACK) {
          asked.push(decodeSendBack(extFields));
          connection.answer(request, { code: 1, remark: "not now" });
        } else {
          return false;
        }
        return true;
      },
    },
  });
  const consumer = createPushConsumerOn(sim.host(), {
    namesrvAddr: world.namesrvAddr,
    consumerGroup: GROUP,
    codec: text,
    subscriptions: { [TOPIC]: "*" },
    maxReconsumeTimes: 5,
    coreMemory: 8,
  });
  consumer.run({
    eachMessage(_, context) {
      context.delayLevelWhenNextConsume = 4;
      throw new Error("no");
    },
  }).catch(() => {});
  await sim.run(() => world.sends.length === 1);
  expect(asked).toEqual([
    {
      group: GROUP,
      offset: 7_000n,
      delayLevel: 4,
      originMsgId: "0A",
      originTopic: TOPIC,
      unitMode: false,
      maxReconsumeTimes: 5,
      brokerName: "a",
    },
  ]);
  const { request } = world.sends[0]!;
  const copy = decodeSendRequest(request.extFields, request.code);
  expect(copy).toMatchObject({
    producerGroup: "CLIENT_INNER_PRODUCER",
    topic: retryTopic(GROUP),
    flag: 42,
    reconsumeTimes: 3,
    maxReconsumeTimes: 5,
  });
  expect({ ...decodeProperties(copy.properties) }).toEqual({
    UNIQ_KEY: "0A",
    KEYS: "k",
    mine: "kept",
    DELAY: "4",
    RETRY_TOPIC: TOPIC,
    ORIGIN_MESSAGE_ID: "0A08000100002A9F0000000000001B58",
  });
  expect(new TextDecoder().decode(request.body)).toBe("fails");
  await sim.run(consumer.shutdown({ timeout: 1_000 }));
  await sim.run(world.close());
});
