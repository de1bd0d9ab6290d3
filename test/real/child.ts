import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { Watch } from "./watch.ts";

/** Runs a program to its end and returns what it printed; rejects with its errors if it fails. */
export function runChild(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
    child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
    child.once("error", reject).once("close", (status) => {
      if (status === 0) resolve(out);
      else {reject(
          new Error(
            `${command} ${args.slice(0, 4).join(" ")} … ended with ${status}: ${(errors || out).slice(-2_000)}`,
          ),
        );}
    });
  });
}

/** A child process that reports in JSON lines; its other lines are kept for the error message. */
export class Reporter<Line extends { readonly event: string }> {
  readonly lines: Watch<Line>;
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  #other = "";

  constructor(command: string, args: readonly string[], signal: AbortSignal) {
    const lines = new Watch<Line>(signal);
    this.lines = lines;
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    running.add(child);
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) lines.add(JSON.parse(line) as Line);
      else this.#note(line);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => this.#note(text));
    child.stdin.on("error", (error) => this.#note(String(error))); // it may have ended already
    this.exited = new Promise((resolve) => {
      child.once("error", (error) => {
        this.#note(String(error));
        resolve();
      });
      child.once("close", () => {
        running.delete(child);
        resolve();
      });
    });
  }

  /** What it said beside its lines, for an error message. */
  get talk(): string {
    return this.#other.slice(-1_500);
  }

  /** Waits for `promise`, but not longer than the child lives. */
  async whileAlive<T>(promise: Promise<T>): Promise<T> {
    const gone = this.exited.then(() => Promise.reject(new Error(`the child process ended early: ${this.talk}`)));
    return await Promise.race([promise, gone]);
  }

  /** Ends its standard input, by which it is told to end. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.exited;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }

  #note(text: string): void {
    this.#other = (this.#other + text + "\n").slice(-20_000);
  }
}

/** Children that still run; none may outlive us, however we end. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
