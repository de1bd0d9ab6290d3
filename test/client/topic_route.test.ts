import { expect, test } from "vitest";
import type { TopicRouteData } from "../../client/protocol/route.ts";
import { asNewTopic, isSameRoute, QueueNames, toTopicRoute } from "../../client/route/topic_route.ts";

const broker = (
  brokerName: string,
  ...addrs: (readonly [number, string])[]
): TopicRouteData["brokerDatas"][number] => ({
  brokerName,
  cluster: "c",
  brokerAddrs: new Map(addrs),
});

const queues = (brokerName: string, nums: number, perm = 6): TopicRouteData["queueDatas"][number] => ({
  brokerName,
  readQueueNums: nums,
  writeQueueNums: nums,
  perm,
  topicSysFlag: 0,
});

const A = broker("broker-a", [0, "10.0.0.1:10911"]), B = broker("broker-b", [0, "10.0.0.2:10911"]);
const C = broker("broker-c", [0, "10.0.0.3:10911"]);

const names = (list: readonly { readonly brokerName: string; readonly queueId: number }[]): string[] =>
  list.map(({ brokerName, queueId }) => `${brokerName}/${queueId}`);

test("producer-8: queues have one order, whatever the order of the route: broker name, then queue id", () => {
  const data = [queues("broker-a", 2), queues("broker-b", 2), queues("broker-c", 2)];
  const brokers = [A, B, C];
  const orders = [[0, 1, 2], [2, 0, 1], [1, 2, 0]].map((order) => {
    const route = toTopicRoute("T", {
      brokerDatas: order.map((i) => brokers[i]!),
      queueDatas: order.map((i) => data[i]!),
    }, new QueueNames());
    return names(route.publishQueues);
  });
  const expected = ["broker-a/0", "broker-a/1", "broker-b/0", "broker-b/1", "broker-c/0", "broker-c/1"];
  expect(orders).toEqual([expected, expected, expected]);
});

test("producer-12: an order configuration says which queues there are, and a change of it is a change", () => {
  const base = { brokerDatas: [A, B], queueDatas: [queues("broker-a", 8), queues("broker-b", 8)] };
  const six = { ...base, orderTopicConf: "broker-a:4;broker-b:2" }, two = { ...base, orderTopicConf: "broker-a:2" };
  expect(toTopicRoute("T", six, new QueueNames()).publishQueues).toHaveLength(6);
  expect(names(toTopicRoute("T", two, new QueueNames()).publishQueues)).toEqual(["broker-a/0", "broker-a/1"]);
  expect(isSameRoute(six, two)).toBe(false);
  expect(isSameRoute(six, { ...six, brokerDatas: [B, A] })).toBe(true);
});

test("rebalance-4: an address that goes, comes or is another one is a change", () => {
  const route = (...addrs: (readonly [number, string])[]): TopicRouteData => ({
    brokerDatas: [broker("broker-a", ...addrs)],
    queueDatas: [queues("broker-a", 1)],
  });
  const both = route([0, "10.0.0.1:10911"], [1, "10.0.0.2:10911"]);
  const slave = route([1, "10.0.0.2:10911"]);
  const back = route([0, "10.0.0.9:10911"], [1, "10.0.0.2:10911"]);
  expect(isSameRoute(both, slave)).toBe(false);
  expect(isSameRoute(slave, back)).toBe(false);
  expect(isSameRoute(both, back)).toBe(false);
  expect(isSameRoute(both, route([1, "10.0.0.2:10911"], [0, "10.0.0.1:10911"]))).toBe(true);
});

test("without a master a queue is read but not written; permissions count", () => {
  const route = toTopicRoute("T", {
    brokerDatas: [broker("broker-a", [1, "10.0.0.2:10911"]), B, C],
    queueDatas: [queues("broker-a", 1), queues("broker-b", 1, 4), queues("broker-c", 1, 2)],
  }, new QueueNames());
  expect(names(route.publishQueues)).toEqual(["broker-c/0"]);
  expect(names(route.subscribeQueues)).toEqual(["broker-a/0", "broker-b/0"]);
});

test("equal queues of one client are the same object", () => {
  const cache = new QueueNames();
  const data = { brokerDatas: [A], queueDatas: [queues("broker-a", 2)] };
  const one = toTopicRoute("T", data, cache), other = toTopicRoute("T", { ...data }, cache);
  expect(one.publishQueues[1]).toBe(other.subscribeQueues[1]);
});

test("a new topic gets as many queues as it asks for, and no more than its template has", () => {
  const template = { brokerDatas: [A], queueDatas: [queues("broker-a", 8, 7)] };
  for (const [asked, expected] of [[4, 4], [16, 8]] as const) {
    expect(asNewTopic(template, asked).queueDatas[0]).toMatchObject({
      readQueueNums: expected,
      writeQueueNums: expected,
    });
  }
});

test("a route with more than 65,536 queues in all is refused, before any of them is made", () => {
  const many = Array.from({ length: 3_000 }, (_, i) => `broker-${i}`);
  const brokerDatas = many.map((name) => broker(name, [0, "10.0.0.1:10911"]));
  const made = new QueueNames();
  let count = 0;
  made.of = (topic, brokerName, queueId) => (count++, { topic, brokerName, queueId });
  const routes: TopicRouteData[] = [
    { brokerDatas: [A], queueDatas: [queues("broker-a", 65_537)] },
    { brokerDatas, queueDatas: many.map((name) => queues(name, 2 ** 31 - 1)) },
    { brokerDatas, queueDatas: [], orderTopicConf: many.map((name) => `${name}:65536`).join(";") },
  ];
  for (const route of routes) expect(() => toTopicRoute("T", route, made)).toThrow("more than 65536");
  expect(count).toBe(0);
});

test("a broker that a route names again and again has its queues once", () => {
  const data = Array.from({ length: 3_000 }, () => queues("broker-a", 65_536));
  const route = toTopicRoute("T", { brokerDatas: [A], queueDatas: data }, new QueueNames());
  expect(route.publishQueues).toHaveLength(65_536);
  expect(route.subscribeQueues).toHaveLength(65_536);
});

test("a queue that no route has named is not kept", () => {
  const cache = new QueueNames();
  const unknown = cache.known("T", "broker-a", 7);
  expect(unknown).toEqual({ topic: "T", brokerName: "broker-a", queueId: 7 });
  expect(cache.of("T", "broker-a", 7)).not.toBe(unknown);
  expect(cache.known("T", "broker-a", 7)).toBe(cache.of("T", "broker-a", 7));
});
