import { ArgumentError, UnsupportedError } from "../client/errors.ts";
import { checkNames } from "../client/option_names.ts";
import { parseIp } from "../client/protocol/hosts.ts";
import { checkTopic } from "../client/protocol/names.ts";
import { DELAY_LEVELS, parseDelayLevels } from "./schedule.ts";

/** Ports are free ones unless given; 0 is a free one too. */
export interface ClusterOptions {
  /**
   * Where to listen: a numeric address or localhost, which is 127.0.0.1, the default. Clients are told the same address, but
   * 127.0.0.1 for 0.0.0.0 and ::1 for ::, so those two serve this machine alone.
   */
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
const LOCALHOST = "127.0.0.1";
const BROKERS_MAX = 26;
const QUEUES = 8;
const QUEUES_MAX = 1_024;

const KNOWN: readonly (keyof ClusterOptions)[] = [
  "listenHost",
  "namesrvPort",
  "brokerPort",
  "messageDelayLevel",
  "brokers",
  "storeDir",
  "topics",
];

/** Throws `ArgumentError`, or `UnsupportedError` for what is not built yet. */
export function resolveClusterOptions(options: ClusterOptions): ResolvedOptions {
  checkNames(options, KNOWN);
  if (options.storeDir !== undefined) {
    throw new UnsupportedError("Option storeDir is not supported yet: the store is in memory");
  }
  const { namesrvPort = 0, brokerPort = 0, brokers = 1, messageDelayLevel = DELAY_LEVELS } = options;
  const { listenHost: given = LOCALHOST } = options;
  // The system may know another address by that name than the one that clients are told.
  const listenHost = given === "localhost" ? LOCALHOST : given;
  checkNumber("brokers", brokers, 1, BROKERS_MAX);
  checkNumber("namesrvPort", namesrvPort, 0, PORT_MAX);
  if (brokerPort !== 0) checkNumber("brokerPort", brokerPort, PORT_STEP, PORT_MAX - (brokers - 1) * PORT_STEP);
  return {
    listenHost,
    address: addressOf(listenHost),
    namesrvPort,
    brokerPort,
    brokers,
    delays: parseDelayLevels(messageDelayLevel),
    topics: queuesOf(options.topics),
  };
}

function queuesOf(topics: NonNullable<ClusterOptions["topics"]> = {}): Map<string, number> {
  if (typeof topics !== "object" || topics === null || Array.isArray(topics)) {
    throw new ArgumentError("topics must be an object of topics and their options");
  }
  return new Map(
    Object.entries(topics).map(([topic, options]) => {
      checkTopic(topic);
      checkNames(options, ["queues"], `topics.${topic}`);
      const { queues = QUEUES } = options;
      checkNumber(`queues of topic "${topic}"`, queues, 1, QUEUES_MAX);
      return [topic, queues];
    }),
  );
}

const PORT_MAX = 65_535;
/** How clients on this machine reach what listens everywhere. */
const ADVERTISED: Readonly<Record<string, string>> = { "0.0.0.0": LOCALHOST, "::": "::1" };

function addressOf(listenHost: string): string {
  const address = ADVERTISED[listenHost] ?? listenHost;
  try {
    parseIp(address);
  } catch (cause) {
    throw new ArgumentError(`listenHost must be a numeric address or localhost, got ${JSON.stringify(listenHost)}`, {
      cause,
    });
  }
  return address;
}

function checkNumber(option: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new ArgumentError(`${option} must be a whole number, ${min}..${max}, got ${value}`);
}
