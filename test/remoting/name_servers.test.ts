import { expect, test } from "vitest";
import { ArgumentError, ConnectError, type RocketMQError } from "../../client/errors.ts";
import { NameServers, type NameServersOptions } from "../../client/remoting/name_servers.ts";
import { echo, silence } from "../support/peer.ts";
import { inWorld, outcome, type World } from "./world.ts";

const request = { code: 105, extFields: { topic: "T" } };

function nameServers(
  { remoting, sim }: World,
  source: NameServersOptions["source"],
  more: Partial<NameServersOptions> = {},
) {
  return new NameServers({ remoting, clock: sim.clock, source, ...more });
}

test(
  "connection-8: one refusing and one silent name server do not keep a request from the healthy one",
  async () => {
    for (let seed = 301; seed < 307; seed++) {
      await inWorld(seed, async (world) => {
        const { sim, peer } = world;
        const silent = await peer(silence), healthy = await peer(echo);
        const servers = nameServers(world, `10.9.0.1:1;${silent.addr};${healthy.addr}`);
        for (let i = 0; i < 3; i++) {
          const started = sim.now;
          expect((await sim.run(servers.invoke(request, { timeout: 3_000 }))).code).toBe(0);
          expect(sim.now - started).toBeLessThan(i === 0 ? 3_000 : 10);
        }
        servers.close();
        await sim.run(20_000);
      })();
    }
  },
);

test(
  "connection-8: when all fail there is one error, naming each and the last cause, within the timeout",
  inWorld(311, async (world) => {
    const { sim, peer } = world;
    const silent = await peer(silence);
    const servers = nameServers(world, ["10.9.0.1:1", "10.9.0.1:2", silent.addr]);
    const started = sim.now;
    const error = await sim.run(outcome(servers.invoke(request, { timeout: 3_000 }))) as unknown as RocketMQError;
    expect(error).toBeInstanceOf(ConnectError);
    expect(sim.now - started).toBeLessThan(3_010);
    for (const addr of ["10.9.0.1:1", "10.9.0.1:2", silent.addr]) expect(error.message).toContain(addr);
    expect((error.cause as AggregateError).errors).toHaveLength(3);
    servers.close();
    await sim.run(20_000);
  }),
);

test(
  "connection-9: a name server that was removed is not used again, and its connection is closed",
  inWorld(321, async (world) => {
    const { sim, peer } = world;
    const [a, b, c] = [await peer(echo), await peer(echo), await peer(echo)];
    const servers = nameServers(world, [a!.addr, b!.addr], { random: () => 0.99 });
    await sim.run(servers.invoke(request, { timeout: 1_000 }));
    expect(a!.connections).toHaveLength(1);
    servers.update([b!.addr, c!.addr]);
    await sim.run(10);
    expect(a!.open).toBe(0);
    await a!.close();
    for (let i = 0; i < 100; i++) await sim.run(servers.invoke(request, { timeout: 1_000 }));
    expect(a!.connections).toHaveLength(1);
    expect(b!.requests.length + c!.requests.length).toBe(100);
    servers.close();
  }),
);

test(
  "connection-10: an error page or an empty answer of the address server is not a list; the next good one is",
  inWorld(331, async (world) => {
    const { sim, errors } = world;
    const answers = [
      () => new Response("<html>502;bad gateway</html>", { status: 502 }),
      () => new Response("", { status: 200 }),
      () => new Response(" 10.0.0.1:9876;10.0.0.2:9876; \n", { status: 200 }),
      () => new Response("<html>maintenance</html>", { status: 200 }),
      () => new Response("10.0.0.3:9876", { status: 200 }),
    ];
    let asked = 0;
    const servers = nameServers(world, "http://addresses.test:8080/rocketmq/nsaddr", {
      fetch: () => Promise.resolve(answers[Math.min(asked++, 4)]!()),
      onError: (error) => errors.push(error),
    });
    expect(servers.addresses).toEqual([]);
    const call = outcome(servers.invoke(request, { timeout: 10_000 }));
    await sim.run(() => asked === 3);
    await sim.run(100);
    expect([...servers.addresses].sort()).toEqual(["10.0.0.1:9876", "10.0.0.2:9876"]);
    expect(await sim.run(call)).toBeInstanceOf(ConnectError);
    await sim.run(121_000);
    expect(asked).toBe(4);
    expect([...servers.addresses].sort()).toEqual(["10.0.0.1:9876", "10.0.0.2:9876"]);
    expect(errors.map(({ code }) => code)).toEqual(["ROCKETMQ_CONNECT"]);
    await sim.run(121_000);
    expect(servers.addresses).toEqual(["10.0.0.3:9876"]);
    servers.close();
  }),
);

test(
  "connection-10: a function that fails at the start is asked a few times, within the caller's time",
  inWorld(332, async (world) => {
    const { sim, peer } = world;
    const { addr } = await peer(echo);
    let asked = 0;
    const source = () => ++asked < 3 ? Promise.reject(new Error("not yet")) : Promise.resolve([addr, addr, ""]);
    const servers = nameServers(world, source);
    expect((await sim.run(servers.invoke(request, { timeout: 3_000 }))).code).toBe(0);
    expect(servers.addresses).toEqual([addr]);
    servers.close();
    const never = nameServers(world, () => Promise.reject(new Error("never")));
    const started = sim.now;
    expect(await sim.run(outcome(never.invoke(request, { timeout: 500 })))).toBeInstanceOf(ConnectError);
    expect(sim.now - started).toBeLessThan(501);
    expect(await sim.run(outcome(never.invoke(request, { timeout: 30_000 })))).toBeInstanceOf(ConnectError);
    never.close();
  }),
);

test(
  "name servers given as text are split, stripped of schemes and checked at once",
  inWorld(333, (world) => {
    const servers = nameServers(world, " http://a.test:1 ; b.test:2;;http://c.test:3/;a.test:1");
    expect([...servers.addresses].sort()).toEqual(["a.test:1", "b.test:2", "c.test:3"]);
    for (const wrong of ["", ";", "a.test", ["a.test:x"]]) {
      expect(() => nameServers(world, wrong)).toThrow(ArgumentError);
    }
    return Promise.resolve();
  }),
);

test(
  "an aborted request to the name servers rejects with the signal's reason and asks no other",
  inWorld(334, async (world) => {
    const { sim, peer } = world;
    const one = await peer(silence), other = await peer(silence);
    const servers = nameServers(world, [one.addr, other.addr]);
    const abort = new AbortController();
    const call = outcome(servers.invoke(request, { timeout: 3_000, signal: abort.signal }));
    await sim.run(10);
    abort.abort("enough");
    expect(await sim.run(call)).toBe("enough");
    await sim.run(3_000);
    expect(one.requests.length + other.requests.length).toBe(1);
    servers.close();
  }),
);

test(
  "connection-10: an address server that never ends its answer is not read to the end",
  inWorld(335, async (world) => {
    const { sim } = world;
    let chunks = 0;
    const endless = () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            chunks++;
            controller.enqueue(new Uint8Array(10_000).fill(65));
          },
        }),
      );
    const servers = nameServers(world, "http://address.test/list", { fetch: () => Promise.resolve(endless()) });
    const error = await sim.run(outcome(servers.invoke(request, { timeout: 10_000 })));
    expect(error).toMatchObject({ code: "ROCKETMQ_CONNECT", message: expect.stringContaining("65536 bytes") });
    expect(chunks).toBeLessThan(40);
    servers.close();
  }),
);
