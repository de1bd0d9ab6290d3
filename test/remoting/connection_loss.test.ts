import { expect, test } from "vitest";
import { ClosedError, ConnectError, FrameError, type RocketMQError, TimeoutError } from "../../client/errors.ts";
import { Remoting } from "../../client/remoting/remoting.ts";
import { echo, type PeerConnection, silence } from "../support/peer.ts";
import { inWorld, outcome } from "./world.ts";

const request = { code: 105, extFields: { topic: "T" } };

test(
  "connection-1: a half-open connection is given up after two timeouts in a row, and the next request uses a new one",
  inWorld(101, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer(echo);
    await sim.run(remoting.invoke(addr, request, { timeout: 3_000 }));
    sim.network.drop(addr);
    for (let i = 0; i < 2; i++) {
      const started = sim.now;
      const error = await sim.run(outcome(remoting.invoke(addr, request, { timeout: 3_000 })));
      expect(error).toBeInstanceOf(TimeoutError);
      expect(sim.now - started).toBeLessThan(3_005);
    }
    const response = await sim.run(remoting.invoke(addr, request, { timeout: 3_000 }));
    expect(response.code).toBe(0);
    expect(connections).toHaveLength(2);
  }),
);

test(
  "connection-1: timeouts of calls that ended together, or with bytes between them, do not end a connection",
  inWorld(102, async ({ sim, remoting, peer }) => {
    let isMute = false;
    const { addr, connections } = await peer((request, connection) => {
      if (!isMute || request.code === 1) connection.answer(request);
    });
    isMute = true;
    const together = Array.from({ length: 5 }, () => outcome(remoting.invoke(addr, request, { timeout: 500 })));
    for (const error of await sim.run(Promise.all(together))) expect(error).toBeInstanceOf(TimeoutError);
    for (let i = 0; i < 5; i++) {
      await sim.run(remoting.invoke(addr, { code: 1 }, { timeout: 500 }));
      expect(await sim.run(outcome(remoting.invoke(addr, request, { timeout: 500 })))).toBeInstanceOf(TimeoutError);
    }
    expect(connections).toHaveLength(1);
    expect(connections[0]!.isClosed).toBe(false);
  }),
);

test(
  "connection-1: calls with short timeouts do not end a connection that answers slowly, but a dead one in time",
  inWorld(108, async ({ sim, host, remoting, peer }) => {
    const { addr, connections } = await peer((request, connection) => {
      host.clock.setTimer(500, () => connection.answer(request));
    });
    const short = () => outcome(remoting.invoke(addr, request, { timeout: 50 }));
    const slow = remoting.invoke(addr, request, { timeout: 3_000 });
    for (let i = 0; i < 4; i++) expect(await sim.run(short())).toBeInstanceOf(TimeoutError);
    expect((await sim.run(slow)).code).toBe(0);
    expect(connections).toHaveLength(1);

    sim.network.drop(addr);
    const dropped = sim.now;
    for (let i = 0; i < 40 && remoting.stats.connections > 0; i++) await sim.run(short());
    expect(remoting.stats.connections).toBe(0);
    expect(sim.now - dropped).toBeGreaterThanOrEqual(1_000);
    expect(sim.now - dropped).toBeLessThan(1_200);
  }),
);

test(
  "connection-17: a connection on which a call waits and no byte comes is closed after 60 s, without any keepalive",
  inWorld(103, async ({ sim, remoting, peer, events }) => {
    const { addr } = await peer(silence);
    await sim.run(remoting.connect(addr, { timeout: 1_000 }));
    await sim.run(300_000);
    const started = sim.now;
    const error = await sim.run(outcome(remoting.invoke(addr, request, { timeout: 600_000 })));
    expect(error).toBeInstanceOf(ConnectError);
    expect(sim.now - started).toBeGreaterThanOrEqual(59_000);
    expect(sim.now - started).toBeLessThanOrEqual(65_100);
    expect(events).toContain(`disconnect ${addr}`);
  }),
);

test(
  "connection-17: an idle connection whose peer vanished is found by two heartbeats",
  inWorld(104, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer(echo);
    await sim.run(remoting.invoke(addr, { code: 34 }, { timeout: 3_000 }));
    sim.network.drop(addr);
    for (let i = 0; i < 2; i++) {
      await sim.run(30_000);
      await sim.run(outcome(remoting.invoke(addr, { code: 34 }, { timeout: 3_000 })));
    }
    expect(remoting.stats.connections).toBe(0);
    await sim.run(remoting.invoke(addr, { code: 34 }, { timeout: 3_000 }));
    expect(connections).toHaveLength(2);
  }),
);

test(
  "connection-2: calls in flight fail at once when their connection closes",
  inWorld(105, async ({ sim, remoting, peer }) => {
    const { addr, requests, connections } = await peer(silence);
    const calls = Array.from({ length: 3 }, () => outcome(remoting.invoke(addr, request, { timeout: 30_000 })));
    await sim.run(() => requests.length === 3);
    const started = sim.now;
    connections[0]!.close();
    for (const error of await sim.run(Promise.all(calls))) expect(error).toBeInstanceOf(ConnectError);
    expect(sim.now - started).toBeLessThan(100);
  }),
);

test(
  "connection-3: when a write throws every call is rejected and none is left behind",
  inWorld(106, async ({ sim, host, core, errors }) => {
    const remoting = new Remoting({
      host: {
        ...host,
        connect: (_endpoint, inbox) =>
          Promise.resolve({
            localAddress: "10.0.0.9",
            write: () => {
              throw new Error("destroyed");
            },
            close: () => host.defer(() => inbox.closed()),
          }),
      },
      core,
      serializeType: "JSON",
      connectTimeout: 1_000,
      onError: (error) => errors.push(error),
    });
    const failures: RocketMQError[] = [];
    for (let i = 0; i < 1_000; i++) {
      for (let k = 0; k < 10; k++) {
        remoting.call("10.9.9.9:1", request, 1_000, () => {}, (error) => failures.push(error));
      }
      await sim.run(1);
    }
    await sim.run(() => failures.length === 10_000);
    expect(failures.every((error) => error instanceof ConnectError)).toBe(true);
    expect(remoting.stats.inFlight).toBe(0);
    expect(errors).toEqual([]);
    await sim.run(remoting.close());
  }),
);

test(
  "connection-3: a socket that throws and calls back all the same ends its calls once, and is released",
  inWorld(109, async ({ sim, host, remoting: _, core }) => {
    const dones: ((error?: Error) => void)[] = [];
    const remoting = new Remoting({
      host: {
        ...host,
        connect: (_endpoint, inbox) =>
          Promise.resolve({
            localAddress: "10.0.0.9",
            write: (_parts, done) => {
              dones.push(done);
              throw new Error("destroyed");
            },
            close: () =>
              host.defer(() => {
                for (const done of dones.splice(0)) done(new Error("closed"));
                inbox.closed();
              }),
          }),
      },
      core,
      serializeType: "JSON",
      connectTimeout: 1_000,
    });
    const error = await sim.run(outcome(remoting.invoke("10.9.9.9:1", request, { timeout: 1_000 })));
    expect(error).toBeInstanceOf(ConnectError);
    await sim.run(remoting.close());
  }),
);

test(
  "connection-4: 50 requests at once to a new address share one connection",
  inWorld(107, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer(echo);
    const calls = Array.from(
      { length: 50 },
      (_, i) => remoting.invoke(addr, { ...request, body: body(i) }, { timeout: 3_000 }),
    );
    const responses = await sim.run(Promise.all(calls));
    expect(responses.map(({ body }) => body[0])).toEqual(responses.map((_, i) => i));
    expect(connections).toHaveLength(1);
    expect(connections[0]!.isClosed).toBe(false);
  }),
);

test(
  "connection-5: two shutdowns at once resolve while half of the peers reset",
  inWorld(108, async ({ sim, remoting, peer }) => {
    const peers = await Promise.all(Array.from({ length: 10 }, () => peer(silence)));
    const calls = peers.map(({ addr }) => outcome(remoting.invoke(addr, request, { timeout: 30_000 })));
    await sim.run(() => peers.every(({ requests }) => requests.length === 1));
    const closing = [remoting.close(), remoting.close()];
    for (const { addr } of peers.slice(0, 5)) sim.network.cut(addr);
    const started = sim.now;
    await sim.run(Promise.all(closing));
    for (const error of await sim.run(Promise.all(calls))) expect(error).toBeInstanceOf(ClosedError);
    expect(sim.now - started).toBeLessThan(100);
    expect(await sim.run(outcome(remoting.invoke(peers[0]!.addr, request, { timeout: 1_000 })))).toBeInstanceOf(
      ClosedError,
    );
    await sim.run(1_000);
    expect(sim.planned).toBe(0);
  }),
);

test(
  "connection-5: close() while connecting, and in a pause between attempts",
  inWorld(109, async ({ sim, remoting }) => {
    sim.network.swallow("10.9.0.1:1");
    const connecting = outcome(remoting.invoke("10.9.0.1:1", request, { timeout: 30_000 }));
    await sim.run(outcome(remoting.invoke("10.9.0.1:2", request, { timeout: 30_000 })));
    const pausing = outcome(remoting.invoke("10.9.0.1:2", request, { timeout: 30_000 }));
    await sim.run(10);
    await sim.run(remoting.close());
    expect(await connecting).toBeInstanceOf(ClosedError);
    expect(await pausing).toBeInstanceOf(ClosedError);
    expect(sim.planned).toBe(0);
  }),
);

test(
  "connection-20: attempts are spaced by growing pauses, and traffic resumes within seconds",
  inWorld(110, async ({ sim, remoting, peer }) => {
    const addr = "10.9.0.1:10911";
    const attempts: number[] = [];
    const stop = sim.now + 60_000;
    let seen = 0;
    while (sim.now < stop) {
      const error = await sim.run(outcome(remoting.invoke(addr, request, { timeout: 3_000 })));
      expect(error).toBeInstanceOf(ConnectError);
      if (sim.counts.refusals > seen) attempts.push(sim.now);
      seen = sim.counts.refusals;
    }
    expect(attempts.length).toBeGreaterThanOrEqual(8);
    expect(attempts.length).toBeLessThanOrEqual(16);
    const pauses = attempts.slice(1).map((at, i) => at - attempts[i]!);
    for (const [i, pause] of pauses.entries()) {
      const ideal = Math.min(10_000, 100 * 2 ** i);
      expect(pause).toBeGreaterThan(ideal * 0.79);
      expect(pause).toBeLessThan(ideal * 1.21 + 5);
    }
    await peer(echo, 10911);
    const restarted = sim.now;
    while (await sim.run(outcome(remoting.invoke(addr, request, { timeout: 3_000 }))) instanceof Error);
    expect(sim.now - restarted).toBeLessThan(12_500);
  }),
);

test(
  "connection-20: a peer that accepts and hangs up at once does not make the client spin",
  inWorld(111, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer((_, connection) => connection.close());
    const stop = sim.now + 10_000;
    while (sim.now < stop) await sim.run(outcome(remoting.invoke(addr, request, { timeout: 3_000 })));
    expect(connections.length).toBeLessThan(12);
  }),
);

test(
  "connection-20: a connection that answered before is made again without a pause",
  inWorld(112, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer(echo);
    for (let i = 0; i < 20; i++) {
      const started = sim.now;
      await sim.run(remoting.invoke(addr, request, { timeout: 3_000 }));
      expect(sim.now - started).toBeLessThan(10);
      connections.at(-1)!.close();
      await sim.run(5);
    }
  }),
);

test(
  "a failed connect is a ConnectError within the timeout, whose cause has one error per address",
  inWorld(113, async ({ sim, remoting }) => {
    const refused = await sim.run(outcome(remoting.invoke("10.9.0.1:1", request, { timeout: 3_000 }))) as RocketMQError;
    expect(refused).toBeInstanceOf(ConnectError);
    expect((refused.cause as AggregateError).errors.map(({ message }) => message)).toEqual([
      "connect ECONNREFUSED 10.9.0.1:1",
    ]);
    sim.network.swallow("10.9.0.1:2");
    const started = sim.now;
    const late = await sim.run(outcome(remoting.invoke("10.9.0.1:2", request, { timeout: 1_000 }))) as RocketMQError;
    expect(late).toBeInstanceOf(ConnectError);
    expect((late.cause as AggregateError).errors).toHaveLength(1);
    expect(sim.now - started).toBeLessThan(1_005);
    const swallowed = await sim.run(
      outcome(remoting.invoke("10.9.0.1:2", request, { timeout: 30_000 })),
    ) as RocketMQError;
    expect(swallowed).toBeInstanceOf(ConnectError);
    expect(sim.now - started).toBeLessThan(3_005);
    await sim.run(20_000);
  }),
);

test(
  "garbage from a peer fails that connection's calls with FrameError, and no others",
  inWorld(114, async ({ sim, remoting, peer }) => {
    const garbage = new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n");
    const wrong = await peer((request, connection) => request.code === 1 && connection.write(garbage));
    const right = await peer((request, connection) => setAnswer(request.code, connection));
    const setAnswer = (_code: number, connection: PeerConnection) =>
      answers.push(() => connection.answer(connection.requests[0]!));
    const answers: (() => void)[] = [];
    const waiting = outcome(remoting.invoke(wrong.addr, request, { timeout: 3_000 }));
    const other = remoting.invoke(right.addr, request, { timeout: 3_000 });
    await sim.run(() => wrong.requests.length === 1 && answers.length === 1);
    expect(await sim.run(outcome(remoting.invoke(wrong.addr, { code: 1 }, { timeout: 3_000 })))).toBeInstanceOf(
      FrameError,
    );
    expect(await waiting).toBeInstanceOf(FrameError);
    expect(wrong.open).toBeLessThanOrEqual(1);
    answers[0]!();
    expect((await sim.run(other)).code).toBe(0);
    await sim.run(10);
    expect(wrong.open).toBe(0);
  }),
);

test(
  "a header without sense is garbage as well",
  inWorld(115, async ({ sim, remoting, peer }) => {
    const { addr } = await peer((_, connection) => connection.write(frame("{]")));
    expect(await sim.run(outcome(remoting.invoke(addr, request, { timeout: 3_000 })))).toBeInstanceOf(FrameError);
  }),
);

function body(first: number): Uint8Array {
  return Uint8Array.of(first, 1, 2, 3);
}

function frame(header: string): Uint8Array {
  const bytes = new Uint8Array(8 + header.length);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, 4 + header.length);
  view.setInt32(4, header.length);
  bytes.set(new TextEncoder().encode(header), 8);
  return bytes;
}
