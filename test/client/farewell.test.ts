import { expect, test } from "vitest";
import { startClusterWith } from "../../broker/mod.ts";
import { bytes } from "../../client/body_codec.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import { Simulation } from "../support/sim.ts";

const TOPIC = "Orders";

test("a consumer that leaves while its heartbeat is under way leaves no member behind", async () => {
  using sim = new Simulation(1);
  const cluster = await sim.run(
    startClusterWith(sim.host(), sim.listener, { listenHost: "10.0.0.1", topics: { [TOPIC]: { queues: 4 } } }),
  );
  const join = () =>
    createPushConsumerOn(sim.host(), {
      namesrvAddr: cluster.namesrvAddr,
      consumerGroup: "billing",
      subscriptions: { [TOPIC]: "*" },
      heartbeatBrokerInterval: 1_000,
      coreMemory: 16,
      codec: bytes,
    });
  const first = join();
  await sim.run(first.start());
  // The broker takes the next heartbeat up late: after the farewell, and after the end of the connection.
  cluster.fault({ code: RequestCode.HEART_BEAT, count: 1, action: { delay: 500 } });
  const before = first.stats().inFlight;
  await sim.run(() => first.stats().inFlight > before);
  await sim.run(first.shutdown());
  await sim.run(1_000);

  const second = join();
  await sim.run(second.start());
  await sim.run(60_000);
  expect(second.assignment().filter(({ topic }) => topic === TOPIC).length).toBe(4);
  await sim.run(second.shutdown());
  await sim.run(cluster.close());
});
