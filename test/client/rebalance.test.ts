import { expect, test } from "vitest";
import { text } from "../../client/body_codec.ts";
import { ONEWAY_FLAG, RequestCode, RESPONSE_FLAG } from "../../client/protocol/codes.ts";
import { encodeCommand, type RemotingCommand } from "../../client/protocol/command.ts";
import { encodeConsumerList } from "../../client/protocol/consumer_list.ts";
import { decodeHeartbeat } from "../../client/protocol/heartbeat.ts";
import { isRetryTopic } from "../../client/protocol/names.ts";
import { encodeOffset } from "../../client/protocol/offsets.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import { concat } from "../support/frames.ts";
import { Simulation } from "../support/sim.ts";
import { scripted } from "./scripted_broker.ts";
import { GROUP, TOPIC } from "./world.ts";

/** That members have changed, and the answer right behind it: one run of bytes. */
const noticeAndAnswer = ({ opaque }: RemotingCommand): Uint8Array =>
  concat([
    encodeCommand({
      code: RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
      opaque: 1,
      flag: ONEWAY_FLAG,
      extFields: { consumerGroup: GROUP },
      serializeType: "JSON",
    }),
    encodeCommand({ code: 0, opaque, flag: RESPONSE_FLAG, extFields: encodeOffset(0), serializeType: "JSON" }),
  ]);

test("members that change as a rebalance ends are asked for again at once", async () => {
  using sim = new Simulation(3);
  let clientId = "";
  /** When the broker was asked who is in the group. */
  const asked: number[] = [];
  const world = await scripted(sim, {
    a: {
      queues: 1,
      onOther(request, connection) {
        const { code, extFields, body } = request;
        if (code === RequestCode.HEART_BEAT) clientId = decodeHeartbeat(body).clientID;
        if (code === RequestCode.GET_CONSUMER_LIST_BY_GROUP) {
          asked.push(sim.now);
          connection.answer(request, { body: encodeConsumerList([clientId]) });
          return true;
        }
        // The offset of the retry topic is the last thing that the first run waits for.
        if (code === RequestCode.QUERY_CONSUMER_OFFSET) {
          if (isRetryTopic(extFields["topic"]!)) connection.write(noticeAndAnswer(request));
          else connection.answer(request, { extFields: encodeOffset(0) });
          return true;
        }
        return code === RequestCode.PULL_MESSAGE;
      },
    },
  });
  const consumer = createPushConsumerOn(sim.host(), {
    namesrvAddr: world.namesrvAddr,
    consumerGroup: GROUP,
    codec: text,
    subscriptions: { [TOPIC]: "*" },
    coreMemory: 16,
  });
  await sim.run(consumer.start());
  const runs = asked.length;
  await sim.run(500);
  expect(asked.length).toBeGreaterThan(runs);
  await sim.run(consumer.shutdown({ timeout: 1_000 }));
  await sim.run(world.close());
});
