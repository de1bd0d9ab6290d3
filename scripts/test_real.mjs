#!/usr/bin/env node
// npm run test:real [-- version… --only TEXT --repeat N --runtime node|deno|bun --real --embedded]
// Real RocketMQ clusters (4.4.0, 4.9.7, 5.3.3 and 5.5.0 by default) with our client, and the Java clients with our
// broker. Bundles test/real into build/tools/real and runs it against dist/. Needs Java and Maven.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { pathToFileURL } from "node:url";
import { setup } from "./setup.mjs";
import { at } from "./steps.mjs";

const OUT = "build/tools/real";
const COMMANDS = {
  node: [process.execPath],
  deno: [at("node_modules/.bin/deno"), "run", "--allow-all"],
  bun: [at("node_modules/.bin/bun"), "run"],
};

/** The doors of the library stay outside the bundle: what users get is what is tested. */
const doors = {
  name: "doors",
  resolveId(source, importer) {
    const door = /\/(host-(?:node|deno)\/(?:mod|broker))\.ts$/.exec(source);
    if (!door || !importer) return undefined;
    return { id: pathToFileURL(at(`dist/${door[1]}.js`)).href, external: true };
  },
};

/** Takes `--runtime NAME` out of the arguments; the others are for test/real/main.ts. */
function splitRuntime(args) {
  const index = args.indexOf("--runtime");
  if (index < 0) return ["node", args];
  return [args[index + 1], args.toSpliced(index, 2)];
}

async function bundle() {
  const { build } = await import("tsdown");
  await build({
    cwd: at("."),
    config: false,
    entry: { main: at("test/real/main.ts"), member: at("test/real/member.ts") },
    outDir: at(OUT),
    outExtensions: () => ({ js: ".js" }),
    format: "esm",
    platform: "node",
    target: "node20",
    clean: true,
    dts: false,
    sourcemap: true,
    logLevel: "error",
    plugins: [doors],
  });
}

const [runtime, args] = splitRuntime(process.argv.slice(2));
const command = COMMANDS[runtime];
if (!command) throw new Error(`--runtime must be one of ${Object.keys(COMMANDS).join(", ")}, not ${runtime}`);
await setup();
await bundle();
const child = spawn(command[0], [...command.slice(1), at(`${OUT}/main.js`), ...args], {
  cwd: at("."),
  stdio: "inherit",
});
// It ends its clusters before it ends; ctrl-C at a terminal reaches it by itself.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
process.exitCode = await new Promise((resolve, reject) => {
  child.once("error", reject).once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
});
