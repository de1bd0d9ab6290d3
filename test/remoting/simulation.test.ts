import { expect, test } from "vitest";
import type { Inbox, Socket } from "../../client/host.ts";
import { Simulation } from "../support/sim.ts";
import { echo, Peer } from "../support/peer.ts";
import { world } from "./world.ts";

async function trace(seed: number): Promise<string> {
  const { sim, remoting, peer, end } = world(seed, { split: 0.5, cut: 0.05, drop: 0.01, delay: 20, lateWrite: 20 });
  const { addr } = await peer(echo);
  const lines: string[] = [];
  for (let i = 0; i < 100; i++) {
    const body = new Uint8Array(sim.random.below(50_000));
    remoting.call(
      addr,
      { code: i, body },
      500,
      () => lines.push(`${i} ${sim.now} answered`),
      (error) => lines.push(`${i} ${sim.now} ${error.message}`),
    );
    await sim.run(sim.random.next() * 50);
  }
  await sim.run(() => lines.length === 100);
  lines.push(JSON.stringify(sim.counts), crypto.randomUUID(), String(Math.random()));
  await end();
  sim.end();
  return lines.join("\n");
}

test("simulation: the same seed is the same run, another one is not", async () => {
  const first = await trace(11);
  expect(await trace(11)).toBe(first);
  expect(await trace(12)).not.toBe(first);
});

test("simulation: thirty seconds take no time, and events come in order", async () => {
  using sim = new Simulation(1);
  const order: string[] = [];
  sim.clock.setTimer(30_000, () => order.push(`late ${sim.clock.monotonic()}`));
  sim.clock.setTimer(10, () => {
    order.push("first");
    Promise.resolve().then(() => order.push("microtask"));
    sim.clock.setTimer(0, () => order.push("second"));
  });
  sim.clock.setTimer(20, () => order.push("cancelled")).cancel();
  await sim.run(30_000);
  expect(order).toEqual(["first", "microtask", "second", "late 30000"]);
  await expect(sim.run(() => false)).rejects.toThrow("Simulation 1 stands still");
});

/** An inbox in a buffer that stands for an arena, and the socket that came of it. */
async function plainClient(sim: Simulation, addr: string): Promise<{ socket: Socket; arena: Uint8Array }> {
  const arena = new Uint8Array(65_536);
  const inbox: Inbox = { room: () => arena.subarray(0, 1_024), received() {}, closed() {} };
  const [host, port] = addr.split(":") as [string, string];
  const connecting = sim.host().connect({ host, port: Number(port) }, inbox, new AbortController().signal);
  return { socket: await sim.run(connecting), arena };
}

test("simulation: bytes that are changed before their write is done arrive changed", async () => {
  using sim = new Simulation(2, { lateWrite: 50 });
  const bytes: number[] = [];
  const { port } = await sim.listener.listen("10.9.0.1", 0, () => {
    const room = new Uint8Array(1_024);
    return { room: () => room, received: (length) => bytes.push(...room.subarray(0, length)), closed() {} };
  });
  const { socket, arena } = await plainClient(sim, `10.9.0.1:${port}`);
  const part = arena.subarray(2_000, 2_010).fill(1);
  socket.write([part], () => {});
  part.fill(2);
  await sim.run(1_000);
  expect(bytes).toEqual(Array(10).fill(2));
});

test("simulation: a segment is overwritten when it is given back, a body of the caller's is not", async () => {
  using sim = new Simulation(3);
  const { addr } = await Peer.listen(sim.listener, () => {}, "10.9.0.1");
  const { socket, arena } = await plainClient(sim, addr);
  const segment = arena.subarray(2_000, 2_004), own = Uint8Array.of(1, 2, 3);
  let isDone = false;
  socket.write([segment, own], () => isDone = true);
  expect(isDone).toBe(false);
  await sim.run(() => isDone);
  expect([...segment]).toEqual([0xdb, 0xdb, 0xdb, 0xdb]);
  expect([...own]).toEqual([1, 2, 3]);
});
