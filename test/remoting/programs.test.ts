import { expect, test } from "vitest";
import * as abi from "../../core-as/abi.ts";
import { Core, type FrameSink, type Step } from "../../client/core.ts";
import { ArgumentError, CoreError, type RocketMQError } from "../../client/errors.ts";
import { Remoting } from "../../client/remoting/remoting.ts";
import { echo, silence } from "../support/peer.ts";
import { inWorld, outcome } from "./world.ts";

const steps: readonly Step[] = [
  [`{"code":310,"language":"NODE_JS","version":513,"flag":0,"opaque":`, abi.HOLE_OPAQUE],
  [`,"extFields":{"e":"`, abi.HOLE_VALUE],
  [`","i":"`, abi.HOLE_ARGUMENT_JSON],
  [`"}}`, abi.HOLE_END],
];

test(
  "hot calls: every body arrives with its own header, copied or apart, over a network that tears everything",
  inWorld(401, async ({ sim, remoting, core, peer }) => {
    const { addr, requests } = await peer(echo);
    const program = core.program(steps, "JSON");
    const sizes = [0, 1, 200, 3_000, 32_768, 32_769, 60_000, 130_000, 131_072, 500_000];
    const bodies = Array.from(
      { length: 400 },
      (_, i) => new Uint8Array(sizes[i % (i % 25 ? 4 : sizes.length)]!).fill(i),
    );
    let settled = 0;
    const wrong: unknown[] = [];
    for (const [i, body] of bodies.entries()) {
      const outgoing = { program, value: i % 8, args: [`key "${i}" \n ключ`], body };
      remoting.call(addr, outgoing, 60_000, (frame) => {
        settled++;
        const back = frame.body();
        if (back.length !== body.length || back.some((byte) => byte !== (i & 255))) wrong.push(i);
      }, (error) => wrong.push(error));
      if (i % 16 === 15) await sim.run(sim.random.next() * 20);
    }
    await sim.run(() => settled === bodies.length);
    expect(wrong).toEqual([]);
    for (const [i, { code, extFields, body }] of requests.entries()) {
      expect([code, extFields["e"], extFields["i"], body.length]).toEqual([
        310,
        String(i % 8),
        `key "${i}" \n ключ`,
        bodies[i]!.length,
      ]);
    }
    expect(sim.counts.overwrites).toBeGreaterThan(0);
    core.freeProgram(program);
  }, { split: 0.7, lateWrite: 30, delay: 10 }),
);

test(
  "hot calls: one that is sent again after GO_AWAY is encoded anew",
  inWorld(402, async ({ sim, remoting, core, peer }) => {
    const { addr, connections } = await peer((request, connection) => {
      connection.answer(request, connection === connections[0] ? { code: 1500 } : { body: request.body });
    });
    const program = core.program(steps, "JSON");
    const body = new Uint8Array(100_000).fill(5);
    let answer: Uint8Array | undefined;
    remoting.call(addr, { program, value: 1, args: ["x"], body }, 3_000, (frame) => answer = frame.body(), () => {});
    await sim.run(() => answer !== undefined);
    expect(answer!.length).toBe(100_000);
    expect(answer!.every((byte) => byte === 5)).toBe(true);
    core.freeProgram(program);
  }),
);

test(
  "hot calls: a header that fits no segment, and a frame beyond 16 MiB, are refused and nothing else is",
  inWorld(403, async ({ sim, remoting, core, peer }) => {
    const { addr } = await peer(echo);
    const program = core.program(steps, "JSON");
    const errors: RocketMQError[] = [];
    let settled = 0;
    const call = (args: string[], body: Uint8Array) =>
      remoting.call(addr, { program, value: 1, args, body }, 3_000, () => settled++, (error) => errors.push(error));
    for (let round = 0; round < 2; round++) {
      call(["ok"], new Uint8Array(10));
      call(["\u0001".repeat(30_000)], new Uint8Array(10));
      call(["x".repeat(70_000)], new Uint8Array(10));
      call(["ok"], new Uint8Array(16_777_216));
      call(["ok"], new Uint8Array(10));
      await sim.run(() => settled + errors.length === 5 * (round + 1));
    }
    expect(settled).toBe(4);
    expect(errors).toHaveLength(6);
    expect(errors.every((error) => error instanceof ArgumentError)).toBe(true);
    core.freeProgram(program);
  }),
);

/** A core that panics at the third feed. */
class BreakingCore extends Core {
  #feeds = 0;
  #panic: CoreError | undefined;

  override get failure(): CoreError | undefined {
    return this.#panic;
  }

  override feed(connection: number, length: number, sink: FrameSink): void {
    if (++this.#feeds < 3) return super.feed(connection, length, sink);
    throw this.#panic = new CoreError("The core broke down in command 8: panic 1, detail 2");
  }
}

test(
  "a panic of the core fails every waiting call with CoreError, and the instance is closed",
  inWorld(404, async ({ sim, host, peer }) => {
    const mute = await peer(silence), { addr } = await peer(echo);
    const reported: RocketMQError[] = [];
    const remoting = new Remoting({
      host,
      core: new BreakingCore(host.core, 16),
      serializeType: "JSON",
      connectTimeout: 1_000,
      onError: (error) => reported.push(error),
    });
    const waiting = [mute.addr, mute.addr, "10.9.0.1:1"].map((addr) =>
      outcome(remoting.invoke(addr, { code: 1 }, { timeout: 60_000 }))
    );
    await sim.run(100);
    const last = outcome(remoting.invoke("10.9.0.1:1", { code: 1 }, { timeout: 60_000 }));
    for (let i = 0; i < 2; i++) await sim.run(remoting.invoke(addr, { code: 1 }, { timeout: 1_000 }));
    expect(await sim.run(outcome(remoting.invoke(addr, { code: 1 }, { timeout: 1_000 })))).toBeInstanceOf(CoreError);
    const errors = await sim.run(Promise.all([...waiting.slice(0, 2)]));
    expect(errors.every((error) => error instanceof CoreError)).toBe(true);
    expect(((await sim.run(last)) as RocketMQError).code).toMatch(/CORE|CONNECT/);
    expect(reported).toHaveLength(1);
    expect(await sim.run(outcome(remoting.invoke(addr, { code: 1 }, { timeout: 1_000 })))).toBeInstanceOf(CoreError);
    await sim.run(remoting.close());
    await sim.run(10);
    expect(remoting.stats.inFlight).toBe(0);
    expect(mute.open).toBe(0);
  }),
);
