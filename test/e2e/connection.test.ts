import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
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
import process from "node:process";
import { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { Core } from "../../client/core.ts";
import { ClosedError, ConnectError, OverloadError, type RocketMQError } from "../../client/errors.ts";
import { encodeCommand } from "../../client/protocol/command.ts";
import { Remoting } from "../../client/remoting/remoting.ts";
import { echo, Peer, silence } from "../support/peer.ts";
import { connectSocket, host, listener, TcpSocket } from "../support/runtime.ts";

const request = { code: 105, extFields: { topic: "T" } };
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A client; one whose core is given shares it with those before it. */
function client(core = new Core(host.core, 32)): { remoting: Remoting; core: Core; errors: RocketMQError[] } {
  const errors: RocketMQError[] = [];
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

/** Whether the machine has this address: asked of the system below the code under test. */
async function canListen(at: string): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(0, at);
    await once(server, "listening");
    return true;
  } catch (error) {
    if (["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  } finally {
    server.close();
  }
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

test("connection-12: IPv4 inside IPv6 is connected to", async (context) => {
  if (!await canListen("::")) context.skip("This machine has no IPv6 sockets");
  const { remoting } = client(), { addr } = await peer();
  const mapped = `[::ffff:127.0.0.1]:${addr.split(":")[1]}`;
  expect((await remoting.invoke(mapped, request, { timeout: 3_000 })).code).toBe(0);
});

test("connection-12: IPv6 is connected to, in both spellings", async (context) => {
  if (!await canListen("::1")) context.skip("This machine has no IPv6 loopback");
  const { remoting } = client(), six = await peer(echo, "::1");
  for (const form of [`[::1]:${six.addr.slice(4)}`, `::1:${six.addr.slice(4)}`]) {
    expect((await remoting.invoke(form, request, { timeout: 3_000 })).code, form).toBe(0);
  }
  expect((await remoting.connect(`[::1]:${six.addr.slice(4)}`, { timeout: 3_000 })).localAddress).toBe("::1");
});

test("connection-13: resets at any time reject each call once, and nothing else happens, 1,000 times", async () => {
  const answer = (opaque: number) => encodeCommand({ code: 0, opaque, flag: 1, serializeType: "JSON" });
  const reset = (socket: NetSocket) => {
    if (typeof socket.resetAndDestroy === "function") socket.resetAndDestroy();
    else socket.destroy();
  };
  let kind = "", accepted: NetSocket | undefined;
  const addr = await rawServer((socket) => {
    accepted = socket;
    if (kind === "right after accept") return reset(socket);
    socket.once("data", (bytes) => {
      const opaque = Number(/"opaque":(\d+)/.exec(String(bytes))![1]);
      if (kind === "within a frame") socket.write(answer(opaque).subarray(0, 20), () => reset(socket));
      if (kind === "after an answer") socket.write(answer(opaque));
    });
  });
  const kinds = ["right after accept", "within a frame", "after an answer", "after our close()"];
  const { core } = client(), before = core.bytesInUse;
  for (let round = 0; round < 1_000; round++) {
    kind = kinds[round % kinds.length]!;
    const { remoting, errors } = client(core);
    let settled = 0;
    const invoke = () => remoting.invoke(addr, request, { timeout: 10_000 }).finally(() => settled++);
    const calls = [invoke(), invoke()], results = Promise.allSettled(calls);
    if (kind === "after an answer") {
      await outcome(Promise.race(calls));
      reset(accepted!);
    }
    if (kind === "after our close()") {
      await outcome(remoting.connect(addr, { timeout: 10_000 }));
      await Promise.all([remoting.close(), until(() => accepted !== undefined)]);
      reset(accepted!);
    }
    const answered = (await results).filter(({ status }) => status === "fulfilled").length;
    expect(answered, kind).toBe(kind === "after an answer" ? 1 : 0);
    await remoting.close();
    expect([settled, remoting.stats.inFlight, errors], kind).toEqual([2, 0, []]);
    cleanups.splice(2);
    accepted = undefined;
  }
  expect(core.bytesInUse).toBe(before);
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

test("connection-15: what the system takes in parts arrives whole and in order, and is done once", async () => {
  let readable = () => {};
  const isReadable = new Promise<void>((resolve) => readable = resolve);
  let reader: NetSocket | undefined;
  const addr = await rawServer((socket) => {
    reader = socket.once("readable", readable);
  });
  const { host: name, port } = { host: addr.split(":")[0]!, port: Number(addr.split(":")[1]) };
  const socket = await connectSocket({ host: name, port }, nowhere(), AbortSignal.timeout(10_000));
  cleanups.push(() => socket.close());
  // More than a system keeps for a peer that does not read: the first try takes a part of it.
  const parts = [11, 24 * 1024 * 1024, 7].map((size, part) => new Uint8Array(size).map((_, at) => at * 13 + part));
  const done: (Error | undefined)[] = [];
  socket.write(parts, (error) => done.push(error));
  await isReadable;
  expect(done).toEqual([]);

  const whole = parts.reduce((sum, { length }) => sum + length, 0), hash = createHash("sha256");
  let arrived = 0;
  for (; arrived < 1_000; arrived++) {
    const byte: Uint8Array | null = reader!.read(1);
    if (byte) hash.update(byte);
    else await once(reader!, "readable").then(() => arrived--);
  }
  await new Promise<void>((resolve) => {
    reader!.removeAllListeners("readable").on("data", (bytes: Uint8Array) => {
      hash.update(bytes);
      arrived += bytes.length;
      if (arrived >= whole) resolve();
    }).resume();
  });
  expect(arrived).toBe(whole);
  expect(hash.digest("hex")).toBe(parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex"));
  await until(() => done.length > 0);
  expect(done).toEqual([undefined]);
});

test("connection-15: a writer that takes one byte at a time gets all of them in order", async () => {
  const taken: number[] = [], takenWhenDone: number[] = [], errors: Error[] = [];
  class OneByteWriter extends Duplex {
    override _read() {}
    override _write(bytes: Uint8Array, _encoding: string, callback: (error?: Error) => void) {
      const take = (at: number) => {
        if (at === bytes.length) return callback();
        taken.push(bytes[at]!);
        process.nextTick(take, at + 1);
      };
      take(0);
    }
  }
  const socket = new TcpSocket(new OneByteWriter() as unknown as NetSocket);
  const parts = [3, 5_000, 1, 2_000].map((size, part) => new Uint8Array(size).map((_, at) => at * 5 + part));
  for (const run of [parts.slice(0, 3), parts.slice(3)]) {
    socket.write(run, (error) => {
      takenWhenDone.push(taken.length);
      if (error) errors.push(error);
    });
  }
  expect(takenWhenDone).toEqual([]);
  await until(() => takenWhenDone.length === 2);
  // A stream tells of a write in the turn behind it, when it has begun the next one.
  expect(takenWhenDone[0]).toBeGreaterThanOrEqual(5_004);
  expect(takenWhenDone[0]).toBeLessThan(5_020);
  expect(takenWhenDone[1]).toBe(7_004);
  expect(errors).toEqual([]);
  expect(taken).toEqual(parts.flatMap((part) => [...part]));
});

/** Closes 500 clients, with a read pending or with a write under way; `watch` sees each of them gone. */
async function closings(watch: (round: number) => void): Promise<void> {
  let ended = 0;
  const addr = await rawServer((socket) => {
    socket.on("close", () => ended++);
    socket.on("end", () => socket.end());
    socket.resume();
  });
  const { core } = client(), before = core.bytesInUse, body = new Uint8Array(8_000_000);
  for (let round = 1; round <= 500; round++) {
    const { remoting } = client(core);
    const write = round % 2 === 0 ? { code: 10, body } : { code: 10 };
    const call = outcome(remoting.invoke(addr, write, { timeout: 10_000 }));
    await remoting.connect(addr, { timeout: 3_000 });
    if (round % 4 < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    await Promise.all([remoting.close(), remoting.close()]);
    expect(await call).toBeInstanceOf(ClosedError);
    const closed = performance.now();
    await until(() => ended >= round || performance.now() - closed > 2_000);
    expect(ended, `round ${round}`).toBe(round);
    cleanups.splice(2);
    watch(round);
  }
  expect(core.bytesInUse).toBe(before);
}

test("connection-16: close with a read pending or a write under way ends the stream at the peer, and no descriptor stays", async (context) => {
  // The first is Linux's, the second also macOS's.
  const folder = ["/proc/self/fd", "/dev/fd"].find((path) => existsSync(path));
  let first = 0, last = 0;
  await closings((round) => {
    if (!folder) return;
    if (round === 10) first = readdirSync(folder).length;
    if (round === 500) last = readdirSync(folder).length;
  });
  if (!folder) context.skip("Streams ended, but this system does not list the descriptors of a process");
  expect(first).toBeGreaterThan(3);
  expect(last).toBeLessThanOrEqual(first + 5);
});

test("connection-18: after an address that swallows packets, one whose handshake is slow is connected to", async () => {
  const silent = await swallowing("127.0.0.1");
  await silent.fill();
  const slow = await swallowing("127.0.0.2", silent.port, 1_600);
  await slow.fill();
  // The first address has a second; 600 ms later the next one begins to take connections.
  slow.wake();
  const both = names("127.0.0.1", "127.0.0.2"), started = performance.now();
  const endpoint = { host: "two.test", port: silent.port };
  let closed = () => {};
  const ended = new Promise<void>((resolve) => closed = resolve);
  const socket = await connectSocket(endpoint, nowhere(closed), AbortSignal.timeout(3_000), both);
  expect(performance.now() - started).toBeGreaterThan(1_500);
  socket.close();
  await ended;
});

test("connection-18: when all addresses fail the error names each of them and its cause", async () => {
  const { port, fill } = await swallowing("127.0.0.1");
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

test("connection-19: a name that only the hosts file knows is found", async (context) => {
  const entries = readFileSync("/etc/hosts", "utf8").split("\n").map((line) =>
    line.replace(/#.*/, "").trim().split(/\s+/)
  );
  const of = (name: string) => entries.filter(([, ...names]) => names.includes(name)).map(([ip]) => ip);
  const own = new Set(entries.flatMap(([, ...names]) => names).filter((name) => !/^localhost(\.|$)/.test(name)));
  const names = [...own].filter((name) => of(name).every((ip) => ip === "127.0.0.1"));
  if (names.length === 0) {
    context.skip("/etc/hosts gives 127.0.0.1 no name but localhost, which resolvers know as well");
  }
  const { remoting } = client(), { addr } = await peer();
  for (const name of names) {
    const response = await remoting.invoke(`${name}:${addr.split(":")[1]}`, request, { timeout: 3_000 });
    expect(response.code, name).toBe(0);
  }
});

test("connection-19: localhost is found, and no host has a resolver of its own", async () => {
  const { remoting } = client(), { addr } = await peer();
  const response = await remoting.invoke(`localhost:${addr.split(":")[1]}`, request, { timeout: 3_000 });
  expect(response.code).toBe(0);
  const resolvers = /node:dns|\bresolveDns\b|\bresolve[46]\b|dns\.(?!lookup)/;
  for (const folder of ["host-node", "host-deno"]) {
    const sources = readdirSync(new URL(`../../${folder}`, import.meta.url)).filter((name) => name.endsWith(".ts"));
    expect(sources).toContain("socket.ts");
    for (const name of sources) {
      const text = readFileSync(new URL(`../../${folder}/${name}`, import.meta.url), "utf8");
      expect(resolvers.test(text), `${folder}/${name}`).toBe(false);
    }
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

interface Swallowing {
  readonly port: number;
  /** Takes the places that it has for connections. */
  fill(): Promise<void>;
  /** Lets it accept what comes, `wakesAfter` milliseconds from now. */
  wake(): void;
}

/** A listener that swallows packets, in a process of its own, until it is woken. */
async function swallowing(at: string, wanted = 0, wakesAfter = 0): Promise<Swallowing> {
  const program = fileURLToPath(new URL("../support/swallow.mjs", import.meta.url));
  const child = spawn("node", [program, at, String(wakesAfter), String(wanted)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  cleanups.push(() => void child.kill("SIGKILL"));
  const port = await new Promise<number>((resolve) =>
    child.stdout.once("data", (text) => resolve(Number(String(text))))
  );
  return {
    port,
    wake: () => void child.stdin.write("\n"),
    async fill() {
      // Twice in a row, so that a busy machine is not taken for a full listener.
      for (let left = 2; left > 0;) {
        const socket = connect({ host: at, port });
        socket.on("error", () => {});
        cleanups.push(() => void socket.destroy());
        const taken = await Promise.race([
          once(socket, "connect").then(() => true),
          new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 300)),
        ]);
        left = taken ? 2 : left - 1;
      }
    },
  };
}

function names(...addresses: string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: 4 }));
  return (_host, options, done) => options.all ? done(null, all) : done(null, all[0]!.address, 4);
}

function nowhere(closed: () => void = () => {}) {
  const room = new Uint8Array(1_024);
  return { room: () => room, received() {}, closed };
}
