import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** An embedded cluster in a process of its own, so that its work does not count as the client's. */
export interface BrokerProcess {
  readonly namesrvAddr: string;
  /** Rejects when the process ends before `stop`. */
  readonly ended: Promise<never>;
  stop(): Promise<void>;
}

/** Starts `rmq broker` on free ports. It ends with us: the channel between us closes, however we end. */
export async function startBroker(command: URL, topics: string): Promise<BrokerProcess> {
  const ports = ["--namesrv-port", "0", "--broker-port", "0"];
  const child = spawn(process.execPath, [fileURLToPath(command), "broker", ...ports, "--topics", topics, "--json"], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const talk: string[] = [];
  child.stderr?.on("data", (chunk: Uint8Array) => talk.push(String(chunk)));
  const exited = once(child, "close");
  const ended = exited.then(([code, signal]): never => {
    throw new Error(`The broker's process ended (${signal ?? `code ${code}`})\n${talk.join("")}`);
  });
  // Whoever waits for it is told; nobody has to.
  ended.catch(() => undefined);
  const namesrvAddr = await Promise.race([addressOf(child), ended]);
  return {
    namesrvAddr,
    ended,
    async stop(): Promise<void> {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** The first line of its output. */
async function addressOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error("The broker's process has no output");
  const lines = createInterface({ input: child.stdout });
  const [line] = await once(lines, "line") as [string];
  lines.close();
  return (JSON.parse(line) as { namesrvAddr: string }).namesrvAddr;
}
