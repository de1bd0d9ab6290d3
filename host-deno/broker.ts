import { type ClusterOptions, type EmbeddedCluster, startClusterWith } from "../broker/mod.ts";
import { host } from "./host.ts";
import { listener } from "./listener.ts";

export type { ClusterOptions, EmbeddedCluster, FaultRule } from "../broker/mod.ts";

/** Starts a name server and brokers in this process, in memory: for tests, examples and offline work. */
export function startCluster(options?: ClusterOptions): Promise<EmbeddedCluster> {
  return startClusterWith(host, listener, options);
}
