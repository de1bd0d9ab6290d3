import { expect, test } from "vitest";
import type { Frame } from "../../client/core.ts";
import {
  BrokerError,
  FrameError,
  InternalError,
  OverloadError,
  type RocketMQError,
  TimeoutError,
} from "../../client/errors.ts";
import { readCommand } from "../../client/protocol/command.ts";
import type { Call } from "../../client/remoting/remoting.ts";
import { echo, type PeerConnection, silence } from "../support/peer.ts";
import type { RemotingCommand } from "../../client/protocol/command.ts";
import { inWorld, outcome } from "./world.ts";

const request = { code: 105, extFields: { topic: "T" } };

test(
  "connection-21: an answer that comes after the timeout is dropped and reaches no other call",
  inWorld(201, async ({ sim, remoting, peer, errors }) => {
    const { addr } = await peer((request, connection) => {
      const delay = request.code === 1 ? 300 : 0;
      sim.clock.setTimer(delay, () => connection.answer(request, { body: request.body }));
    });
    const late = outcome(remoting.invoke(addr, { code: 1, body: Uint8Array.of(1) }, { timeout: 200 }));
    expect(await sim.run(late)).toBeInstanceOf(TimeoutError);
    for (let i = 0; i < 200; i++) {
      const { body } = await sim.run(remoting.invoke(addr, { code: 2, body: Uint8Array.of(i) }, { timeout: 200 }));
      expect(body).toEqual(Uint8Array.of(i));
    }
    expect(errors).toEqual([]);
  }),
);

test(
  "connection-21: 1,000 calls whose answers arrive just around the deadline settle once each, with their own answer",
  inWorld(202, async ({ sim, remoting, peer }) => {
    let open: PeerConnection | undefined;
    const { addr } = await peer((request, connection) => {
      open = connection;
      sim.clock.setTimer(198 + sim.random.next() * 2, () => connection.answer(request, { body: request.body }));
    });
    let answered = 0, timedOut = 0;
    const settled = new Map<number, number>();
    for (let i = 0; i < 1_000; i++) {
      const started = sim.now, body = new Uint8Array(new Int32Array([i]).buffer);
      const count = () => settled.set(i, (settled.get(i) ?? 0) + 1);
      remoting.call(addr, { code: 1, body }, 200, (frame) => {
        count();
        answered++;
        expect(new Int32Array(frame.body().buffer)[0]).toBe(i);
        expect(sim.now - started).toBeLessThanOrEqual(201);
      }, (error) => {
        count();
        timedOut++;
        expect(error).toBeInstanceOf(TimeoutError);
      });
      if (i % 10 === 0) await sim.run(1);
      // Bytes in between: the connection is known to be alive.
      open?.request(999, i, {}, 2);
    }
    await sim.run(() => settled.size === 1_000);
    await sim.run(1_000);
    expect([...settled.values()].every((times) => times === 1)).toBe(true);
    expect(answered).toBeGreaterThan(50);
    expect(timedOut).toBeGreaterThan(50);
  }, { lateWrite: 0.001 }),
);

test(
  "connection-23: nothing is used up by calls that time out, fail to connect or hit the byte limit",
  inWorld(203, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer(echo);
    sim.network.swallow("10.9.0.1:2");
    const big = new Uint8Array(4 * 1024 * 1024);
    const calls: Promise<unknown>[] = [];
    for (let i = 0; i < 1_000; i++) {
      const [to, timeout, body] = [["10.9.0.1:2", 0], ["10.9.0.1:1", 3_000], ["10.9.0.1:2", 3_000, big]][i % 3] as [
        string,
        number,
        Uint8Array?,
      ];
      calls.push(outcome(remoting.invoke(to, body ? { code: 1, body } : { code: 1 }, { timeout })));
    }
    const errors = await sim.run(Promise.all(calls)) as RocketMQError[];
    expect(errors.every((error) => error instanceof Error)).toBe(true);
    expect(errors.filter((error) => error instanceof OverloadError).length).toBe(333 - 16);
    expect(remoting.stats.inFlight).toBe(0);
    const ten = Array.from({ length: 10 }, () => remoting.invoke(addr, request, { timeout: 1_000 }));
    expect((await sim.run(Promise.all(ten))).map(({ code }) => code)).toEqual(Array(10).fill(0));
    expect(connections).toHaveLength(1);
    await sim.run(20_000);
  }),
);

test(
  "connection-14: at most 64 MiB wait for a peer that does not read, and time takes them back",
  inWorld(204, async ({ sim, remoting, peer, core }) => {
    const { addr } = await peer(silence);
    await sim.run(remoting.connect(addr, { timeout: 1_000 }));
    sim.network.drop(addr);
    const body = new Uint8Array(1024 * 1024);
    let overloaded = 0;
    for (let round = 0; round < 20; round++) {
      const calls = Array.from(
        { length: 100 },
        () => outcome(remoting.invoke(addr, { code: 1, body }, { timeout: 1_000 })),
      );
      const errors = await sim.run(Promise.all(calls));
      const refused = errors.filter((error) => error instanceof OverloadError).length;
      expect(refused).toBeGreaterThanOrEqual(100 - 66);
      expect(refused).toBeLessThanOrEqual(100 - 62);
      overloaded += refused;
      expect(core.bytesInUse).toBeLessThan(4 * 1024 * 1024);
    }
    expect(overloaded).toBeGreaterThan(0);
    expect(remoting.stats.inFlight).toBe(0);
  }),
);

test(
  "requests of every size arrive whole and in order, whatever the network does to them",
  inWorld(205, async ({ sim, remoting, peer }) => {
    const { addr, requests, connections } = await peer(echo);
    const sizes = [0, 1, 100, 1_000, 32_768, 32_769, 100_000, 131_000, 131_072, 300_000, 800_000, 4_000_000];
    const bodies = Array.from(
      { length: 300 },
      (_, i) => filled(sizes[sim.random.below(sizes.length - (i % 20 ? 3 : 0))]!, i),
    );
    const calls = bodies.map((body, i) => remoting.invoke(addr, { code: i, body }, { timeout: 60_000 }));
    const responses = await sim.run(Promise.all(calls));
    for (const [i, response] of responses.entries()) expect(same(response.body, bodies[i]!), `answer ${i}`).toBe(true);
    expect(requests.map(({ code }) => code)).toEqual(bodies.map((_, i) => i));
    expect(connections).toHaveLength(1);
    expect(sim.counts.splits).toBeGreaterThan(0);
    expect(sim.counts.overwrites).toBeGreaterThan(0);
  }, { split: 0.9, lateWrite: 20, delay: 10 }),
);

test(
  "frames of one turn leave as one write, also those of callers that await several hops",
  inWorld(206, async ({ sim, remoting, peer }) => {
    const { addr } = await peer(echo);
    await sim.run(remoting.connect(addr, { timeout: 1_000 }));
    const before = sim.counts.writes;
    const calls = Array.from({ length: 64 }, async (_, i) => {
      for (let hop = 0; hop < i % 5; hop++) await undefined;
      return await remoting.invoke(addr, request, { timeout: 1_000 });
    });
    let writes = 0;
    sim.clock.setTimer(0, () => writes = sim.counts.writes - before);
    await sim.run(Promise.all(calls));
    expect(writes).toBe(1);
  }),
);

test(
  "go away: the request goes out again over a new connection, while the old one stays until its answers are in",
  inWorld(207, async ({ sim, remoting, peer }) => {
    let leaving = false;
    const { addr, connections } = await peer((request, connection) => {
      if (request.code === 11) {
        return void sim.clock.setTimer(500, () => connection.answer(request, { body: request.body }));
      }
      const goAway = leaving && connection === connections[0];
      connection.answer(request, goAway ? { code: 1500 } : { body: request.body });
    });
    await sim.run(remoting.invoke(addr, { code: 1 }, { timeout: 3_000 }));
    const pull = remoting.invoke(addr, { code: 11, body: Uint8Array.of(7) }, { timeout: 3_000 });
    await sim.run(10);
    leaving = true;
    const { code, body } = await sim.run(
      remoting.invoke(addr, { code: 10, body: Uint8Array.of(9) }, { timeout: 3_000 }),
    );
    expect([code, body[0]]).toEqual([0, 9]);
    expect(connections).toHaveLength(2);
    const opaques = connections.map(({ requests }) => requests.find(({ code }) => code === 10)!.opaque);
    expect(opaques[0]).not.toBe(opaques[1]);
    expect(connections[0]!.isClosed).toBe(false);
    expect((await sim.run(pull)).body[0]).toBe(7);
    await sim.run(10);
    expect(connections[0]!.isClosed).toBe(true);
    await sim.run(remoting.invoke(addr, { code: 1 }, { timeout: 3_000 }));
    expect(connections).toHaveLength(2);
  }),
);

test(
  "go away: a second 1500 is the caller's, and the client does not spin",
  inWorld(208, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer((request, connection) => connection.answer(request, { code: 1500 }));
    const stop = sim.now + 10_000;
    let answers = 0;
    while (sim.now < stop) {
      const answer = await sim.run(outcome(remoting.invoke(addr, { code: 34 }, { timeout: 3_000 })));
      if (!(answer instanceof Error)) {
        expect(answer.code).toBe(1500);
        answers++;
      }
    }
    expect(answers).toBeGreaterThan(0);
    expect(connections.length).toBeLessThan(12);
    await sim.run(11_000);
    expect(connections.filter(({ isClosed }) => !isClosed).length).toBeLessThanOrEqual(1);
  }),
);

test(
  "go away: the time that is left is the time of the second attempt",
  inWorld(209, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer((request, connection) => {
      if (connection === connections[0]) sim.clock.setTimer(700, () => connection.answer(request, { code: 1500 }));
    });
    const started = sim.now;
    expect(await sim.run(outcome(remoting.invoke(addr, { code: 10 }, { timeout: 1_000 })))).toBeInstanceOf(
      TimeoutError,
    );
    expect(sim.now - started).toBeLessThan(1_005);
    expect(connections).toHaveLength(2);
  }),
);

test(
  "an aborted call rejects with the signal's reason, before and after it was sent",
  inWorld(210, async ({ sim, remoting, peer }) => {
    const { addr } = await peer(silence);
    const reason = { untouched: true };
    const early = remoting.invoke(addr, request, { timeout: 3_000, signal: AbortSignal.abort(reason) });
    await expect(sim.run(early)).rejects.toBe(reason);
    const abort = new AbortController();
    const sent = remoting.invoke(addr, request, { timeout: 3_000, signal: abort.signal });
    sent.catch(() => {});
    await sim.run(100);
    abort.abort(reason);
    await expect(sent).rejects.toBe(reason);
    expect(remoting.stats.inFlight).toBe(0);
  }),
);

test(
  "a call that is taken back hears of nothing, and its place is free at once: before the connection, under way, and at its end",
  inWorld(225, async ({ sim, remoting, peer }) => {
    const mute = await peer(silence), answering = await peer(echo);
    const heard: string[] = [];
    const begin = (to: string): Call => {
      const call = { outgoing: request, settle: () => heard.push("settled"), fail: () => heard.push("failed") };
      remoting.begin(to, call, 1_000);
      return call;
    };
    const waiting = begin(mute.addr), other = begin(mute.addr);
    expect(remoting.withdraw(waiting)).toBe(true);
    expect(remoting.stats.inFlight).toBe(1);
    await sim.run(100);
    const sent = begin(mute.addr);
    await sim.run(100);
    expect(remoting.withdraw(sent)).toBe(true);
    expect(remoting.withdraw(sent)).toBe(false);
    expect(remoting.withdraw(other)).toBe(true);
    expect(remoting.stats.inFlight).toBe(0);
    await sim.run(2_000);
    expect(heard).toEqual([]);
    const answered = begin(answering.addr);
    await sim.run(() => heard.length === 1);
    const refused = begin("no address");
    expect([answered, refused].map((call) => remoting.withdraw(call))).toEqual([false, false]);
    await sim.run(() => heard.length === 2);
    expect(heard).toEqual(["settled", "failed"]);
  }),
);

test(
  "neither function of a call is called during the call",
  inWorld(211, async ({ sim, remoting, peer, core }) => {
    const { addr } = await peer(echo);
    const outcomes: string[] = [];
    const call = (to: string, timeout: number, signal?: AbortSignal) => {
      let during = true;
      const done = (name: string) => outcomes.push(during ? "during" : name);
      remoting.call(to, request, timeout, () => done("settled"), () => done("failed"), signal);
      during = false;
    };
    call(addr, 0);
    call("no address", 100);
    call(addr, 100, AbortSignal.abort());
    call(addr, 100);
    await sim.run(() => outcomes.length === 4);
    await sim.run(remoting.close());
    call(addr, 100);
    await sim.run(() => outcomes.length === 5);
    expect(outcomes.sort()).toEqual(["failed", "failed", "failed", "failed", "settled"]);
    expect(core.failure).toBeUndefined();
  }),
);

test(
  "an address that cannot be read is a ConnectError that names it: another broker may have a better one",
  inWorld(212, async ({ sim, remoting }) => {
    for (const addr of ["localhost", "10.0.0.1:0", "10.0.0.1:99999", ""]) {
      const invoked = await sim.run(outcome(remoting.invoke(addr, request, { timeout: 1_000 })));
      expect(invoked).toMatchObject({ code: "ROCKETMQ_CONNECT", addr });
      const connected = await sim.run(outcome(remoting.connect(addr, { timeout: 1_000 })));
      expect(connected).toMatchObject({ code: "ROCKETMQ_CONNECT", addr });
    }
    expect(remoting.addresses).toEqual([]);
  }),
);

test(
  "a settle that throws fails its call, and no others",
  inWorld(213, async ({ sim, remoting, peer }) => {
    const { addr } = await peer(echo);
    const errors: RocketMQError[] = [];
    const thrown = new BrokerError("no", { responseCode: 1, remark: "" });
    const settle = (error: Error) => (_frame: Frame) => {
      throw error;
    };
    remoting.call(addr, request, 1_000, settle(thrown), (error) => errors.push(error));
    remoting.call(addr, request, 1_000, settle(new TypeError("odd")), (error) => errors.push(error));
    expect((await sim.run(remoting.invoke(addr, request, { timeout: 1_000 }))).code).toBe(0);
    expect(errors[0]).toBe(thrown);
    expect(errors[1]).toBeInstanceOf(InternalError);
    expect(errors[1]!.retryable).toBe(false);
    expect(errors[1]!.cause).toBeInstanceOf(TypeError);
  }),
);

test(
  "requests from the peer: handled by code, 3 for unknown ones, 1 for a handler that throws, nothing for oneway",
  inWorld(214, async ({ sim, remoting, peer, errors }) => {
    const { addr, connections } = await peer(echo);
    const seen: (readonly [RemotingCommand, string])[] = [];
    remoting.handle(40, (request, from) => void seen.push([request, from]));
    remoting.handle(307, (request) => Promise.resolve({ code: 0, extFields: { echo: request.extFields["group"]! } }));
    remoting.handle(220, () => {
      throw new Error("odd");
    });
    await sim.run(remoting.connect(addr, { timeout: 1_000 }));
    const [connection] = connections;
    connection!.request(40, 1, { consumerGroup: "G" }, 2);
    connection!.request(307, 2, { group: "G" });
    connection!.request(220, 3);
    connection!.request(9_999, 4);
    connection!.request(9_999, 5, {}, 2);
    connection!.request(40, 6);
    await sim.run(100);
    const answers = connection!.answers.map(({ opaque, code, extFields }) => [opaque, code, extFields["echo"]]);
    expect(answers.sort((one, other) => Number(one[0]) - Number(other[0]))).toEqual([
      [2, 0, "G"],
      [3, 1, undefined],
      [4, 3, undefined],
    ]);
    expect(seen.map(([{ code, extFields }, from]) => [code, extFields["consumerGroup"], from])).toEqual([
      [40, "G", addr],
      [40, undefined, addr],
    ]);
    expect(errors).toHaveLength(1);
  }),
);

test(
  "a oneway request settles when its bytes are written, and fails when they never will be",
  inWorld(215, async ({ sim, remoting, peer }) => {
    const { addr, requests } = await peer(silence);
    await sim.run(remoting.invokeOneway(addr, request, { timeout: 1_000 }));
    await sim.run(10);
    expect(requests.map(({ flag }) => flag)).toEqual([2]);
    const refused = await sim.run(outcome(remoting.invokeOneway("10.9.0.1:1", request, { timeout: 1_000 })));
    expect((refused as RocketMQError).code).toBe("ROCKETMQ_CONNECT");
    sim.network.swallow("10.9.0.1:2");
    const late = await sim.run(outcome(remoting.invokeOneway("10.9.0.1:2", request, { timeout: 1_000 })));
    expect((late as RocketMQError).code).toBe("ROCKETMQ_TIMEOUT");
    await sim.run(5_000);
  }),
);

test(
  "connect() is shared, ends at its timeout, and tells our own address",
  inWorld(216, async ({ sim, remoting, peer, events }) => {
    const { addr, connections } = await peer(silence);
    const both = Promise.all([remoting.connect(addr, { timeout: 1_000 }), remoting.connect(addr, { timeout: 1_000 })]);
    expect((await sim.run(both)).map(({ localAddress }) => localAddress)).toEqual(["10.0.0.1", "10.0.0.1"]);
    expect(connections).toHaveLength(1);
    sim.network.swallow("10.9.0.1:2");
    const error = await sim.run(outcome(remoting.connect("10.9.0.1:2", { timeout: 500 }))) as unknown as RocketMQError;
    expect(error.code).toBe("ROCKETMQ_CONNECT");
    remoting.disconnect(addr);
    await sim.run(10);
    expect(connections[0]!.isClosed).toBe(true);
    expect(events).toEqual([`connect ${addr}`, `disconnect ${addr}`]);
    await sim.run(5_000);
  }),
);

test(
  "disconnect() leaves a connection its last answers",
  inWorld(217, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer((request, connection) => {
      sim.clock.setTimer(100, () => connection.answer(request));
    });
    const call = remoting.invoke(addr, request, { timeout: 1_000 });
    await sim.run(20);
    remoting.disconnect(addr);
    expect((await sim.run(call)).code).toBe(0);
    await sim.run(10);
    expect(connections[0]!.isClosed).toBe(true);
  }),
);

test(
  "a call behind a disconnect() goes over another connection, and the address is known again",
  inWorld(219, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer((request, connection) => connection.answer(request));
    await sim.run(remoting.invoke(addr, request, { timeout: 1_000 }));
    remoting.disconnect(addr);
    expect(remoting.addresses).toEqual([]);
    const again = remoting.invoke(addr, request, { timeout: 1_000 });
    expect(remoting.addresses).toEqual([addr]);
    expect((await sim.run(again)).code).toBe(0);
    expect(connections).toHaveLength(2);
    expect(remoting.isConnected(addr)).toBe(true);
  }),
);

test(
  "65,535 calls may be in flight, the next fails with OverloadError",
  inWorld(218, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer(silence);
    await sim.run(remoting.connect(addr, { timeout: 1_000 }));
    let failed = 0;
    const errors: RocketMQError[] = [];
    for (let i = 0; i < 65_535; i++) remoting.call(addr, { code: 1 }, 5_000, () => {}, () => failed++);
    remoting.call(addr, { code: 1 }, 5_000, () => {}, (error) => errors.push(error));
    await sim.run(1);
    expect(errors[0]).toBeInstanceOf(OverloadError);
    await sim.run(1_000);
    expect(connections[0]!.requests).toHaveLength(65_535);
    await sim.run(5_000);
    expect(failed).toBe(65_535);
  }),
);

test(
  "random calls over a bad network: every call settles exactly once and nothing is left behind",
  async () => {
    for (let seed = 1; seed <= 15; seed++) {
      await inWorld(seed * 1_000, async ({ sim, remoting, peer }) => {
        const { addr } = await peer((request, connection) => {
          if (sim.random.chance(0.02)) return connection.close();
          if (sim.random.chance(0.02)) return connection.answer(request, { code: 1500 });
          sim.clock.setTimer(sim.random.next() * 50, () => connection.answer(request, { body: request.body }));
        });
        const settled: number[] = [], wrong: RocketMQError[] = [];
        let answered = 0;
        for (let i = 0; i < 300; i++) {
          const body = filled(sim.random.below(sim.random.chance(0.1) ? 200_000 : 2_000), i);
          const timeout = sim.random.chance(0.1) ? 30 : 3_000;
          settled.push(0);
          remoting.call(addr, { code: 1, body }, timeout, (frame) => {
            settled[i]!++;
            const command = readCommand(frame);
            if (command.code === 0) answered++;
            if (command.code === 0 && !same(command.body, body)) {
              throw new Error(`seed ${seed}: answer ${i} is another's`);
            }
          }, (error) => {
            settled[i]!++;
            if (error instanceof FrameError) wrong.push(error);
          });
          if (sim.random.chance(0.3)) await sim.run(sim.random.next() * 100);
        }
        await sim.run(() => settled.every((times) => times > 0));
        sim.heal();
        await sim.run(5_000);
        expect(settled.every((times) => times === 1), `seed ${seed}`).toBe(true);
        expect(answered, `seed ${seed}`).toBeGreaterThan(0);
        expect(wrong, `seed ${seed}`).toEqual([]);
      }, { split: 0.5, lateWrite: 10, delay: 5, cut: 0.02, drop: 0.005, refuse: 0.2 })();
    }
  },
);

function filled(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = i * 31 + seed;
  return bytes;
}

function same(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

test(
  "many calls with one signal put one listener on it, and take it off with the last of them",
  inWorld(240, async ({ sim, remoting, peer }) => {
    const { addr } = await peer(echo);
    const abort = new AbortController(), { signal } = abort;
    let listeners = 0, most = 0;
    const add = signal.addEventListener.bind(signal), remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      most = Math.max(most, ++listeners);
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    };
    const invoke = () => remoting.invoke(addr, request, { timeout: 1_000, signal });
    await sim.run(Promise.all(Array.from({ length: 50 }, invoke)));
    expect([most, listeners]).toEqual([1, 0]);

    const calls = Array.from({ length: 50 }, () => outcome(invoke()));
    abort.abort("mine");
    expect(new Set(await sim.run(Promise.all(calls)))).toEqual(new Set(["mine"]));
    expect(listeners).toBe(0);
  }),
);

test(
  "a signal that cannot be listened to fails its call alone, and leaves no slot behind",
  inWorld(241, async ({ sim, remoting, peer }) => {
    const { addr } = await peer(echo);
    const signal = {
      aborted: false,
      addEventListener: () => {
        throw new Error("odd");
      },
    } as unknown as AbortSignal;
    const error = await sim.run(outcome(remoting.invoke(addr, request, { timeout: 1_000, signal })));
    expect(error).toMatchObject({ code: "ROCKETMQ_INTERNAL" });
    expect(remoting.stats.inFlight).toBe(0);
    await sim.run(2_000);
    expect((await sim.run(remoting.invoke(addr, request, { timeout: 1_000 }))).code).toBe(0);
  }),
);

test(
  "a peer that asks without end and gets no answer through loses its connection, with one error",
  inWorld(242, async ({ sim, remoting, peer, errors }) => {
    const { addr, connections } = await peer(silence);
    remoting.handle(40, () => new Promise(() => {}));
    await sim.run(remoting.connect(addr, { timeout: 1_000 }));
    await sim.run(() => connections.length === 1);
    for (let i = 0; i < 3_000; i++) connections[0]!.request(40, i);
    await sim.run(() => remoting.stats.connections === 0);
    expect(errors.filter((error) => error.code === "ROCKETMQ_CONNECT").length).toBeLessThanOrEqual(1);
  }),
);

test(
  "an answer to a request that has not been sent yet is not believed",
  inWorld(243, async ({ sim, host, remoting, peer }) => {
    const { addr, connections } = await peer(silence);
    await sim.run(remoting.connect(addr, { timeout: 1_000 }));
    await sim.run(() => connections.length === 1);
    // So many large bodies that the last ones wait for room, while the peer answers opaques it has never seen.
    const answers: unknown[] = [];
    const body = new Uint8Array(1_000_000);
    for (let i = 0; i < 60; i++) {
      void outcome(remoting.invoke(addr, { ...request, body }, { timeout: 1_000 })).then((it) => answers.push(it));
    }
    host.defer(() => {
      for (let slot = 1; slot <= 60; slot++) {
        for (let generation = 0; generation < 3; generation++) {
          connections[0]!.answer({ opaque: generation << 16 | slot } as RemotingCommand);
        }
      }
    });
    await sim.run(() => answers.length === 60);
    expect(answers.filter((answer) => answer instanceof TimeoutError).length).toBeGreaterThan(0);
  }),
);
