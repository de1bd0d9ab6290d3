import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "./child.ts";

/** Every delay level takes one second, so that a retry does not take ten. */
export const MESSAGE_DELAY_LEVEL = Array.from({ length: 18 }, () => "1s").join(" ");

/** A real cluster of one broker and two name servers, driven through `scripts/rocketmq.mjs`. */
export class RealCluster {
  readonly version: string;
  readonly namesrvAddr: string;
  readonly brokerAddr: string;
  readonly #dir: string;

  constructor(dir: string, { version, namesrvAddr, brokers }: ClusterFile) {
    this.version = version;
    this.namesrvAddr = namesrvAddr;
    this.brokerAddr = brokers[0]?.addr ?? "";
    this.#dir = dir;
  }

  static async start(version: string): Promise<RealCluster> {
    const dir = mkdtempSync(join(tmpdir(), `rocketmq-${version}-`));
    const options = [
      "--version",
      version,
      "--namesrvs",
      "2",
      "--heap",
      "384m",
      "--set",
      `messageDelayLevel=${MESSAGE_DELAY_LEVEL}`,
    ];
    try {
      return new RealCluster(dir, JSON.parse(await tool(["start", "--dir", dir, ...options])) as ClusterFile);
    } catch (error) {
      await tool(["stop", "--dir", dir]);
      throw error;
    }
  }

  /** SIGKILL. Names are `broker-a-0`, `namesrv-0`, `namesrv-1`. */
  async kill(name: string): Promise<void> {
    await tool(["kill", "--dir", this.#dir, "--name", name]);
  }

  /** On its old port; returns when the name servers know the broker (again). */
  async restart(name: string): Promise<void> {
    await tool(["restart", "--dir", this.#dir, "--name", name]);
  }

  /** Ends every process. The folder with the logs stays if asked. */
  async stop({ keepLogs }: { keepLogs: boolean }): Promise<string> {
    await tool(["stop", "--dir", this.#dir]);
    if (!keepLogs) rmSync(this.#dir, { recursive: true, force: true, maxRetries: 5 });
    return this.#dir;
  }
}

/** What `rocketmq.mjs start` prints. */
interface ClusterFile {
  readonly version: string;
  readonly namesrvAddr: string;
  readonly brokers: readonly { readonly name: string; readonly id: number; readonly addr: string }[];
}

/** The folder with the jars of a version, fetched if need be. */
export const jarsOf = async (version: string): Promise<string> =>
  (await tool(["jars", "--version", version])).trim().split("\n").at(-1) ?? "";

const tool = (args: readonly string[]): Promise<string> => runChild("node", [join("scripts", "rocketmq.mjs"), ...args]);
