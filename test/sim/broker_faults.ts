import type { EmbeddedCluster, FaultRule } from "../../broker/mod.ts";
import { RequestCode, ResponseCode } from "../../client/protocol/codes.ts";
import type { Random } from "../support/sim.ts";
import type { Machine } from "./machine.ts";

/** What a broker or the name server may get wrong. */
const CODES = [
  RequestCode.SEND_MESSAGE_V2,
  RequestCode.PULL_MESSAGE,
  RequestCode.CONSUMER_SEND_MSG_BACK,
  RequestCode.HEART_BEAT,
  RequestCode.QUERY_CONSUMER_OFFSET,
  RequestCode.UPDATE_CONSUMER_OFFSET,
  RequestCode.GET_CONSUMER_LIST_BY_GROUP,
  RequestCode.GET_ROUTEINFO_BY_TOPIC,
];
const ANSWERS = [ResponseCode.SYSTEM_ERROR, ResponseCode.SYSTEM_BUSY];

/** Makes the cluster misbehave now and then, until `end` is called. */
export class BrokerFaults {
  readonly #cluster: EmbeddedCluster;
  readonly #random: Random;
  readonly #machine: Machine;
  readonly #enders: (() => void)[] = [];
  #isOver = false;

  constructor(cluster: EmbeddedCluster, random: Random, machine: Machine) {
    this.#cluster = cluster;
    this.#random = random;
    this.#machine = machine;
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      await this.#machine.sleep(this.#random.next() * 800);
      if (!this.#isOver) this.#enders.push(this.#cluster.fault(this.#rule()));
    }
  }

  end(): void {
    this.#isOver = true;
    for (const end of this.#enders) end();
  }

  #rule(): FaultRule {
    const random = this.#random;
    const one = <T>(list: readonly T[]): T => list[random.below(list.length)]!;
    const actions: FaultRule["action"][] = [
      "drop",
      "close",
      "garble",
      { delay: random.next() * 2_000 },
      { answer: one(ANSWERS), remark: "a planned fault" },
    ];
    return { code: one(CODES), count: 1, action: one(actions) };
  }
}
