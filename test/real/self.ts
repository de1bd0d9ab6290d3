import process from "node:process";
import { fileURLToPath } from "node:url";

/** The command that runs another of our bundles on the same runtime. */
export function runSelf(bundle: string, args: readonly string[]): [string, ...string[]] {
  const file = fileURLToPath(new URL(bundle, import.meta.url));
  const flags = "Deno" in globalThis ? ["run", "--allow-all"] : [];
  return [process.execPath, ...flags, file, ...args];
}
