import { Core } from "../client/core.ts";
import { ConnectError } from "../client/errors.ts";
import type { Host, Listener } from "../client/host.ts";
import { formatAddress } from "../client/remoting/address.ts";
import { AnswerPrograms } from "./answer_programs.ts";
import { brokerService } from "./broker.ts";
import { BrokerState } from "./broker_state.ts";
import { type FaultRule, Faults } from "./faults.ts";
import { nameServerHandler } from "./name_server.ts";
import { PORT_STEP, type ResolvedOptions } from "./options.ts";
import { Server } from "./server.ts";

const CLUSTER = "DefaultCluster";
const PORT_TRIES = 50;
/** The arena of the whole cluster, MiB of address space: some 650 connections. */
const CORE_MEMORY = 256;

/** One name server and its brokers; they share a core. */
export class Cluster {
  readonly #host: Host;
  readonly #listener: Listener;
  readonly #options: ResolvedOptions;
  readonly #core: Core;
  readonly #answers: AnswerPrograms;
  readonly #faults = new Faults();
  readonly #brokers: BrokerState[] = [];
  readonly #servers: Server[] = [];
  #namesrvAddr = "";
  #closing: Promise<void> | undefined;

  constructor(host: Host, listener: Listener, options: ResolvedOptions) {
    this.#host = host;
    this.#listener = listener;
    this.#options = options;
    this.#core = new Core(host.core, CORE_MEMORY);
    this.#answers = new AnswerPrograms(this.#core);
  }

  get namesrvAddr(): string {
    return this.#namesrvAddr;
  }

  async start(): Promise<void> {
    const { listenHost, address, namesrvPort, brokerPort, brokers } = this.#options;
    for (let i = 0; i < brokers; i++) await this.#startBroker(i, brokerPort === 0 ? 0 : brokerPort + i * PORT_STEP);
    const server = this.#server();
    server.serve({ handler: nameServerHandler(this.#brokers), disconnected: () => {} });
    this.#namesrvAddr = formatAddress(address, await server.listen(listenHost, namesrvPort));
  }

  fault(rule: FaultRule): () => void {
    return this.#faults.add(rule);
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    for (const broker of this.#brokers) broker.close();
    await Promise.all(this.#servers.map((server) => server.close()));
  }

  /** The address of a broker is part of its records, so its ports come first. */
  async #startBroker(index: number, port: number): Promise<void> {
    const { address, delays, topics } = this.#options;
    const [main, vip, own] = await this.#twoPorts(port);
    const state = new BrokerState({
      core: this.#core,
      host: this.#host,
      answers: this.#answers,
      clusterName: CLUSTER,
      brokerName: `broker-${String.fromCharCode("a".charCodeAt(0) + index)}`,
      addr: formatAddress(address, own),
      delays,
    });
    for (const [topic, queues] of topics) state.topics.create(topic, queues);
    this.#brokers.push(state);
    main.serve(brokerService(state, false));
    vip.serve(brokerService(state, true));
  }

  /** A broker needs its port and the one two below it: with free ports it tries until it has such a pair. */
  async #twoPorts(port: number): Promise<[main: Server, vip: Server, port: number]> {
    const { listenHost } = this.#options;
    for (let tries = port === 0 ? PORT_TRIES : 1;; tries--) {
      const main = this.#server(), vip = this.#server();
      const own = await main.listen(listenHost, port);
      try {
        await vip.listen(listenHost, own - 2);
        return [main, vip, own];
      } catch (error) {
        await main.close();
        if (tries <= 1 || !(error instanceof ConnectError)) throw error;
      }
    }
  }

  #server(): Server {
    const server = new Server({
      host: this.#host,
      listener: this.#listener,
      core: this.#core,
      faults: this.#faults,
    });
    this.#servers.push(server);
    return server;
  }
}
