import type { startCluster } from "../host-node/broker.ts";
import type { isRocketMQError } from "../host-node/mod.ts";

/** What the commands need of a host and a process; `bin_*.ts` choose which. */
export interface Doors {
  readonly startCluster: typeof startCluster;
  readonly isRocketMQError: typeof isRocketMQError;
  /** Resolves when the command is asked to end. */
  untilAsked(): Promise<void>;
}
