import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isBun, isDeno } from "../support/runtime.ts";

const program = fileURLToPath(new URL("programs/send_and_consume.mjs", import.meta.url));

/** How this runtime runs a program. */
const ARGS = isDeno ? ["run", "--no-prompt", "--allow-net"] : isBun ? [] : ["--unhandled-rejections=strict"];

test("a program that sends, consumes and shuts down ends by itself, without an unhandled rejection", async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...ARGS, program], { timeout: 25_000 });
  expect(stdout.trim()).toBe("20 ROCKETMQ_CONNECT");
  expect(stderr).toBe("");
});
