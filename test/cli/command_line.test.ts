import { readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Doors } from "../../cli/doors.ts";
import { main } from "../../cli/main.ts";
import { ArgumentError, ConnectError, isRocketMQError } from "../../client/errors.ts";
import { type Ended, runProgram, sameRuntime } from "../support/run_program.ts";
import { echo, Peer } from "../support/peer.ts";
import { isBun, isDeno, listener } from "../support/runtime.ts";

type ClusterOptions = NonNullable<Parameters<Doors["startCluster"]>[0]>;

let stdout = "";
let stderr = "";

beforeEach(() => {
  stdout = "";
  stderr = "";
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
    stdout += String(chunk);
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
    stderr += String(chunk);
    return true;
  });
});

afterEach(() => vi.restoreAllMocks());

/** A cluster that remembers how it was started, and a command that is asked to end as soon as it listens. */
function fakeDoors(fail?: Error): { doors: Doors; started: ClusterOptions[]; closed: () => number } {
  const started: ClusterOptions[] = [];
  let closed = 0;
  const startCluster: Doors["startCluster"] = (options = {}) => {
    started.push(options);
    if (fail) return Promise.reject(fail);
    const close = (): Promise<void> => {
      closed++;
      return Promise.resolve();
    };
    return Promise.resolve({
      namesrvAddr: "127.0.0.1:12345",
      fault: () => () => undefined,
      close,
      [Symbol.asyncDispose]: close,
    });
  };
  return {
    doors: { startCluster, isRocketMQError, untilAsked: () => Promise.resolve() },
    started,
    closed: () => closed,
  };
}

describe("rmq broker", () => {
  test("listens on RocketMQ's own ports unless told otherwise, prints the address, and closes when asked to end", async () => {
    const { doors, started, closed } = fakeDoors();
    expect(await main(doors, ["broker"])).toBe(0);
    expect(started).toEqual([{ listenHost: "127.0.0.1", namesrvPort: 9876, brokerPort: 10911 }]);
    expect(stdout).toBe("127.0.0.1:12345\n");
    expect(stderr).toContain("127.0.0.1:12345");
    expect(closed()).toBe(1);
  });

  test("hands its options on, and prints JSON where that is wanted", async () => {
    const { doors, started } = fakeDoors();
    const options = [
      "--namesrv-port",
      "0",
      "--broker-port=0",
      "--message-delay-level",
      "1s 2s",
      "--topics",
      "a:4,b",
      "--json",
    ];
    expect(await main(doors, ["broker", ...options])).toBe(0);
    expect(started[0]).toMatchObject({
      namesrvPort: 0,
      brokerPort: 0,
      messageDelayLevel: "1s 2s",
      topics: { a: { queues: 4 }, b: {} },
    });
    expect(JSON.parse(stdout)).toEqual({ namesrvAddr: "127.0.0.1:12345" });
  });

  test("fails with exit code 1 and the causes when the cluster does not start", async () => {
    const { doors } = fakeDoors(new Error("Cannot listen", { cause: new Error("address in use") }));
    expect(await main(doors, ["broker"])).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toBe("Cannot listen\n  address in use\n");
  });

  test.each([
    ["broker-port", "127.0.0.1:10911"],
    ["broker-port", "127.0.0.1:10909"],
    ["namesrv-port", "127.0.0.1:9876"],
  ])("says once that a port is in use, and that --%s 0 takes a free one", async (flag, addr) => {
    const cause = Object.assign(new Error(`listen EADDRINUSE: ${addr}`), { code: "EADDRINUSE" });
    const { doors } = fakeDoors(new ConnectError(`Cannot listen on ${addr}: ${cause.message}`, { cause, addr }));
    expect(await main(doors, ["broker"])).toBe(1);
    expect(stderr).toBe(`Cannot listen on ${addr}: listen EADDRINUSE: ${addr}; "--${flag} 0" takes a free port\n`);
  });

  test("was called wrongly when the cluster has something against an option", async () => {
    const { doors } = fakeDoors(new ArgumentError("listenHost must be something else"));
    expect(await main(doors, ["broker"])).toBe(2);
    expect(stderr).toContain("USAGE");
    expect(stderr.endsWith("\n\nlistenHost must be something else\n")).toBe(true);
  });

  test.each([
    [["--message-delay-level", "abc"], 'The option "--message-delay-level" must be like "1s 5s 1m", got "abc"'],
    [["--message-delay-level="], 'The option "--message-delay-level" must be like "1s 5s 1m", got ""'],
    [["--broker-port", "1"], 'The option "--broker-port" must be 0 or 3..65535, got "1"'],
    [["--namesrv-port", "x"], 'The option "--namesrv-port" must be 0..65535, got "x"'],
    [["--namesrv-port", "--json"], 'The option "--namesrv-port" wants a value'],
    [["--listen-host", "myhost"], 'The option "--listen-host" must be a numeric address or localhost, got "myhost"'],
    [["--listen-host", "127.1"], 'The option "--listen-host" must be a numeric address or localhost, got "127.1"'],
    [["--topics", "bad topic"], 'The option "--topics" has the topic "bad topic": only letters, digits, %, |, - and _'],
    [["--topics", "a".repeat(128)], `The option "--topics" has the topic "${"a".repeat(128)}": at most 127`],
    [["--topics", "orders:0"], 'The option "--topics" must have 1..1024 queues of orders, got "0"'],
    [["--topics", "orders:2:3"], 'The option "--topics" must have 1..1024 queues of orders, got "2:3"'],
    [["--topics", "a:2,a:3"], 'The option "--topics" names the topic "a" twice'],
    [["--topics", "a,,b"], 'The option "--topics" must be a list such as orders:8,billing, got "a,,b"'],
    [["--json=maybe"], 'The option "--json" is true or false, got "maybe"'],
    [["--no-broker-port"], 'There is no option "--no-broker-port"'],
    [["--no-topics", "a"], 'There is no option "--no-topics"'],
  ])("refuses %j and says which option is wrong", async (words, message) => {
    const { doors, started } = fakeDoors();
    expect(await main(doors, ["broker", ...words])).toBe(2);
    expect(started).toEqual([]);
    expect(stderr).toContain(message);
  });

  test("takes every spelling that makes sense", async () => {
    const { doors, started } = fakeDoors();
    const words = [
      "--json=false",
      "--no-json",
      "--listen-host=localhost",
      "--topics=%RETRY%g, a:1024",
      "--broker-port=3",
    ];
    expect(await main(doors, ["broker", ...words, "--message-delay-level= 1s 2h"])).toBe(0);
    expect(started).toEqual([{
      listenHost: "localhost",
      namesrvPort: 9876,
      brokerPort: 3,
      messageDelayLevel: " 1s 2h",
      topics: { "%RETRY%g": {}, a: { queues: 1024 } },
    }]);
    expect(stdout).toBe("127.0.0.1:12345\n");
  });

  test.each([
    ["a port that is none", ["broker", "--broker-port", "70000"]],
    ["an option that it does not know", ["broker", "--port", "1"]],
    ["an option without its value", ["broker", "--broker-port"]],
    ["a word too many", ["broker", "now"]],
    ["a list of topics that is none", ["broker", "--topics", ":4"]],
    ["a command that there is not", ["borker"]],
    ["no command", []],
    ["the name of a property every object has", ["constructor"]],
  ])("refuses %s with exit code 2 and the usage on stderr", async (_, args) => {
    const { doors, started } = fakeDoors();
    expect(await main(doors, args)).toBe(2);
    expect(started).toEqual([]);
    expect(stdout).toBe("");
    expect(stderr).toContain("USAGE");
  });

  test("shows its usage on stdout when asked for it", async () => {
    expect(await main(fakeDoors().doors, ["broker", "--help"])).toBe(0);
    expect(stdout).toContain("--message-delay-level");
    expect(stderr).toBe("");
  });
});

test("rmq --version prints the version of the package", async () => {
  expect(await main(fakeDoors().doors, ["--version"])).toBe(0);
  const manifest = JSON.parse(readFileSync(fileURLToPath(new URL("../../package.json", import.meta.url)), "utf8"));
  expect(stdout).toBe(`${manifest.version}\n`);
});

describe("the program", () => {
  const program = isDeno ? "cli/bin_deno.ts" : isBun ? "cli/bin_node.ts" : "dist/cli/bin_node.js";
  const runtime = isDeno ? [...sameRuntime.slice(0, 2), "-A"] : sameRuntime;
  const rmq = (...args: string[]): Promise<Ended> => runProgram(runtime, program, ...args);

  test("writes no colours where there is no terminal", async () => {
    // What vitest and a build server set would switch them off in any case.
    for (const name of ["TEST", "CI", "NO_COLOR", "TERM"]) vi.stubEnv(name, undefined);
    const [help, wrong] = await Promise.all([rmq("broker", "--help"), rmq("broker", "--port", "1")]);
    vi.unstubAllEnvs();
    expect(help).toMatchObject({ code: 0, err: "" });
    expect(wrong).toMatchObject({ code: 2, out: "" });
    expect(help.out).toContain("USAGE");
    expect(wrong.err).toContain("USAGE");
    expect(help.out + wrong.err).not.toContain("\u001b");
  });

  test("says in one line that a port is in use", async () => {
    const peer = await Peer.listen(listener, echo);
    const port = peer.addr.slice(peer.addr.lastIndexOf(":") + 1);
    const { code, out, err } = await rmq("broker", "--namesrv-port", port, "--broker-port", "0");
    expect(code).toBe(1);
    expect(out).toBe("");
    expect(err).toMatch(/^Cannot listen on 127\.0\.0\.1:\d+: [^\n]+; "--namesrv-port 0" takes a free port\n$/);
    await peer.close();
  });
});
