import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { isBun, isDeno } from "./runtime.ts";

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const deno: readonly string[] = [at("node_modules/.bin/deno"), "run", "--no-prompt", "--allow-net"];
const bun: readonly string[] = [at("node_modules/.bin/bun")];

/** Starts JavaScript on the runtime that runs the tests. */
export const sameRuntime: readonly string[] = isDeno ? deno : isBun ? bun : [process.execPath];

/** The same for TypeScript, which Node 20 does not read: there Bun does. */
export const typeScriptRuntime: readonly string[] = isDeno ? deno : bun;

export interface Ended {
  /** Null when it had to be killed. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Longest time a program may take to end by itself, ms. */
const LIMIT = 25_000;

/** Runs a program, by its path from the top folder, until it ends. */
export function runProgram([program, ...first]: readonly string[], path: string, ...args: string[]): Promise<Ended> {
  const child = spawn(program!, [...first, at(path), ...args], { stdio: ["ignore", "pipe", "pipe"], cwd: at("") });
  let out = "", err = "";
  child.stdout.on("data", (chunk) => out += chunk);
  child.stderr.on("data", (chunk) => err += chunk);
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(limit);
      resolve({ code, out, err });
    });
  });
}
