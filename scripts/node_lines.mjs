// The lines of Node we support; those that do not run this come from npm and lie under build/nodes/.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { at, npm } from "./steps.mjs";

export const NODE_LINES = [20, 22, 24, 26];

/** The newest Node of a line; ours if it is of that line. */
export function nodeOf(line) {
  if (process.versions.node.startsWith(`${line}.`)) return process.execPath;
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const folder = at(`build/nodes/${line}`);
  const binary = `${folder}/node_modules/${name}/bin/node`;
  if (!existsSync(binary)) {
    console.error(`installing ${name}@${line}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/package.json`, `{ "private": true }\n`);
    npm(["install", "--no-audit", "--no-fund", "--no-save", "--no-package-lock", `${name}@${line}`], { cwd: folder });
  }
  return binary;
}
