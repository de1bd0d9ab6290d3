import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import {
  type AddressInfo,
  connect,
  createServer,
  type LookupFunction,
  type Server,
  type Socket as NetSocket,
} from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { Core } from "../../client/core.ts";
import { ClosedError, ConnectError, OverloadError, type RocketMQError } from "../../client/errors.ts";
import { encodeCommand } from "../../client/protocol/command.ts";
import { Remoting } from "../../client/remoting/remoting.ts";
import { echo, Peer, silence } from "../support/peer.ts";
import { connectSocket, host, listener } from "../support/runtime.ts";

const request = { code: 105, extFields: { topic: "T" } };
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function client(): { remoting: Remoting; core: Core; errors: RocketMQError[] } {
  const core = new Core(host.core, 32), errors: RocketMQError[] = [];
  const remoting = new Remoting({
    host,
    core,
    serializeType: "JSON",
    connectTimeout: 3_000,
    onError: (error) => errors.push(error),
  });
  cleanups.push(() => remoting.close());
  return { remoting, core, errors };
}

async function peer(script = echo, at = "127.0.0.1"): Promise<Peer> {
  const peer = await Peer.listen(listener, script, at);
  cleanups.push(() => peer.close());
  return peer;
}

/** A server below the protocol; its address. */
async function rawServer(serve: (socket: NetSocket) => void, at = "127.0.0.1", port = 0): Promise<string> {
  const sockets = new Set<NetSocket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => sockets.delete(socket));
    socket.on("close", () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(port, at);
  await once(server, "listening");
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return `${at}:${(server.address() as AddressInfo).port}`;
}

const outcome = <T>(promise: Promise<T>): Promise<T | RocketMQError> => promise.catch((error: RocketMQError) => error);

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}

test("requests and answers of all sizes go over real sockets", async () => {
  const { remoting } = client(), { addr, connections } = await peer();
  const sizes = [0, 1, 1_000, 32_768, 32_769, 70_000, 131_072, 200_000, 1_000_000, 5_000_000];
  const bodies = sizes.map((size, i) => new Uint8Array(size).map((_, at) => at * 7 + i));
  const calls = bodies.map((body) => remoting.invoke(addr, { code: 10, body }, { timeout: 20_000 }));
  for (const [i, { body }] of (await Promise.all(calls)).entries()) {
    expect(body.length).toBe(sizes[i]);
    expect(body.every((byte, at) => byte === bodies[i]![at]), `body ${i}`).toBe(true);
  }
  expect(connections).toHaveLength(1);
  const { bytesIn, bytesOut } = remoting.stats;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(Number(bytesIn)).toBeGreaterThan(total);
  expect(Number(bytesOut)).toBeGreaterThan(total);
});

test("connection-2: calls in flight fail at once when the peer closes", async () => {
  const { remoting } = client(), { addr, requests, connections } = await peer(silence);
  const calls = Array.from({ length: 3 }, () => outcome(remoting.invoke(addr, request, { timeout: 30_000 })));
  await until(() => requests.length === 3);
  const started = performance.now();
  connections[0]!.close();
  for (const error of await Promise.all(calls)) expect(error).toBeInstanceOf(ConnectError);
  expect(performance.now() - started).toBeLessThan(1_000);
});

test("connection-12: IPv6 and IPv4 inside IPv6 are connected to", async () => {
  const { remoting } = client();
  const { addr } = await peer();
  const mapped = `[::ffff:127.0.0.1]:${addr.split(":")[1]}`;
  expect((await remoting.invoke(mapped, request, { timeout: 3_000 })).code).toBe(0);
  if (!existsSync("/proc/net/if_inet6") || readFileSync("/proc/net/if_inet6", "utf8") === "") return;
  const six = await peer(echo, "::1");
  for (const form of [`[::1]:${six.addr.slice(4)}`, `::1:${six.addr.slice(4)}`]) {
    expect((await remoting.invoke(form, request, { timeout: 3_000 })).code, form).toBe(0);
  }
  expect((await remoting.connect(`[::1]:${six.addr.slice(4)}`, { timeout: 3_000 })).localAddress).toBe("::1");
});

test("connection-13: resets at any time reject each call once, and nothing else happens", async () => {
  const answer = (opaque: number) => encodeCommand({ code: 0, opaque, flag: 1, serializeType: "JSON" });
  for (let round = 0; round < 100; round++) {
    const kind = round % 4;
    const addr = await rawServer((socket) => {
      const reset = () => typeof socket.resetAndDestroy === "function" ? socket.resetAndDestroy() : socket.destroy();
      if (kind === 0) return reset();
      socket.once("data", (bytes) => {
        const opaque = Number(/"opaque":(\d+)/.exec(String(bytes))![1]);
        if (kind === 1) socket.write(answer(opaque).subarray(0, 20), reset);
        if (kind === 2) socket.write(answer(opaque), () => setTimeout(reset, 1));
        if (kind === 3) setTimeout(reset, 1);
      });
    });
    const { remoting, errors } = client();
    const calls = [
      remoting.invoke(addr, request, { timeout: 3_000 }),
      remoting.invoke(addr, request, { timeout: 3_000 }),
    ];
    const settled = Promise.allSettled(calls);
    if (kind === 3) {
      await outcome(remoting.connect(addr, { timeout: 3_000 }));
      await remoting.close();
    }
    const results = await settled;
    const answered = results.filter(({ status }) => status === "fulfilled").length;
    expect(answered).toBe(kind === 2 ? 1 : 0);
    expect(remoting.stats.inFlight).toBe(0);
    expect(errors).toEqual([]);
    await remoting.close();
    await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
  }
});

test("connection-14: a peer that stops reading costs 64 MiB at most", async () => {
  const { remoting, core } = client();
  const addr = await rawServer((socket) => socket.pause());
  await remoting.connect(addr, { timeout: 3_000 });
  const body = new Uint8Array(4 * 1024 * 1024);
  let refused = 0, rounds = 0;
  for (; rounds < 5; rounds++) {
    const calls = Array.from(
      { length: 50 },
      () => outcome(remoting.invoke(addr, { code: 10, body }, { timeout: 300 })),
    );
    const errors = await Promise.all(calls);
    expect(errors.every((error) => error instanceof Error)).toBe(true);
    const overloads = errors.filter((error) => error instanceof OverloadError).length;
    expect(overloads).toBeGreaterThanOrEqual(50 - 20);
    refused += overloads;
    expect(core.bytesInUse).toBeLessThan(2 * 1024 * 1024);
  }
  expect(refused).toBeGreaterThan(0);
  expect(remoting.stats.inFlight).toBe(0);
});

test("connection-15: 800,000 bytes arrive whole on five connections at once", async () => {
  const { remoting } = client();
  const peers = await Promise.all(
    Array.from({ length: 5 }, () => peer((request, connection) => connection.answer(request))),
  );
  const body = new Uint8Array(800_000).map((_, at) => at % 251);
  await Promise.all(peers.map(({ addr }) => remoting.invoke(addr, { code: 10, body }, { timeout: 10_000 })));
  for (const { requests } of peers) {
    expect(requests).toHaveLength(1);
    expect(requests[0]!.body.length).toBe(800_000);
    expect(requests[0]!.body.every((byte, at) => byte === at % 251)).toBe(true);
  }
});

test("connection-16: close with a read pending or a write under way ends the stream at the peer, and no descriptor stays", async () => {
  const descriptors = () => existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0;
  let ended = 0, before = 0;
  const addr = await rawServer((socket) => {
    socket.on("close", () => ended++);
    socket.on("end", () => socket.end());
    socket.resume();
  });
  for (let round = 1; round <= 100; round++) {
    const { remoting } = client();
    const body = round % 2 ? new Uint8Array(0) : new Uint8Array(8_000_000);
    const call = outcome(remoting.invoke(addr, { code: 10, body }, { timeout: 10_000 }));
    await remoting.connect(addr, { timeout: 3_000 });
    if (round % 4 < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    await Promise.all([remoting.close(), remoting.close()]);
    expect(await call).toBeInstanceOf(ClosedError);
    const closed = performance.now();
    await until(() => ended >= round || performance.now() - closed > 2_000);
    expect(ended, `round ${round}`).toBe(round);
    cleanups.splice(1);
    if (round === 10) before = descriptors();
  }
  expect(descriptors()).toBeLessThanOrEqual(before + 5);
});

test("connection-18: an address that swallows packets does not keep us from the next one", async () => {
  const { port, fill } = await swallowing();
  await fill();
  await rawServer((socket) => socket.resume(), "127.0.0.2", port);
  const started = performance.now();
  let closed = () => {};
  const ended = new Promise<void>((resolve) => closed = resolve);
  const both = names("127.0.0.1", "127.0.0.2");
  const socket = await connectSocket({ host: "two.test", port }, nowhere(closed), AbortSignal.timeout(3_000), both);
  expect(performance.now() - started).toBeGreaterThan(600);
  socket.close();
  await ended;
});

test("connection-18: when all addresses fail the error names each of them and its cause", async () => {
  const { port, fill } = await swallowing();
  await fill();
  const both = names("127.0.0.1", "127.0.0.3");
  const error = await connectSocket({ host: "two.test", port }, nowhere(), AbortSignal.timeout(5_000), both).then(
    () => undefined,
    (error: RocketMQError) => error,
  );
  expect(error).toBeInstanceOf(ConnectError);
  const messages = (error!.cause as AggregateError).errors.map(({ message }: Error) => message);
  expect(messages.some((message) => message.includes(`127.0.0.1:${port}`))).toBe(true);
  expect(messages.some((message) => message.includes(`127.0.0.3:${port}`))).toBe(true);
  expect(error!.message).toContain("127.0.0.3");
});

test("connection-19: a name that only the hosts file knows is found", async () => {
  const entries = readFileSync("/etc/hosts", "utf8").split("\n").map((line) =>
    line.replace(/#.*/, "").trim().split(/\s+/)
  );
  const local = entries.filter(([ip]) => ip!.startsWith("127."));
  const names = local.flatMap(([, ...names]) => names);
  expect(names.length).toBeGreaterThan(0);
  const { remoting } = client(), { addr } = await peer();
  for (const name of names.filter((name) => local.every(([ip, ...all]) => !all.includes(name) || ip === "127.0.0.1"))) {
    const response = await remoting.invoke(`${name}:${addr.split(":")[1]}`, request, { timeout: 3_000 });
    expect(response.code, name).toBe(0);
  }
});

test("a refused connect is a ConnectError at once, whose cause names the address", async () => {
  const { remoting } = client(),
    { addr, close } = await Peer.listen(listener, silence).then((peer) => ({
      addr: peer.addr,
      close: () => peer.close(),
    }));
  await close();
  const error = await outcome(remoting.invoke(addr, request, { timeout: 3_000 })) as RocketMQError;
  expect(error).toBeInstanceOf(ConnectError);
  const [cause] = (error.cause as AggregateError).errors as Error[];
  expect(`${cause!.message} ${"code" in cause! ? cause.code : ""}`).toContain("ECONNREFUSED");
});

test("a port that is taken is a ConnectError of the listener", async () => {
  const { addr } = await peer();
  const again = listener.listen("127.0.0.1", Number(addr.split(":")[1]), () => nowhere());
  await expect(again).rejects.toThrow(ConnectError);
});

test("closing a listener ends the connections it has accepted, and the client connects again later", async () => {
  const { remoting } = client(), first = await peer();
  await remoting.invoke(first.addr, request, { timeout: 3_000 });
  const waiting = outcome(remoting.connect(first.addr, { timeout: 3_000 }));
  await waiting;
  await first.close();
  await until(() => remoting.stats.connections === 0);
  const second = await Peer.listen(listener, echo, "127.0.0.1", Number(first.addr.split(":")[1]));
  cleanups.push(() => second.close());
  expect((await remoting.invoke(first.addr, request, { timeout: 3_000 })).code).toBe(0);
});

/** A listener that swallows packets, in a process of its own; `fill` takes the place it has for connections. */
async function swallowing(): Promise<{ port: number; fill: () => Promise<void> }> {
  const child = spawn("node", [fileURLToPath(new URL("../support/swallow.mjs", import.meta.url))], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  cleanups.push(() => void child.kill("SIGKILL"));
  const port = await new Promise<number>((resolve) =>
    child.stdout.once("data", (text) => resolve(Number(String(text))))
  );
  const fill = async () => {
    // Twice in a row, so that a busy machine is not taken for a full listener.
    for (let left = 2; left > 0;) {
      const socket = connect({ host: "127.0.0.1", port });
      socket.on("error", () => {});
      cleanups.push(() => void socket.destroy());
      const taken = await Promise.race([
        once(socket, "connect").then(() => true),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 300)),
      ]);
      left = taken ? 2 : left - 1;
    }
  };
  return { port, fill };
}

function names(...addresses: string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: 4 }));
  return (_host, options, done) => options.all ? done(null, all) : done(null, all[0]!.address, 4);
}

function nowhere(closed: () => void = () => {}) {
  const room = new Uint8Array(1_024);
  return { room: () => room, received() {}, closed };
}
