import process from "node:process";
import { startClusterWith } from "../../broker/mod.ts";
import { BrokerFaults } from "./broker_faults.ts";
import { Members } from "./members.ts";
import { Ledger } from "./ledger.ts";
import { Machine } from "./machine.ts";
import { probe, type Seen } from "./probes.ts";
import { Producers } from "./producers.ts";
import { Simulation } from "../support/sim.ts";

/** How often each thing happened that a run is there for. */
export interface Counts {
  cuts: number;
  splits: number;
  retries: number;
  sendBacks: number;
  rebalances: number;
}

export interface Outcome {
  readonly seed: number;
  readonly counts: Counts;
  /** Empty when all was well. */
  readonly violations: readonly string[];
}

export const GROUP = "group";
export const TOPIC = "topic";
const QUEUES = 2;
/** Virtual ms that the group has to consume everything once nothing goes wrong any more. */
const PATIENCE = 600_000;
/** Virtual ms between two looks at what has been consumed. */
const LOOK = 250;
/** Longer than the delay of a message that was sent back. */
const QUIET = 2_000;
/** A member that has not heard of a change rebalances within 20 s: a queue that another gave up has nobody so long. */
const REBALANCED = 45_000;

/** One small cluster, producers and members of a group, and whatever happens to them; all of it from one seed. */
export async function runSeed(seed: number): Promise<Outcome> {
  const sim = new Simulation(seed, {
    split: 0.15,
    delay: 4,
    lateWrite: 3,
    cut: 0.004,
    drop: hasSilence(seed) ? 0.003 : 0,
    refuse: 0.02,
  });
  const ledger = new Ledger(GROUP, TOPIC);
  const { seen, remove } = probe(ledger);
  const unhandled = (error: unknown): void => ledger.violate(`unhandled rejection: ${String(error)}`);
  process.on("unhandledRejection", unhandled);
  const world = new World(sim, ledger);
  try {
    await sim.run(world.run(), 2 * PATIENCE);
    // What is under way arrives.
    await sim.run(1_000);
    checkCalls(seen, world, ledger);
    if (sim.planned > 0) ledger.violate(`${sim.planned} timers are left when all have shut down`);
  } catch (error) {
    ledger.violate(error instanceof Error ? error.stack ?? error.message : String(error));
  } finally {
    remove();
    sim.end();
    process.off("unhandledRejection", unhandled);
  }
  const { cuts, splits } = sim.counts;
  const { retries, sendBacks } = seen;
  return {
    seed,
    counts: { cuts, splits, retries, sendBacks, rebalances: world.rebalances },
    violations: ledger.violations,
  };
}

/** In one seed of four, connections also go silent; it takes a client long to notice. */
const hasSilence = (seed: number): boolean => seed % 4 === 0;

/** Every call of a client that was not killed has ended, once. */
function checkCalls(seen: Seen, world: World, ledger: Ledger): void {
  for (const { remoting, what, ends } of seen.calls) {
    if (ends !== 1 && (ends > 1 || !world.isDead(remoting))) ledger.violate(`${what} has ended ${ends} times`);
  }
}

class World {
  readonly #sim: Simulation;
  readonly #ledger: Ledger;
  #machines = 1;
  #members: Members | undefined;

  constructor(sim: Simulation, ledger: Ledger) {
    this.#sim = sim;
    this.#ledger = ledger;
  }

  get rebalances(): number {
    return this.#members?.rebalances ?? 0;
  }

  isDead(remoting: unknown): boolean {
    return this.#members?.isDead(remoting) ?? false;
  }

  async run(): Promise<void> {
    const sim = this.#sim, { random } = sim;
    const cluster = await startClusterWith(sim.host(), sim.listener, {
      listenHost: "10.0.0.1",
      brokers: 2,
      messageDelayLevel: "1s",
      topics: { [TOPIC]: { queues: QUEUES } },
    });
    const machine = (): Machine => new Machine(sim, ++this.#machines);
    const shared = { random, ledger: this.#ledger, namesrvAddr: cluster.namesrvAddr };
    const members = this.#members = new Members({ ...shared, machine });
    const producers = new Producers({ ...shared, machine: machine() });
    const brokerFaults = new BrokerFaults(cluster, random, producers.machine);
    const faulting = brokerFaults.run();
    members.join();
    members.join();
    const sending = producers.run();
    await members.live(producers.machine);
    await sending;
    sim.heal();
    brokerFaults.end();
    await faulting;
    await producers.runInPeace(hasSilence(sim.seed));
    if (members.alive === 0) members.join();
    await this.#quiet(members);
    this.#ledger.checkConsumed();
    await Promise.all([producers.shutdown(), members.shutdown()]);
    if (this.#ledger.violations.length === 0) this.#ledger.checkCommitted();
    await cluster.close();
  }

  /** Until everything is consumed and committed, and nothing that was sent back is still to come. */
  async #quiet(members: Members): Promise<void> {
    const ledger = this.#ledger, { clock } = this.#sim;
    const end = this.#sim.now + PATIENCE;
    let since = this.#sim.now, handlings = -1;
    while (this.#sim.now < end && this.#sim.now - since < (ledger.isCommitted ? QUIET : REBALANCED)) {
      await new Promise<void>((resolve) => clock.setTimer(LOOK, resolve));
      if (members.isBusy || !ledger.isConsumed || ledger.handlings !== handlings) since = this.#sim.now;
      handlings = ledger.handlings;
    }
  }
}
