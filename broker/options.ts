import { ArgumentError, UnsupportedError } from "../client/errors.ts";
import { parseIp } from "../client/protocol/hosts.ts";
import { checkTopic } from "../client/protocol/names.ts";
import { DELAY_LEVELS, parseDelayLevels } from "./schedule.ts";

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

/** What is left when nothing is optional any more. */
export interface ResolvedOptions {
  readonly listenHost: string;
  /** What clients are told, and what records carry: numeric. */
  readonly address: string;
  readonly namesrvPort: number;
  readonly brokerPort: number;
  readonly brokers: number;
  /** Delays of the levels, ms. */
  readonly delays: readonly number[];
  /** Queues by topic. */
  readonly topics: ReadonlyMap<string, number>;
}

/** Ports from one broker to the next: its own, one between, and the VIP port below it. */
export const PORT_STEP = 3;
const BROKERS_MAX = 26;
const QUEUES = 8;
const QUEUES_MAX = 1_024;

/** Throws `ArgumentError`, or `UnsupportedError` for what is not built yet. */
export function resolveClusterOptions(options: ClusterOptions): ResolvedOptions {
  if (options.storeDir !== undefined) {
    throw new UnsupportedError("Option storeDir is not supported yet: the store is in memory");
  }
  const { listenHost = "127.0.0.1", namesrvPort = 0, brokerPort = 0, brokers = 1, topics = {} } = options;
  checkNumber("brokers", brokers, 1, BROKERS_MAX);
  checkNumber("namesrvPort", namesrvPort, 0, PORT_MAX);
  if (brokerPort !== 0) checkNumber("brokerPort", brokerPort, PORT_STEP, PORT_MAX - (brokers - 1) * PORT_STEP);
  return {
    listenHost,
    address: addressOf(listenHost),
    namesrvPort,
    brokerPort,
    brokers,
    delays: parseDelayLevels(options.messageDelayLevel ?? DELAY_LEVELS),
    topics: new Map(
      Object.entries(topics).map(([topic, { queues = QUEUES }]) => {
        checkTopic(topic);
        checkNumber(`queues of topic "${topic}"`, queues, 1, QUEUES_MAX);
        return [topic, queues];
      }),
    ),
  };
}

const PORT_MAX = 65_535;
/** How clients on this machine reach what listens everywhere. */
const ADVERTISED: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1", localhost: "127.0.0.1" };

function addressOf(listenHost: string): string {
  const address = ADVERTISED[listenHost] ?? listenHost;
  try {
    parseIp(address);
  } catch (cause) {
    throw new ArgumentError(`listenHost must be a numeric address, got ${JSON.stringify(listenHost)}`, { cause });
  }
  return address;
}

function checkNumber(option: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new ArgumentError(`${option} must be a whole number, ${min}..${max}, got ${value}`);
}
