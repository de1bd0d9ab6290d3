import { expect, test } from "vitest";
import { text } from "../../client/body_codec.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { encodeConsumerList } from "../../client/protocol/consumer_list.ts";
import { decodeHeartbeat } from "../../client/protocol/heartbeat.ts";
import { isRetryTopic } from "../../client/protocol/names.ts";
import { encodeOffset } from "../../client/protocol/offsets.ts";
import { decodePullRequest } from "../../client/protocol/pull.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import type { Answer } from "../support/peer.ts";
import { Simulation } from "../support/sim.ts";
import { scripted } from "./scripted_broker.ts";
import { collect, GROUP, inCluster, numbers, sendAll, TOPIC } from "./world.ts";

/** Virtual ms; a query that is not answered takes five seconds, the next try comes a second later. */
const LONG_ENOUGH = 30_000;

/** Where a consumer pulls that gets these answers to its questions for the topic's offset, the last one again and again. */
async function firstPull(
  answers: readonly (Answer | "cut" | undefined)[],
): Promise<{ pulls: number[]; commits: number }> {
  using sim = new Simulation(11);
  const pulls: number[] = [];
  let clientId = "", asked = 0, commits = 0;
  const world = await scripted(sim, {
    a: {
      queues: 1,
      onOther(request, connection) {
        const { code, extFields, body } = request;
        if (code === RequestCode.HEART_BEAT) clientId = decodeHeartbeat(body).clientID;
        if (code === RequestCode.GET_CONSUMER_LIST_BY_GROUP) {
          connection.answer(request, { body: encodeConsumerList([clientId]) });
        } else if (code === RequestCode.QUERY_CONSUMER_OFFSET) {
          const answer = isRetryTopic(extFields["topic"]!)
            ? { extFields: encodeOffset(0) }
            : answers[Math.min(asked++, answers.length - 1)];
          if (answer === "cut") connection.close();
          else if (answer) connection.answer(request, answer);
        } else if (code === RequestCode.GET_MAX_OFFSET) {
          connection.answer(request, { extFields: encodeOffset(70) });
        } else if (code === RequestCode.PULL_MESSAGE) {
          const { topic, queueOffset } = decodePullRequest(extFields);
          if (topic === TOPIC) pulls.push(queueOffset);
        } else if (code === RequestCode.UPDATE_CONSUMER_OFFSET) {
          commits++;
          return false;
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
    coreMemory: 8,
    onError: () => {},
  });
  await sim.run(consumer.start({ timeout: LONG_ENOUGH }));
  await sim.run(LONG_ENOUGH);
  await sim.run(consumer.shutdown({ timeout: 1_000 }));
  await sim.run(world.close());
  return { pulls, commits };
}

const committed: Answer = { extFields: encodeOffset(500) };

test.each<[string, Answer | "cut" | undefined]>([
  ["is not answered", undefined],
  ["loses its connection", "cut"],
  ["is answered with code 1", { code: 1, remark: "not now" }],
  ['is answered with code 19, which is another "not found"', { code: 19 }],
  ["is answered without an offset", { code: 0 }],
])("offset-1, offset-2: a question for the offset that %s is asked again: nothing is made up", async (_, failure) => {
  const { pulls, commits } = await firstPull([failure, failure, committed]);
  // Pulls that lose their connection with a question are sent again.
  expect(new Set(pulls)).toEqual(new Set([500]));
  expect(commits).toBe(0);
});

test("offset-2: only code 22 is a new group, which begins where it is told to", async () => {
  expect((await firstPull([{ code: 22 }])).pulls).toEqual([70]);
});

test(
  "offset-3: what was consumed is committed before the connection closes, though the timer was not due",
  inCluster(async ({ sim, producer, consumer }) => {
    await sim.run(sendAll(producer(), 100));
    const first = consumer({ persistConsumerOffsetInterval: 3_600_000 });
    const messages = collect(first);
    await sim.run(() => messages.length === 100);
    await sim.run(first.shutdown());
    const second = consumer();
    const again = collect(second);
    await sim.run(sendAll(producer(), 4, 100));
    await sim.run(() => again.length >= 4);
    await sim.run(1_000);
    expect(again.map(({ body }) => Number(body)).sort((one, other) => one - other)).toEqual(numbers(4, 100));
  }),
);

test(
  "offset-8: a consumer that lives shortly makes progress each time",
  inCluster(async ({ sim, producer, consumer }) => {
    const sender = producer();
    const seen: number[] = [];
    for (let life = 0; life < 5; life++) {
      await sim.run(sendAll(sender, 3, life * 3));
      const member = consumer();
      const messages = collect(member);
      await sim.run(() => messages.length === 3);
      await sim.run(member.shutdown());
      seen.push(...messages.map(({ body }) => Number(body)));
    }
    expect(seen.sort((one, other) => one - other)).toEqual(numbers(15));
  }),
);
