// The processes that a benchmark starts, one at a time. An interruption ends the one that runs, and does what has to be done
// then, such as stopping a cluster.
import { spawn } from "node:child_process";
import process from "node:process";
import { root } from "./steps.mjs";

export class Children {
  #running = new Set();
  #cleaning = new Set();
  #interrupt = () => this.#interrupted();

  constructor() {
    process.on("SIGINT", this.#interrupt).on("SIGTERM", this.#interrupt);
  }

  close() {
    process.off("SIGINT", this.#interrupt).off("SIGTERM", this.#interrupt);
  }

  /** What a program prints; an error when it fails. */
  output([program, ...args]) {
    const child = this.start([program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    return new Promise((resolve, reject) => {
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (chunk) => output += chunk);
      child.once("error", reject);
      child.once("close", (code, signal) => {
        if (code === 0) resolve(output);
        else reject(new Error(`${program} ended with ${signal ?? `code ${code}`}`));
      });
    });
  }

  /** A process that goes on; it is ended with `kill()`, at the latest by an interruption. */
  start([program, ...args], { stdio }) {
    // In a group of its own: ctrl-C at a terminal reaches it through us alone.
    const child = spawn(program, args, { cwd: root, stdio, detached: true });
    this.#running.add(child);
    child.once("close", () => this.#running.delete(child)).once("error", () => this.#running.delete(child));
    return child;
  }

  /** What an interruption does too; the function that is returned does it now, and once. */
  onInterrupt(task) {
    const clean = () => {
      if (this.#cleaning.delete(clean)) task();
    };
    this.#cleaning.add(clean);
    return clean;
  }

  #interrupted() {
    for (const child of this.#running) child.kill("SIGKILL");
    for (const clean of this.#cleaning) clean();
    process.exit(130);
  }
}
