import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { beforeAll, describe, expect, test } from "vitest";
import { UnsupportedError } from "../../client/errors.ts";
import * as edge from "../../host-edge/codec.ts";
import { bundleForBrowser } from "../support/bundle.ts";
import { coreModule } from "../support/core.ts";

/** What the door may count on besides the language: every browser, its workers, and workerd have these. */
const shared = { TextEncoder, TextDecoder, atob };

const WELL = "codec is well";

let script = "";
beforeAll(async () => {
  script = await bundleForBrowser();
});

/** Runs the bundle in a context that has no global of any runtime. */
function run(expression: string, globals: object = {}): unknown {
  return runInContext(`${script}\n;${expression}`, createContext({ ...shared, ...globals }));
}

describe("the default door, bundled for a browser,", () => {
  test("imports nothing and asks for no runtime's names", () => {
    // How an error shows itself on Deno is the name of a symbol.
    const code = script.replaceAll("Deno.customInspect", "");
    expect(code.match(/\bnode:|\brequire\s*\(|\bimport\s*[("'`{*]|\b(?:process|Buffer|Deno|Bun)\b\s*[.[]/)).toBeNull();
  });

  test("works with what the language has, `TextEncoder`, `TextDecoder` and `atob`", () => {
    expect(run("codecProgram.checkCodec()")).toBe(WELL);
  });

  test("works with a module that was compiled elsewhere", () => {
    expect(run("codecProgram.checkCodec(core)", { core: coreModule })).toBe(WELL);
  });

  test("loads where compiling is forbidden, says what to pass, and works with it", () => {
    const forbidding = Object.create(WebAssembly, {
      Module: {
        value: class {
          constructor() {
            throw new WebAssembly.CompileError("Wasm code generation disallowed by embedder");
          }
        },
      },
      Memory: { value: WebAssembly.Memory },
      Instance: { value: WebAssembly.Instance },
    });
    const globals = { WebAssembly: forbidding, core: coreModule };
    expect(run("codecProgram.codeWithoutCore()", globals)).toBe("ROCKETMQ_UNSUPPORTED");
    expect(run("codecProgram.checkCodec(core)", globals)).toBe(WELL);
  });

  test("works in a worker, also with a module that was sent there", async () => {
    const worker = new Worker(
      `${script}
      const { parentPort } = require("node:worker_threads");
      parentPort.on("message", ({ core }) => {
        parentPort.postMessage([codecProgram.checkCodec(), codecProgram.checkCodec(core)]);
      });`,
      { eval: true },
    );
    try {
      const answer = once(worker, "message");
      worker.postMessage({ core: coreModule });
      expect(await answer).toEqual([[WELL, WELL]]);
    } finally {
      await worker.terminate();
    }
  });

  test("works on Deno without any permission", async () => {
    const folder = await mkdtemp(join(tmpdir(), "rocketmq-wasm-edge-"));
    try {
      const file = join(folder, "codec.js");
      await writeFile(file, `${script}\nconsole.log(codecProgram.checkCodec());\n`);
      const deno = fileURLToPath(new URL("../../node_modules/.bin/deno", import.meta.url));
      const { stdout } = await promisify(execFile)(deno, ["run", "--no-prompt", file]);
      expect(stdout.trim()).toBe(WELL);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

test("without `core` the default door compiles its own bytes; a failure to is an UnsupportedError with the cause", () => {
  const { Module } = WebAssembly;
  expect(edge.createCodec().crc32(Uint8Array.of(1))).toBe(0xa505df1b);
  const forbidden = new WebAssembly.CompileError("forbidden");
  WebAssembly.Module = function () {
    throw forbidden;
  } as unknown as typeof Module;
  try {
    const failure = failureOf(() => edge.createCodec());
    expect(failure).toBeInstanceOf(UnsupportedError);
    expect(failure).toMatchObject({ cause: forbidden, message: expect.stringContaining("rocketmq-wasm/core.wasm") });
    expect(edge.createCodec({ core: coreModule }).crc32(Uint8Array.of(1))).toBe(0xa505df1b);
  } finally {
    WebAssembly.Module = Module;
  }
});

function failureOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("It did not fail");
}

test("every door of the codec has the same names", async () => {
  const doors = [await import("../../host-node/codec.ts"), await import("../../host-deno/codec.ts"), edge];
  for (const door of doors) expect(Object.keys(door).sort()).toEqual(Object.keys(edge).sort());
});
