import { expect, test } from "vitest";

test("the suite runs inside the runtime it was started for", () => {
  const runtime = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node";
  expect(runtime).toBe(process.env["ROCKETMQ_TEST_RUNTIME"] ?? "node");
});
