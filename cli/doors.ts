import type { EmbeddedCluster, startCluster } from "../host-node/broker.ts";

/** What the commands need of a host; `bin_*.ts` chooses which. */
export interface Doors {
  readonly startCluster: typeof startCluster;
}

export type { EmbeddedCluster };
