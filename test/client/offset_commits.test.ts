import { expect, test } from "vitest";
import { BrokerOffsetStore } from "../../client/consumer/offset_store.ts";
import type { Instance } from "../../client/instance.ts";
import type { MessageQueue } from "../../client/message.ts";
import { RequestCode, ResponseCode } from "../../client/protocol/codes.ts";
import type { Request } from "../../client/protocol/command.ts";
import { decodeUpdateOffset, encodeOffset } from "../../client/protocol/offsets.ts";

const QUEUES: readonly MessageQueue[] = Array.from({ length: 4 }, (_, queueId) => ({
  topic: "Orders",
  brokerName: "broker-a",
  queueId,
}));

/** `ConsumerOffsetManager#commitOffset`: each request has a thread of its own, and all look before one of them writes. */
class RacingBroker {
  readonly tables = new Map<string, Map<number, number>>();
  commits = 0;
  atOnce = 0;
  #running = 0;

  async commit(request: Request): Promise<void> {
    const { consumerGroup, topic, queueId, commitOffset } = decodeUpdateOffset(request.extFields ?? {});
    this.commits++;
    this.atOnce = Math.max(this.atOnce, ++this.#running);
    const table = this.tables.get(`${topic}@${consumerGroup}`);
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#running--;
    if (table) table.set(queueId, Number(commitOffset));
    else this.tables.set(`${topic}@${consumerGroup}`, new Map([[queueId, Number(commitOffset)]]));
  }
}

function storeAt(broker: RacingBroker, committed = 0): BrokerOffsetStore {
  const instance = {
    host: { clock: { monotonic: () => 0 } },
    routes: { brokerAddr: () => "10.0.0.1:10911" },
    report: (error: unknown) => expect.unreachable(String(error)),
    remoting: {
      async invoke(_addr: string, request: Request) {
        if (request.code === RequestCode.UPDATE_CONSUMER_OFFSET) await broker.commit(request);
        return { code: ResponseCode.SUCCESS, remark: "", extFields: encodeOffset(committed) };
      },
    },
  };
  return new BrokerOffsetStore(instance as unknown as Instance, "billing");
}

test("the first offsets of a group and a topic are all kept by a broker that makes its table without a lock", async () => {
  const broker = new RacingBroker();
  const store = storeAt(broker);
  for (const queue of QUEUES) {
    await store.read(queue);
    store.update(queue, 30 + queue.queueId, true);
  }
  await store.persist(QUEUES);
  expect(broker.tables.get("Orders@billing")).toEqual(new Map([[0, 30], [1, 31], [2, 32], [3, 33]]));
});

test("later offsets are committed at once, and only those that moved", async () => {
  const broker = new RacingBroker();
  const store = storeAt(broker, 7);
  for (const queue of QUEUES) {
    await store.read(queue);
    store.update(queue, queue.queueId === 2 ? 7 : 40, true);
  }
  await store.persist(QUEUES);
  await store.persist(QUEUES);
  expect([broker.commits, broker.atOnce]).toEqual([3, 3]);
});

test("two commits of one queue do not overtake each other", async () => {
  const broker = new RacingBroker();
  const store = storeAt(broker, 5);
  const [queue] = QUEUES;
  await store.read(queue!);
  store.update(queue!, 30, true);
  const first = store.persist([queue!]);
  store.update(queue!, 31, true);
  await Promise.all([first, store.persist([queue!]), store.persist([queue!])]);
  expect([broker.commits, broker.atOnce]).toEqual([2, 1]);
});
