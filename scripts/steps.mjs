// Steps that run only when their inputs have changed. A step's key is a hash of its inputs and is written after the step
// has succeeded, so an interrupted step runs again. Needs nothing but Node.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");

/**
 * Runs `step.run` unless its stamp holds the hash of `step.inputs` and all `step.outputs` exist.
 * Says `step.title` when it runs, nothing when it does not. Returns whether it ran.
 */
export async function step({ title, inputs, outputs, stamp, run }) {
  const key = hashOf(inputs);
  if (isDone(stamp, key, outputs)) return false;
  const started = performance.now();
  rmSync(at(stamp), { force: true });
  await run();
  mkdirSync(dirname(at(stamp)), { recursive: true });
  writeFileSync(at(stamp), key);
  say(`${title} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return true;
}

/** True when the step would do nothing. */
export const isFresh = ({ inputs, outputs, stamp }) => isDone(stamp, hashOf(inputs), outputs);

const isDone = (stamp, key, outputs) =>
  existsSync(at(stamp)) && readFileSync(at(stamp), "utf8") === key && outputs.every((path) => existsSync(at(path)));

/** Talk goes to stderr: `npm run demo -- --json` is read by a program. */
export const say = (text) => process.stderr.write(`setup: ${text}\n`);

/** A path below the top folder. */
export const at = (path) => join(root, path);

/** Whether the module at `url` is the program, and not imported by it. */
export function isMain(url) {
  const program = process.argv[1];
  return program !== undefined && existsSync(program) && realpathSync(program) === fileURLToPath(url);
}

/** SHA-256 over names and contents of the files in `paths`; folders count with all below them. */
function hashOf(paths) {
  const hash = createHash("sha256");
  for (const file of paths.flatMap(filesBelow).sort()) {
    hash.update(`${relative(root, file)}\0`).update(readFileSync(file)).update("\0");
  }
  return hash.digest("hex");
}

function filesBelow(path) {
  const full = at(path);
  if (!existsSync(full)) return [];
  if (!statSync(full).isDirectory()) return [full];
  return readdirSync(full, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** Runs a program quietly; its output is shown only when it fails. */
export function quietly(command, args, options = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 256 << 20,
    env: { ...process.env, NO_COLOR: "1" },
    ...options,
  });
  if (result.status === 0) return result.stdout;
  const reason = result.error ? `\n${result.error.message}` : "";
  throw new Error(`${command} ${args.join(" ")} failed${reason}\n${result.stdout ?? ""}${result.stderr ?? ""}`);
}

/** The npm that started us, or the one on the path. */
export function npm(args, options) {
  const script = process.env.npm_execpath;
  return script?.endsWith(".js")
    ? quietly(process.execPath, [script, ...args], options)
    : quietly("npm", args, options);
}

/** Runs `task` while no other process does; the lock of a process that is gone is taken over. */
export async function alone(name, task) {
  const lock = at(`build/${name}.lock`);
  mkdirSync(at("build"), { recursive: true });
  while (!takeLock(lock)) await new Promise((resolve) => setTimeout(resolve, 100));
  try {
    return await task();
  } finally {
    rmSync(lock, { force: true });
  }
}

function takeLock(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  if (!isAlive(lock)) rmSync(lock, { force: true });
  return false;
}

function isAlive(lock) {
  try {
    const owner = Number(readFileSync(lock, "utf8"));
    // An empty file is a lock just being written.
    if (!owner) return true;
    process.kill(owner, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
