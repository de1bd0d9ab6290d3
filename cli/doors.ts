import type { startCluster } from "../host-node/broker.ts";

/** What the commands need of a host and a process; `bin_*.ts` choose which. */
export interface Doors {
  readonly startCluster: typeof startCluster;
  /** Resolves when the command is asked to end. */
  untilAsked(): Promise<void>;
}
