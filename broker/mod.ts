import { Core } from "../client/core.ts";
import { ArgumentError, ConnectError, UnsupportedError } from "../client/errors.ts";
import type { Host, Listener } from "../client/host.ts";
import { parseIp } from "../client/protocol/hosts.ts";
import { checkTopic } from "../client/protocol/names.ts";
import { formatAddress } from "../client/remoting/address.ts";
import type { Caller } from "./answer.ts";
import { brokerHandler } from "./broker.ts";
import { BrokerState } from "./broker_state.ts";
import { type FaultRule, Faults } from "./faults.ts";
import { nameServerHandler } from "./name_server.ts";
import { DELAY_LEVELS, parseDelayLevels } from "./schedule.ts";
import { Server, type ServerOptions } from "./server.ts";

export type { FaultRule } from "./faults.ts";

/** Ports are free ones unless given; 0 is a free one too. */
export interface ClusterOptions {
  /** Where to listen, and how clients reach the brokers. Default 127.0.0.1. */
  listenHost?: string;
  namesrvPort?: number;
  /** Of the first broker; each further one is three higher. Each also listens on its port - 2 (VIP channel). */
  brokerPort?: number;
  /** Delays of the levels, as in a broker's configuration: "1s 5s 10s 30s 1m …". */
  messageDelayLevel?: string;
  /** Default 1. */
  brokers?: number;
  /** Not supported yet: everything is in memory. */
  storeDir?: string;
  /** Topics to begin with. Default 8 queues each. */
  topics?: Readonly<Record<string, { queues?: number }>>;
}

/** A name server and brokers in this process. */
export interface EmbeddedCluster extends AsyncDisposable {
  readonly namesrvAddr: string;
  /** Misbehaves on purpose: for requests of `code`, `count` times. Returns the function that ends the rule. */
  fault(rule: FaultRule): () => void;
  close(): Promise<void>;
}

const CLUSTER = "DefaultCluster";
const QUEUES = 8;
const PORT_STEP = 3;
const PORT_TRIES = 50;
/** The arena of the whole cluster, MiB. */
const CORE_MEMORY = 256;

/** Starts a cluster. Rejects with `ArgumentError`, `UnsupportedError`, or `ConnectError` when a port is taken. */
export async function startClusterWith(
  host: Host,
  listener: Listener,
  options: ClusterOptions = {},
): Promise<EmbeddedCluster> {
  const resolved = resolve(options);
  const cluster = new Cluster(host, listener, resolved);
  try {
    await cluster.start();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

type Resolved = Required<Omit<ClusterOptions, "storeDir" | "messageDelayLevel">> & {
  readonly delays: readonly number[];
  /** What clients are told, and what records carry: numeric. */
  readonly address: string;
};

/** How clients on this machine reach what listens everywhere. */
const ADVERTISED: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1", localhost: "127.0.0.1" };

function resolve(options: ClusterOptions): Resolved {
  if (options.storeDir !== undefined) {
    throw new UnsupportedError("Option storeDir is not supported yet: the store is in memory");
  }
  const { listenHost = "127.0.0.1", namesrvPort = 0, brokerPort = 0, brokers = 1, topics = {} } = options;
  if (!Number.isInteger(brokers) || brokers < 1 || brokers > 26) {
    throw new ArgumentError(`brokers must be 1..26, got ${brokers}`);
  }
  const address = ADVERTISED[listenHost] ?? listenHost;
  try {
    parseIp(address);
  } catch (cause) {
    throw new ArgumentError(`listenHost must be a numeric address, got ${JSON.stringify(listenHost)}`, { cause });
  }
  checkPort("namesrvPort", namesrvPort, 0);
  checkPort("brokerPort", brokerPort, PORT_STEP);
  for (const [topic, { queues = QUEUES }] of Object.entries(topics)) {
    checkTopic(topic);
    if (!Number.isInteger(queues) || queues < 1 || queues > 1_024) {
      throw new ArgumentError(`queues of topic "${topic}" must be 1..1024, got ${queues}`);
    }
  }
  return {
    listenHost,
    address,
    namesrvPort,
    brokerPort,
    brokers,
    topics,
    delays: parseDelayLevels(options.messageDelayLevel ?? DELAY_LEVELS),
  };
}

function checkPort(option: string, port: number, min: number): void {
  if (Number.isInteger(port) && (port === 0 || (port >= min && port <= 65_535))) return;
  throw new ArgumentError(`${option} must be a port number, got ${port}`);
}

class Cluster implements EmbeddedCluster {
  readonly #host: Host;
  readonly #listener: Listener;
  readonly #options: Resolved;
  readonly #core: Core;
  readonly #faults = new Faults();
  readonly #brokers: BrokerState[] = [];
  readonly #servers: Server[] = [];
  #namesrvAddr = "";
  #closing: Promise<void> | undefined;

  constructor(host: Host, listener: Listener, options: Resolved) {
    this.#host = host;
    this.#listener = listener;
    this.#options = options;
    this.#core = new Core(host.core, CORE_MEMORY);
  }

  get namesrvAddr(): string {
    return this.#namesrvAddr;
  }

  async start(): Promise<void> {
    const { listenHost, address, namesrvPort, brokerPort, brokers } = this.#options;
    for (let i = 0; i < brokers; i++) await this.#startBroker(i, brokerPort === 0 ? 0 : brokerPort + i * PORT_STEP);
    const server = await Server.listen(
      this.#serverOptions(nameServerHandler(this.#brokers), () => {}),
      listenHost,
      namesrvPort,
    );
    this.#servers.push(server);
    this.#namesrvAddr = formatAddress(address, server.port);
  }

  /** A broker needs its port and the one two below it: with free ports it tries until it has such a pair. */
  async #startBroker(index: number, port: number): Promise<void> {
    const { listenHost, address, delays, topics } = this.#options;
    for (let tries = port === 0 ? PORT_TRIES : 1;; tries--) {
      // The servers listen before the broker has a port, and so an address.
      const broker: { state?: BrokerState } = {};
      const disconnected = (caller: Caller): void => {
        broker.state?.groups.disconnected(caller);
        broker.state?.held.disconnected(caller);
      };
      const whenReady = (isVip: boolean): ServerOptions["handler"] => (request, caller) =>
        brokerHandler(broker.state!, isVip)(request, caller);
      const main = await Server.listen(this.#serverOptions(whenReady(false), disconnected), listenHost, port);
      let vip: Server;
      try {
        vip = await Server.listen(this.#serverOptions(whenReady(true), disconnected), listenHost, main.port - 2);
      } catch (error) {
        await main.close();
        if (tries <= 1 || !(error instanceof ConnectError)) throw error;
        continue;
      }
      this.#servers.push(main, vip);
      const state = broker.state = new BrokerState({
        core: this.#core,
        clock: this.#host.clock,
        clusterName: CLUSTER,
        brokerName: `broker-${String.fromCharCode("a".charCodeAt(0) + index)}`,
        addr: formatAddress(address, main.port),
        delays,
      });
      for (const [topic, { queues = QUEUES }] of Object.entries(topics)) state.topics.create(topic, queues);
      this.#brokers.push(state);
      return;
    }
  }

  #serverOptions(handler: ServerOptions["handler"], disconnected: ServerOptions["disconnected"]): ServerOptions {
    return {
      host: this.#host,
      listener: this.#listener,
      core: this.#core,
      faults: this.#faults,
      handler,
      disconnected,
    };
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
