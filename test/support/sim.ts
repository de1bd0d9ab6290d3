import process from "node:process";
import { setImmediate } from "node:timers";
import type { Clock, Host, Listener } from "../../client/host.ts";
import { Events, SimulatedClock } from "./sim/events.ts";
import { simulatedHost } from "./sim/host.ts";
import { type FaultCounts, type Faults, Network, NO_FAULTS } from "./sim/network.ts";
import { Random, seedPlatform } from "./sim/random.ts";

export type { FaultCounts, Faults } from "./sim/network.ts";
export { NO_FAULTS } from "./sim/network.ts";
export { Random } from "./sim/random.ts";

/** So much virtual time may pass before a promise or a condition is given up. */
const LIMIT = 3_600_000;
/** Turns between two looks at the real event loop. */
const TURNS = 1_000;

/**
 * A world of its own: hosts, the network between them, and a clock that moves only when told. Everything that is random
 * comes from one seed, `Math.random` and `crypto` included, so the same seed is the same run. Call `end` when done.
 *
 * ```ts
 * const sim = new Simulation(7, { split: 0.5, cut: 0.01 });
 * const client = new Remoting({ host: sim.host("client"), … });
 * await sim.run(client.invoke("10.0.0.1:9876", request, { timeout: 3_000 }));   // a promise,
 * await sim.run(() => consumed === 100);                                        // a condition,
 * await sim.run(30_000);                                                        // or some ms
 * sim.end();
 * ```
 */
export class Simulation implements Disposable {
  readonly seed: number;
  readonly random: Random;
  readonly network: Network;
  readonly #events = new Events();
  readonly clock: Clock = new SimulatedClock(this.#events);
  readonly #restore: () => void;
  #hosts = 0;
  #turns = 0;

  constructor(seed: number, faults: Partial<Faults> = {}) {
    this.seed = seed;
    this.random = new Random(seed);
    this.network = new Network(this.#events, new Random(seed ^ 0x5bd1e995), { ...NO_FAULTS, ...faults });
    this.#restore = seedPlatform(new Random(seed ^ 0x2545f491));
  }

  /** Listens at any address: what is listened at can be connected to. */
  get listener(): Listener {
    return this.network.listener;
  }

  /** May be changed at any time. */
  get faults(): Faults {
    return this.network.faults;
  }

  get counts(): FaultCounts {
    return this.network.counts;
  }

  /** ms since the start. */
  get now(): number {
    return this.#events.now;
  }

  /** Timers and arrivals that are still to come. */
  get planned(): number {
    return this.#events.planned;
  }

  /** One more machine; the first has the address 10.0.0.1. */
  host(name = "host"): Host {
    return simulatedHost(name, `10.0.0.${++this.#hosts}`, this.#events, this.clock, this.network);
  }

  /** Nothing goes wrong any more. */
  heal(): void {
    Object.assign(this.network.faults, NO_FAULTS);
  }

  /**
   * Lets time pass: so many ms, until a condition holds, or until a promise settles, whose outcome it returns. Throws,
   * naming the seed, when nothing more happens or an hour of virtual time has passed.
   */
  run(until: number | (() => boolean), limit?: number): Promise<void>;
  run<T>(until: Promise<T>, limit?: number): Promise<T>;
  async run<T>(until: number | (() => boolean) | Promise<T>, limit = LIMIT): Promise<T | void> {
    if (typeof until === "number") return await this.#pass(until);
    if (typeof until === "function") return await this.#until(until, limit);
    let isSettled = false;
    const settled = () => isSettled = true;
    until.then(settled, settled);
    await this.#until(() => isSettled, limit);
    return await until;
  }

  /** Gives back what was seeded. */
  end(): void {
    this.#restore();
  }

  [Symbol.dispose](): void {
    this.end();
  }

  async #pass(ms: number): Promise<void> {
    const end = this.#events.now + ms;
    do await this.#settle(); while (this.#events.next(end));
    this.#events.now = end;
    await this.#settle();
  }

  async #until(holds: () => boolean, limit: number): Promise<void> {
    const end = this.#events.now + limit;
    for (;;) {
      await this.#settle();
      if (holds()) return;
      if (this.#events.next(end)) continue;
      const why = this.#events.planned > 0 ? `not within ${limit} ms` : "nothing more happens";
      throw new Error(`Simulation ${this.seed} stands still at ${Math.round(this.#events.now)} ms: ${why}`);
    }
  }

  /** Ends the turn: all microtasks, then what was deferred, until there is neither. */
  async #settle(): Promise<void> {
    do await this.#microtasks(); while (this.#events.endTurn());
  }

  #microtasks(): Promise<void> {
    if (++this.#turns % TURNS === 0) return new Promise((resolve) => setImmediate(resolve));
    return new Promise((resolve) => process.nextTick(resolve));
  }
}
