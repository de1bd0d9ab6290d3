// The core's module: made from core-as/, and held against what it promises to be. `build_core.mjs` is its command.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, quietly, root } from "./steps.mjs";

const BYTES_MAX = 49_152;
const EXPORTS = ["abiVersion", "control", "drive"];

/** Makes build/core.wasm, core.wat, core.debug.wasm and core_bytes.js with its types; replaced only when all are there. */
export function buildCore() {
  mkdirSync(at("build"), { recursive: true });
  const fresh = mkdtempSync(at("build/.core-"));
  try {
    compile(root, "release", fresh);
    compile(root, "debug", fresh);
    const wasm = readFileSync(join(fresh, "core.wasm"));
    requireSound(inspect(wasm, readFileSync(join(fresh, "core.wat"), "utf8")));
    writeFileSync(join(fresh, "core_bytes.js"), bytesModule(wasm));
    writeFileSync(join(fresh, "core_bytes.d.ts"), BYTES_TYPES);
    writeFileSync(join(fresh, "core.wasm.d.ts"), MODULE_TYPES);
    for (const name of OUTPUTS) renameSync(join(fresh, name), at(`build/${name}`));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

export const OUTPUTS = [
  "core.wasm",
  "core.wat",
  "core.debug.wasm",
  "core.debug.wasm.map",
  "core_bytes.js",
  "core_bytes.d.ts",
  "core.wasm.d.ts",
];

/** Runs asc as `asconfig.json` says, on the sources in `folder`. */
function compile(folder, target, outDir) {
  const outFile = join(outDir, target === "release" ? "core.wasm" : "core.debug.wasm");
  const text = target === "release" ? ["--textFile", join(outDir, "core.wat")] : [];
  const asc = at("node_modules/assemblyscript/bin/asc.js");
  const args = [asc, "--config", "asconfig.json", "--target", target, "--outFile", outFile, ...text];
  quietly(process.execPath, args, { cwd: folder });
}

/** The module as base64 inside JavaScript: needs no permission and no path, and works from a URL. */
const bytesModule = (wasm) =>
  `// @ts-self-types="./core_bytes.d.ts"
// Made by scripts/build_core.mjs from core.wasm.
/** @type {Uint8Array<ArrayBuffer>} */
export const coreBytes = /* @__PURE__ */ bytesOf("${wasm.toString("base64")}");

/** A loop: an iterator would make an object for each byte. */
function bytesOf(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
`;

const BYTES_TYPES = `/** The bytes of core.wasm. */
export declare const coreBytes: Uint8Array<ArrayBuffer>;
`;

const MODULE_TYPES = `/** The core, compiled: what workerd and bundlers make of an imported \`.wasm\`. */
declare const core: WebAssembly.Module;
export default core;
`;

/** What the module consists of, and each promise it breaks. */
function inspect(wasm, text) {
  const module = new WebAssembly.Module(wasm);
  const imports = WebAssembly.Module.imports(module).map((entry) => `${entry.module}.${entry.name}`);
  const exports = WebAssembly.Module.exports(module).map((entry) => entry.name).sort();
  const dataSegments = text.match(/\(data\b/g)?.length ?? 0;
  const broken = [];
  if (imports.join() !== "env.memory") broken.push(`imports must be env.memory alone, are ${imports.join(", ")}`);
  if (exports.join() !== EXPORTS.join()) {
    broken.push(`exports must be ${EXPORTS.join(", ")}, are ${exports.join(", ")}`);
  }
  if (dataSegments > 0) broken.push(`${dataSegments} data segments: something needs a string or a static array`);
  if (/\bmemory\.grow\b/.test(text)) broken.push("memory.grow: the arena must not grow");
  if (/__new\b/.test(text)) broken.push("__new: the core must not allocate objects");
  if (wasm.length > BYTES_MAX) broken.push(`${wasm.length} bytes, at most ${BYTES_MAX}`);
  return { bytes: wasm.length, imports, exports, dataSegments, broken };
}

function requireSound({ broken }) {
  if (broken.length > 0) throw new Error(`The core breaks its promises:\n  ${broken.join("\n  ")}`);
}

/** Builds anew, then again in a folder elsewhere and deeper; prints what the module is and fails if it should not be so. */
export function verifyCore() {
  buildCore();
  const folder = mkdtempSync(join(tmpdir(), "core-elsewhere-"));
  try {
    const elsewhere = join(folder, "another", "place");
    mkdirSync(elsewhere, { recursive: true });
    cpSync(at("core-as"), join(elsewhere, "core-as"), { recursive: true });
    cpSync(at("asconfig.json"), join(elsewhere, "asconfig.json"));
    symlinkSync(at("node_modules"), join(elsewhere, "node_modules"), "dir");
    compile(elsewhere, "release", elsewhere);
    const wasm = readFileSync(at("build/core.wasm"));
    const found = inspect(wasm, readFileSync(at("build/core.wat"), "utf8"));
    const identical = wasm.equals(readFileSync(join(elsewhere, "core.wasm")));
    console.log(`bytes          ${found.bytes} (at most ${BYTES_MAX})`);
    console.log(`imports        ${found.imports.length}: ${found.imports.join(", ")}`);
    console.log(`exports        ${found.exports.length}: ${found.exports.join(", ")}`);
    console.log(`data segments  ${found.dataSegments}`);
    console.log(`identical      ${identical ? "yes" : "NO"}`);
    requireSound(found);
    if (!identical) throw new Error("Two builds of the same sources differ");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
