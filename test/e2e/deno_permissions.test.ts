import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { echo, Peer } from "../support/peer.ts";
import { listener } from "../support/runtime.ts";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Runs a client on Deno, whatever runs the tests, with `--allow-net=allowed` and nothing else. */
const onDeno = (addr: string, allowed: string): Promise<string> =>
  runOnDeno([`--allow-net=${allowed}`], "../support/deno_client.ts", addr);

/** Starts an embedded cluster on Deno in the same way. */
const startOnDeno = (flags: readonly string[], ...args: string[]): Promise<string> =>
  runOnDeno(flags, "../support/deno_cluster.ts", ...args);

async function runOnDeno(flags: readonly string[], program: string, ...args: string[]): Promise<string> {
  const command = ["run", "--no-prompt", ...flags, at(program), ...args];
  return (await promisify(execFile)(at("../../node_modules/.bin/deno"), command)).stdout.trim();
}

test("Deno needs --allow-net for the address it talks to, by number or by name, and nothing else", async () => {
  const peer = await Peer.listen(listener, echo);
  const byName = peer.addr.replace("127.0.0.1", "localhost");
  expect(await onDeno(peer.addr, peer.addr)).toBe("answer 0");
  expect(await onDeno(byName, byName)).toBe("answer 0");
  await peer.close();
});

test("without the permission the error names the exact flag", async () => {
  const peer = await Peer.listen(listener, echo);
  const byName = peer.addr.replace("127.0.0.1", "localhost");
  for (const addr of [peer.addr, byName]) {
    const printed = await onDeno(addr, "127.0.0.1:1");
    expect(printed).toContain("ROCKETMQ_PERMISSION");
    expect(printed).toContain(`--allow-net=${addr}`);
  }
  expect(peer.connections).toHaveLength(0);
  await peer.close();
});

test("the embedded cluster on free ports needs --allow-net for the host it listens on, and nothing else", async () => {
  expect(await startOnDeno(["--allow-net=127.0.0.1"])).toMatch(/^up at 127\.0\.0\.1:\d+$/);
  expect(await startOnDeno(["--allow-net=127.0.0.1"], "localhost")).toMatch(/^up at 127\.0\.0\.1:\d+$/);
});

test("without the permission to listen the embedded cluster rejects with the flag, and the process goes on", async () => {
  const wants = (addr: string) => `ROCKETMQ_PERMISSION: Cannot use ${addr}: run Deno with --allow-net=${addr}`;
  expect(await startOnDeno([])).toBe(wants("127.0.0.1"));
  // A port of the kernel's choice is not known before, so one port of the host is not enough.
  expect(await startOnDeno(["--allow-net=127.0.0.1:0"])).toBe(wants("127.0.0.1"));
  expect(await startOnDeno(["--allow-net", "--deny-net=127.0.0.1"])).toBe(wants("127.0.0.1"));
  expect(await startOnDeno(["--allow-net=127.0.0.1"], "::1")).toBe(wants("[::1]"));
  expect(await startOnDeno(["--allow-net=127.0.0.1:1"], "127.0.0.1", "10911")).toBe(wants("127.0.0.1:10911"));
});
