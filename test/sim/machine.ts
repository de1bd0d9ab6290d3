import type { Host, Inbox, Socket, Timer } from "../../client/host.ts";
import type { Simulation } from "../support/sim.ts";

/** A simulated machine that can lose its power: from then on nothing happens on it, and its peers see a reset. */
export class Machine {
  readonly ip: string;
  readonly host: Host;
  isDead = false;
  readonly #sim: Simulation;
  readonly #timers = new Set<Timer>();

  /** `number` counts the simulation's hosts from 1. */
  constructor(sim: Simulation, number: number) {
    this.ip = `10.0.0.${number}`;
    this.#sim = sim;
    const host = sim.host();
    const { now, monotonic } = host.clock;
    this.host = {
      ...host,
      clock: {
        now: now.bind(host.clock),
        monotonic: monotonic.bind(host.clock),
        setTimer: (delay, task) => this.#timer(host, delay, task),
      },
      connect: async (endpoint, inbox, signal) =>
        this.#socket(await host.connect(endpoint, this.#inbox(inbox), signal)),
      defer: (task) => host.defer(() => this.#unlessDead(task)),
    };
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.host.clock.setTimer(ms, resolve));
  }

  cut(): void {
    this.#sim.network.cut(this.ip);
  }

  kill(): void {
    this.isDead = true;
    for (const timer of this.#timers) timer.cancel();
    this.cut();
  }

  #timer(host: Host, delay: number, task: () => void): Timer {
    const timer = host.clock.setTimer(delay, () => {
      this.#timers.delete(own);
      this.#unlessDead(task);
    });
    const own: Timer = {
      cancel: () => {
        this.#timers.delete(own);
        timer.cancel();
      },
    };
    this.#timers.add(own);
    return own;
  }

  #inbox(inbox: Inbox): Inbox {
    return {
      room: () => inbox.room(),
      received: (length) => this.#unlessDead(() => inbox.received(length)),
      closed: (error) => this.#unlessDead(() => inbox.closed(error)),
    };
  }

  #socket(socket: Socket): Socket | Promise<Socket> {
    if (this.isDead) return new Promise(() => {});
    return {
      localAddress: socket.localAddress,
      write: (parts, done) => socket.write(parts, (error) => this.#unlessDead(() => done(error))),
      close: () => socket.close(),
    };
  }

  #unlessDead(task: () => void): void {
    if (!this.isDead) task();
  }
}
