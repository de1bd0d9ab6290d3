import { expect, test } from "vitest";
import { type EmbeddedCluster, startClusterWith } from "../../broker/mod.ts";
import { Core } from "../../client/core.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import type { Request, Response } from "../../client/protocol/command.ts";
import { decodeRecord } from "../../client/protocol/record.ts";
import { decodeRoute, routeRequest } from "../../client/protocol/route.ts";
import { formatAddress, parseAddress } from "../../client/remoting/address.ts";
import { Remoting } from "../../client/remoting/remoting.ts";
import { utf8 } from "../support/frames.ts";
import { host, listener } from "../support/runtime.ts";
import { GROUP, heartbeat, pullFields, sendFields, SUSPEND, TOPIC } from "./rig.ts";

const TIMEOUT = 20_000;

interface World {
  readonly cluster: EmbeddedCluster;
  readonly remoting: Remoting;
  readonly broker: string;
  ask(addr: string, request: Request): Promise<Response>;
}

/** A cluster and a client of it, over this machine's own sockets. */
const overSockets = (script: (world: World) => Promise<void>, serializeType: "JSON" | "ROCKETMQ") => async () => {
  const cluster = await startClusterWith(host, listener, { topics: { [TOPIC]: { queues: 1 } } });
  const remoting = new Remoting({ host, core: new Core(host.core, 16), serializeType, connectTimeout: TIMEOUT });
  const ask = (addr: string, request: Request) => remoting.invoke(addr, request, { timeout: TIMEOUT });
  try {
    const route = decodeRoute((await ask(cluster.namesrvAddr, routeRequest(TOPIC))).body);
    await script({ cluster, remoting, ask, broker: route.brokerDatas[0]!.brokerAddrs.get(0)! });
  } finally {
    await remoting.close();
    await cluster.close();
  }
};

for (const kind of ["JSON", "ROCKETMQ"] as const) {
  test(
    `sockets: route, send, pull, ${kind}`,
    overSockets(async ({ broker, ask }) => {
      const bodies = [utf8("hello"), new Uint8Array(300 * 1_024).map((_, at) => at * 31)];
      for (const [at, body] of bodies.entries()) {
        const sent = await ask(broker, { code: RequestCode.SEND_MESSAGE_V2, extFields: sendFields(), body });
        expect([sent.code, sent.extFields["queueOffset"], sent.version]).toEqual([0, String(at), 513]);
        const pulled = await ask(broker, {
          code: RequestCode.PULL_MESSAGE,
          extFields: pullFields({ queueOffset: at, maxMsgNums: 1 }),
        });
        const record = decodeRecord(pulled.body);
        expect(record.body.length === body.length && record.body.every((byte, at) => byte === body[at])).toBe(true);
        expect([record.storeHost, record.topic]).toEqual([broker, TOPIC]);
      }
    }, kind),
  );

  test(
    `sockets: a held pull is woken, a member hears of another one, ${kind}`,
    overSockets(async ({ broker, ask, remoting }) => {
      const notified = new Promise<string>((resolve) =>
        remoting.handle(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, ({ extFields }) => {
          resolve(extFields["consumerGroup"]!);
          return undefined;
        })
      );
      await ask(broker, { code: RequestCode.HEART_BEAT, body: heartbeat({ clientID: "a@1" }) });
      expect(await notified).toBe(GROUP);
      const held = ask(broker, { code: RequestCode.PULL_MESSAGE, extFields: pullFields({ sysFlag: SUSPEND | 4 }) });
      await ask(broker, { code: RequestCode.SEND_MESSAGE_V2, extFields: sendFields(), body: utf8("now") });
      expect(decodeRecord((await held).body).body).toEqual(utf8("now"));
    }, kind),
  );
}

test(
  "sockets: the VIP port, two lower, takes sends and no pulls",
  overSockets(async ({ broker, ask }) => {
    const { host, port } = parseAddress(broker), vip = formatAddress(host, port - 2);
    const sent = await ask(vip, { code: RequestCode.SEND_MESSAGE_V2, extFields: sendFields(), body: utf8("vip") });
    expect(sent.code).toBe(0);
    expect((await ask(vip, { code: RequestCode.PULL_MESSAGE, extFields: pullFields() })).code).toBe(3);
    const pulled = await ask(broker, { code: RequestCode.PULL_MESSAGE, extFields: pullFields() });
    expect(decodeRecord(pulled.body).body).toEqual(utf8("vip"));
  }, "JSON"),
);

test("sockets: clusters side by side choose ports of their own, a taken port is an error, a closed one is free", async () => {
  const clusters = await Promise.all([1, 2, 3].map((brokers) => startClusterWith(host, listener, { brokers })));
  expect(new Set(clusters.map(({ namesrvAddr }) => namesrvAddr)).size).toBe(3);
  const { port: namesrvPort } = parseAddress(clusters[0]!.namesrvAddr);
  await expect(startClusterWith(host, listener, { namesrvPort })).rejects.toThrow(String(namesrvPort));
  await Promise.all(clusters.map((cluster) => cluster.close()));
  const again = await startClusterWith(host, listener, { namesrvPort });
  expect(again.namesrvAddr).toBe(`127.0.0.1:${namesrvPort}`);
  await again.close();
  await again.close();
});
