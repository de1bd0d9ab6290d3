import { expect, test } from "vitest";
import { type ClusterOptions, type FaultRule, startClusterWith } from "../../broker/mod.ts";
import { ArgumentError, ConnectError, UnsupportedError } from "../../client/errors.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { decodeRoute } from "../../client/protocol/route.ts";
import { parseAddress } from "../../client/remoting/address.ts";
import { utf8 } from "../support/frames.ts";
import { Simulation } from "../support/sim.ts";
import { RawClient } from "./raw_client.ts";
import { heartbeat, inCluster, pull, recordsOf, type Rig, send, sendFields, TOPIC } from "./rig.ts";

const MAX = RequestCode.GET_MAX_OFFSET, MIN = RequestCode.GET_MIN_OFFSET;
const QUEUE = { topic: TOPIC, queueId: "0" };

/** What becomes of a request within a second. */
async function outcome({ sim, connect }: Rig, code: number): Promise<string> {
  const client = await connect();
  let became = "nothing";
  client.request(code, QUEUE).then((answer) => became = `${answer.code} ${answer.remark ?? ""}`.trim());
  await sim.run(1_000);
  if (client.isClosed) return "closed";
  client.close();
  return became;
}

test(
  "fault: drop, close, garble and answer do what they say to their code, and to no other",
  inCluster(async (rig) => {
    for (
      const [action, expected] of [
        ["drop", "nothing"],
        ["close", "closed"],
        // 64 bytes that are no frame: the raw client gives the connection up, as any other would.
        ["garble", "closed"],
        [{ answer: 14 }, "14 a fault was asked for"],
        [{ answer: 2, remark: "[TIMEOUT_CLEAN_QUEUE]" }, "2 [TIMEOUT_CLEAN_QUEUE]"],
      ] as const
    ) {
      const end = rig.cluster.fault({ code: MAX, action });
      expect(await outcome(rig, MAX)).toBe(expected);
      expect(await outcome(rig, MIN)).toBe("0");
      expect(await outcome(rig, MAX)).toBe(expected);
      end();
      end();
      expect(await outcome(rig, MAX)).toBe("0");
    }
  }),
);

test(
  "fault: a rule with a count ends by itself; of two the older comes first; one without a code is for all",
  inCluster(async (rig) => {
    rig.cluster.fault({ code: MAX, count: 2, action: { answer: 1, remark: "older" } });
    rig.cluster.fault({ count: 1, action: { answer: 1, remark: "newer" } });
    rig.cluster.fault({ count: 0, action: "close" });
    expect(await outcome(rig, MAX)).toBe("1 older");
    expect(await outcome(rig, MIN)).toBe("1 newer");
    expect(await outcome(rig, MAX)).toBe("1 older");
    expect(await outcome(rig, MAX)).toBe("0");
  }),
);

test(
  "fault: name server and sends are subject to rules too",
  inCluster(async (rig) => {
    rig.cluster.fault({ code: RequestCode.GET_ROUTEINFO_BY_TOPIC, count: 1, action: { answer: 1, remark: "no" } });
    const { code } = await rig.sim.run(rig.names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, { topic: TOPIC }));
    expect(code).toBe(1);
    rig.cluster.fault({ code: RequestCode.SEND_MESSAGE_V2, count: 1, action: { answer: 14 } });
    expect((await send(rig)).code).toBe(14);
    expect((await send(rig)).code).toBe(0);
    expect(recordsOf(await pull(rig)).length).toBe(1);
  }),
);

test(
  "fault: a delayed request is served late, in its turn, and not at all when its connection has ended",
  inCluster(async (rig) => {
    rig.cluster.fault({ code: RequestCode.SEND_MESSAGE_V2, count: 2, action: { delay: 5_000 } });
    const start = rig.sim.now, leaving = await rig.connect();
    leaving.request(RequestCode.SEND_MESSAGE_V2, sendFields(), utf8("never"));
    const late = rig.broker.request(RequestCode.SEND_MESSAGE_V2, sendFields(), utf8("late"));
    await rig.sim.run(100);
    leaving.close();
    expect((await rig.sim.run(late)).code).toBe(0);
    expect(rig.sim.now - start).toBeGreaterThanOrEqual(5_000);
    await rig.sim.run(1_000);
    expect(recordsOf(await pull(rig)).length).toBe(1);
  }),
);

test(
  "fault: a rule that means nothing is refused",
  inCluster((rig) => {
    const rules = [
      { action: "explode" },
      { action: { delay: -1 } },
      { action: { delay: NaN } },
      { action: { answer: 1.5 } },
      { action: null },
      { action: {} },
      { code: 1.5, action: "drop" },
      { count: -1, action: "drop" },
      { cod: 10, action: "drop" },
      { action: "drop", counts: 1 },
      { action: { delay: 1, code: 10 } },
      { action: { delay: 1, answer: 1 } },
      { action: { answer: 1, remarks: "no" } },
      { action: { answer: 1, remark: 1 } },
      null,
      "drop",
    ];
    for (const rule of rules) {
      expect(() => rig.cluster.fault(rule as FaultRule), JSON.stringify(rule)).toThrow(ArgumentError);
    }
    return Promise.resolve();
  }),
);

test("cluster: options that make no sense are refused before anything listens", async () => {
  using sim = new Simulation(1);
  const wrong: [ClusterOptions, new (...args: never[]) => Error][] = [
    [{ storeDir: "/somewhere" }, UnsupportedError],
    [{ brokers: 0 }, ArgumentError],
    [{ brokers: 27 }, ArgumentError],
    [{ brokers: 1.5 }, ArgumentError],
    [{ namesrvPort: -1 }, ArgumentError],
    [{ namesrvPort: 65_536 }, ArgumentError],
    [{ brokerPort: 2 }, ArgumentError],
    [{ brokerPort: 65_534, brokers: 2 }, ArgumentError],
    [{ listenHost: "example.org" }, ArgumentError],
    [{ messageDelayLevel: "1s 5x" }, ArgumentError],
    [{ messageDelayLevel: "" }, ArgumentError],
    [{ topics: { "bad topic": {} } }, ArgumentError],
    [{ topics: { [TOPIC]: { queues: 0 } } }, ArgumentError],
    // What a typing error makes of an option.
    ...([
      { namsrvPort: 9876 },
      { constructor: 1 },
      { topics: { [TOPIC]: { queue: 3 } } },
      { topics: { [TOPIC]: 3 } },
      { topics: { [TOPIC]: null } },
      { topics: [TOPIC] },
      { topics: TOPIC },
      { topics: null },
      { listenHost: 1 },
      { listenHost: null },
      { messageDelayLevel: 1 },
      { namesrvPort: "9876" },
      null,
      "127.0.0.1",
    ] as unknown as ClusterOptions[]).map((
      options,
    ): [ClusterOptions, typeof ArgumentError] => [options, ArgumentError]),
  ];
  for (const [options, error] of wrong) {
    await expect(startClusterWith(sim.host(), sim.listener, options), JSON.stringify(options)).rejects.toThrow(error);
  }
  expect(sim.planned).toBe(0);
});

test("cluster: a name that no option has is named by the error, with where it stands", async () => {
  using sim = new Simulation(1);
  const wrong: [object, string][] = [
    [{ namsrvPort: 9876 }, 'There is no option "namsrvPort"'],
    [{ topics: { a: { queue: 3 } } }, 'There is no option "topics.a.queue"'],
  ];
  for (const [options, message] of wrong) {
    await expect(startClusterWith(sim.host(), sim.listener, options)).rejects.toThrow(message);
  }
  const cluster = await sim.run(startClusterWith(sim.host(), sim.listener, { storeDir: undefined } as object));
  expect(() => cluster.fault({ cod: 10, action: "drop" } as FaultRule)).toThrow('There is no option "fault.cod"');
  await sim.run(cluster.close());
});

test("cluster: localhost is the address that clients are told", async () => {
  using sim = new Simulation(1);
  const hosts: string[] = [];
  const listener: typeof sim.listener = {
    listen(host, port, accept) {
      hosts.push(host);
      return sim.listener.listen(host, port, accept);
    },
  };
  const cluster = await sim.run(startClusterWith(sim.host(), listener, { listenHost: "localhost" }));
  expect(cluster.namesrvAddr).toMatch(/^127\.0\.0\.1:/);
  expect([...new Set(hosts)]).toEqual(["127.0.0.1"]);
  await sim.run(cluster.close());
});

test("cluster: ports that are given are taken, three apart, and the VIP port two below each", async () => {
  using sim = new Simulation(1);
  const options = { listenHost: "10.0.0.1", namesrvPort: 9_876, brokerPort: 10_911, brokers: 2 };
  const cluster = await sim.run(startClusterWith(sim.host(), sim.listener, options));
  expect(cluster.namesrvAddr).toBe("10.0.0.1:9876");
  const names = await sim.run(RawClient.connect(sim.host(), cluster.namesrvAddr));
  const answer = await sim.run(names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, { topic: "TBW102" }));
  expect(decodeRoute(answer.body).brokerDatas.map(({ brokerAddrs }) => brokerAddrs.get(0))).toEqual([
    "10.0.0.1:10911",
    "10.0.0.1:10914",
  ]);
  for (const port of [10_909, 10_912]) {
    const vip = await sim.run(RawClient.connect(sim.host(), `10.0.0.1:${port}`));
    expect((await sim.run(vip.request(MAX, QUEUE))).code).toBe(0);
  }
  // The ports are taken: a second cluster fails and leaves nothing behind.
  await expect(sim.run(startClusterWith(sim.host(), sim.listener, { ...options, namesrvPort: 0 }))).rejects.toThrow(
    ConnectError,
  );
  await expect(sim.run(startClusterWith(sim.host(), sim.listener, { ...options, brokerPort: 0 }))).rejects.toThrow(
    ConnectError,
  );
  await sim.run(cluster.close());
  const again = await sim.run(startClusterWith(sim.host(), sim.listener, options));
  await sim.run(again.close());
});

test("cluster: a broker tries until it has a port whose lower neighbour but one is free too", async () => {
  using sim = new Simulation(1);
  let refused = 0;
  const listener: typeof sim.listener = {
    listen(host, port, accept) {
      if (port !== 0 && refused < 3) {
        refused++;
        return Promise.reject(new ConnectError("taken"));
      }
      return sim.listener.listen(host, port, accept);
    },
  };
  const cluster = await sim.run(startClusterWith(sim.host(), listener, { listenHost: "10.0.0.1" }));
  expect(refused).toBe(3);
  await sim.run(cluster.close());
  const never: typeof sim.listener = {
    listen: (host, port, accept) =>
      port === 0 ? sim.listener.listen(host, port, accept) : Promise.reject(new ConnectError("taken")),
  };
  await expect(sim.run(startClusterWith(sim.host(), never, { listenHost: "10.0.0.1" }))).rejects.toThrow("taken");
});

test(
  "cluster: closing ends connections, waiting messages and timers; closing again is nothing new",
  inCluster(async (rig) => {
    await rig.ask(RequestCode.HEART_BEAT, {}, heartbeat());
    await send(rig, { properties: { UNIQ_KEY: "U", DELAY: "18" } });
    rig.cluster.fault({ code: MAX, action: { delay: 60_000 } });
    rig.broker.request(MAX, QUEUE);
    await rig.sim.run(10);
    await rig.sim.run(Promise.all([rig.cluster.close(), rig.cluster.close(), rig.cluster[Symbol.asyncDispose]()]));
    await rig.sim.run(100);
    expect([rig.broker.isClosed, rig.vip.isClosed, rig.names.isClosed, rig.sim.planned]).toEqual([true, true, true, 0]);
    const { host, port } = parseAddress(rig.brokerAddr);
    await expect(rig.connect(`${host}:${port}`)).rejects.toThrow();
  }),
);

test(
  "cluster: whoever comes when there is no room for a connection is sent away, and the others are served",
  inCluster(async (rig) => {
    const crowd: RawClient[] = [];
    while (crowd.length < 1_100 && !crowd.at(-1)?.isClosed) {
      crowd.push(await rig.connect());
      await rig.sim.run(5);
    }
    expect(crowd.length).toBeGreaterThan(500);
    expect(crowd.at(-1)!.isClosed).toBe(true);
    expect((await send(rig)).code).toBe(0);
    for (const client of crowd) client.close();
    await rig.sim.run(100);
    const next = await rig.connect();
    expect((await rig.sim.run(next.request(MAX, QUEUE))).code).toBe(0);
  }),
);
