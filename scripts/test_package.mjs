#!/usr/bin/env node
// npm run test:package: what npm pack makes, installed into an empty folder. The quick start runs on Node (import and
// require), on Deno with nothing but the network, and on Bun, each against the package's own `rmq broker`; the types
// compile for a consumer with little. The codec runs as a browser and workerd get it. A fresh clone (of what is committed) can be packed, and installed by its git address.
// The last line counts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { at, npm, quietly, root, step } from "./steps.mjs";
import { setup } from "./setup.mjs";
import { finish } from "./suite.mjs";

const RUN_TIMEOUT_MS = 60_000;
const HOST = "127.0.0.1";
/** Only this script needs it: it is installed below build/, once. */
const WORKERD = "1.20261117.1";
const WORKERD_CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "codec", worker = (
  modules = [
    (name = "worker.mjs", esModule = embed "worker.mjs"),
    (name = "rocketmq-wasm/core.wasm", wasm = embed "core.wasm"),
  ],
  compatibilityDate = "2025-01-01",
))]);
`;

await setup();
const folder = mkdtempSync(join(tmpdir(), "rocketmq-wasm-package-"));
try {
  install();
  finish(await runAll());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Packs and installs into the empty folder, as a user would: without our development dependencies. */
function install() {
  const [packed] = JSON.parse(npm(["pack", "--json", "--pack-destination", folder]));
  writeFileSync(join(folder, "package.json"), `{ "private": true, "type": "module" }\n`);
  npm(["install", "--no-audit", "--no-fund", join(folder, packed.filename)], { cwd: folder });
  console.log(
    `${packed.filename}: ${packed.files.length} files, ${packed.size} bytes packed, ${packed.unpackedSize} unpacked`,
  );
}

async function runAll() {
  const broker = await startBroker();
  try {
    for (const name of ["quick_start.ts", "quick_start.mjs", "quick_start.cjs"]) {
      const source = readFileSync(at(`test/package/${name}`), "utf8");
      if (!source.includes("127.0.0.1:9876")) throw new Error(`${name} does not name its name server`);
      writeFileSync(join(folder, name), source.replaceAll("127.0.0.1:9876", broker.namesrvAddr));
    }
    const deno = at("node_modules/.bin/deno");
    const bun = at("node_modules/.bin/bun");
    const cases = [
      ["Node, import", () => quickStart(process.execPath, ["quick_start.mjs"])],
      ["Node, require", () => quickStart(process.execPath, ["quick_start.cjs"])],
      [
        `Deno, --allow-net=${HOST}`,
        () => quickStart(deno, ["run", "--no-prompt", `--allow-net=${HOST}`, "quick_start.ts"]),
      ],
      ["Bun", () => quickStart(bun, ["run", "quick_start.ts"])],
      ["types: the quick start, lib ES2022", () => compile("quick_start.ts", ["node"])],
      ["types: every door, lib ES2022, no runtime's types", () => compile("consumer.ts", [])],
      ["types: the quick start, deno check", () => quietly(deno, ["check", "quick_start.ts"], { cwd: folder })],
      ["codec: Node, Deno and Bun get their own door", ownDoors],
      ["codec: bundled for a browser, on Deno without any permission", onBrowser],
      [`codec: bundled for workerd ${WORKERD}, the core as a module`, onWorkerd],
      ["rmq --help", () => expectText(quietly(rmq(), ["--help"]), "broker")],
      ["npm pack in a fresh clone", packFreshClone],
      ["npm install git+file:…", installFromGit],
    ];
    return await count(cases);
  } finally {
    await broker.stop();
  }
}

async function count(cases) {
  let passed = 0;
  let failed = 0;
  for (const [name, run] of cases) {
    try {
      await run();
      passed++;
      console.log(`ok   ${name}`);
    } catch (error) {
      failed++;
      console.log(`FAIL ${name}\n${error.message}`);
    }
  }
  return { passed, failed };
}

function rmq() {
  return join(folder, "node_modules/.bin/rmq");
}

/** The broker of the installed package, on free ports. */
async function startBroker() {
  const child = spawn(rmq(), ["broker", "--namesrv-port", "0", "--broker-port", "0", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const first = once(createInterface({ input: child.stdout }), "line");
  const [line] = await Promise.race([
    first,
    exited.then(([code]) => {
      throw new Error(`rmq broker ended with ${code}`);
    }),
  ]);
  const stop = async () => {
    child.kill("SIGTERM");
    const [code, signal] = await exited;
    if (code !== 0) throw new Error(`rmq broker ended with ${signal ?? code} when asked to end`);
  };
  return { ...JSON.parse(line), stop };
}

/** It must print what it received, and end by itself. */
function quickStart(command, args) {
  expectText(quietly(command, args, { cwd: folder, timeout: RUN_TIMEOUT_MS }), "Hello, RocketMQ");
}

function expectText(output, expected) {
  if (!output.includes(expected)) throw new Error(`"${expected}" is missing in its output:\n${output}`);
}

/** The export conditions choose the door with everything the runtime has. */
function ownDoors() {
  const program = `console.log(import.meta.resolve("rocketmq-wasm/codec"))`;
  writeFileSync(join(folder, "door.mjs"), program);
  const doorOf = (command, args) => quietly(command, [...args, "door.mjs"], { cwd: folder });
  expectText(doorOf(process.execPath, []), "/dist/host-node/codec.js");
  expectText(doorOf(at("node_modules/.bin/bun"), ["run"]), "/dist/host-node/codec.js");
  expectText(doorOf(at("node_modules/.bin/deno"), ["run", "--no-prompt"]), "/dist/host-deno/codec.js");
}

async function onBrowser() {
  const code = await bundleFor(["browser"], "codec_program.mjs");
  if (/\bnode:/.test(code)) throw new Error("the bundle names modules of Node");
  writeFileSync(join(folder, "browser.mjs"), `${code}\nconsole.log(checkCodec());\n`);
  expectText(quietly(at("node_modules/.bin/deno"), ["run", "--no-prompt", "browser.mjs"], { cwd: folder }), "is well");
}

async function onWorkerd() {
  writeFileSync(join(folder, "worker.mjs"), await bundleFor(["workerd", "browser"], "codec_worker.mjs"));
  copyFileSync(join(folder, "node_modules/rocketmq-wasm/dist/core.wasm"), join(folder, "core.wasm"));
  writeFileSync(join(folder, "worker.capnp"), WORKERD_CONFIG);
  const output = quietly(await workerd(), ["test", "--verbose", "worker.capnp"], {
    cwd: folder,
    timeout: RUN_TIMEOUT_MS,
  });
  expectText(output, "codec is well");
}

async function workerd() {
  const own = at("build/workerd");
  const program = join(own, "node_modules/.bin/workerd");
  await step({
    title: `installed workerd ${WORKERD}`,
    inputs: ["scripts/test_package.mjs"],
    outputs: ["build/workerd/node_modules/.bin/workerd"],
    stamp: "build/stamps/workerd",
    run: () => {
      mkdirSync(own, { recursive: true });
      writeFileSync(join(own, "package.json"), `{ "private": true }\n`);
      npm(["install", "--no-audit", "--no-fund", `workerd@${WORKERD}`], { cwd: own });
    },
  });
  return program;
}

/** One module of test/package/ and what it imports of the installed package, found by these export conditions. */
async function bundleFor(conditions, name) {
  for (const each of ["codec_program.mjs", "codec_worker.mjs"]) {
    copyFileSync(at(`test/package/${each}`), join(folder, each));
  }
  const { build } = await import("vite");
  const [{ output }] = await build({
    root: folder,
    configFile: false,
    logLevel: "error",
    resolve: { conditions: [...conditions, "module"] },
    build: {
      write: false,
      minify: false,
      target: "es2022",
      lib: { entry: join(folder, name), formats: ["es"] },
      rolldownOptions: { external: ["rocketmq-wasm/core.wasm"] },
    },
  });
  if (output.length !== 1) throw new Error(`the bundle has ${output.length} files`);
  return output[0].code;
}

/** It must build before it packs, and say nothing on stdout but what was asked for. */
function packFreshClone() {
  const clone = join(folder, "clone");
  quietly("git", ["clone", "--quiet", root, clone]);
  const [packed] = JSON.parse(npm(["pack", "--json"], { cwd: clone }));
  expectText(packed.files.map((file) => file.path).join("\n"), "dist/core.wasm");
}

/** npm clones, installs what the build needs, and must build. */
function installFromGit() {
  const project = join(folder, "from_git");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), `{ "private": true, "type": "module" }\n`);
  npm(["install", "--no-audit", "--no-fund", `git+${pathToFileURL(root)}`], { cwd: project });
  const program = `import * as all from "rocketmq-wasm"; console.log(Object.keys(all).join(" "))`;
  expectText(quietly(process.execPath, ["--input-type=module", "-e", program], { cwd: project }), "createProducer");
  expectText(quietly(join(project, "node_modules/.bin/rmq"), ["--help"]), "broker");
}

/** Compiles as a consumer with `lib: ES2022` that checks our declarations too. */
function compile(name, types) {
  const project = join(folder, "types", name);
  mkdirSync(project, { recursive: true });
  if (name === "consumer.ts") copyFileSync(at(`test/package/${name}`), join(folder, name));
  if (types.length > 0) linkTypes();
  const compilerOptions = {
    target: "ES2022",
    lib: ["ES2022"],
    module: "NodeNext",
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    types,
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [join(folder, name)] }));
  quietly(at("node_modules/.bin/tsc"), ["-p", project]);
}

function linkTypes() {
  mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
  symlinkSync(at("node_modules/@types/node"), join(folder, "node_modules/@types/node"));
}
