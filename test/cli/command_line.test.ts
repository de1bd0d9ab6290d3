import process from "node:process";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Doors } from "../../cli/doors.ts";
import { main } from "../../cli/main.ts";

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
  return { doors: { startCluster, untilAsked: () => Promise.resolve() }, started, closed: () => closed };
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
