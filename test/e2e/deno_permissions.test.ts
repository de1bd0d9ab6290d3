import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { echo, Peer } from "../support/peer.ts";
import { listener } from "../support/runtime.ts";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Runs a client on Deno, whatever runs the tests, with `--allow-net=allowed` and nothing else. */
async function onDeno(addr: string, allowed: string): Promise<string> {
  const args = ["run", "--no-prompt", `--allow-net=${allowed}`, at("../support/deno_client.ts"), addr];
  return (await promisify(execFile)(at("../../node_modules/.bin/deno"), args)).stdout.trim();
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
