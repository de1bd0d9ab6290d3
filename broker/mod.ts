import type { Host, Listener } from "../client/host.ts";
import { Cluster } from "./cluster.ts";
import type { FaultRule } from "./faults.ts";
import { type ClusterOptions, resolveClusterOptions } from "./options.ts";

export type { FaultRule } from "./faults.ts";
export type { ClusterOptions } from "./options.ts";

/** A name server and brokers in this process. */
export interface EmbeddedCluster extends AsyncDisposable {
  readonly namesrvAddr: string;
  /** Misbehaves on purpose: for requests of `code`, `count` times. Returns the function that ends the rule. */
  fault(rule: FaultRule): () => void;
  /** Ends everything, at once. May be called again. */
  close(): Promise<void>;
}

/** Starts a cluster. Rejects with `ArgumentError`, `UnsupportedError`, or `ConnectError` when a port is taken. */
export async function startClusterWith(
  host: Host,
  listener: Listener,
  options: ClusterOptions = {},
): Promise<EmbeddedCluster> {
  const cluster = new Cluster(host, listener, resolveClusterOptions(options));
  try {
    await cluster.start();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return {
    namesrvAddr: cluster.namesrvAddr,
    fault: (rule) => cluster.fault(rule),
    close: () => cluster.close(),
    [Symbol.asyncDispose]: () => cluster.close(),
  };
}
