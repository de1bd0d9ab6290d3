import { isIP } from "node:net";
import process from "node:process";
import { type CommandDef, defineCommand, type ParsedArgs } from "citty";
import type { RocketMQError } from "../host-node/mod.ts";
import { integer, UsageError } from "./command_line.ts";
import type { Doors } from "./doors.ts";

const PORT_MAX = 65_535;

/** `rmq broker`: the embedded name server and broker, until a signal ends it. */
export const brokerCommand = ({ startCluster, isRocketMQError, untilAsked }: Doors): CommandDef<typeof options> =>
  defineCommand({
    meta: { name: "broker", description: "Runs a name server and a broker in memory, for any RocketMQ client" },
    args: options,
    async run({ args }) {
      const clusterOptions = clusterOptionsOf(args);
      const cluster = await startCluster(clusterOptions).catch((error: unknown) => {
        throw isRocketMQError(error) ? explained(error, clusterOptions) : error;
      });
      try {
        const { namesrvAddr } = cluster;
        process.stdout.write(`${args.json ? JSON.stringify({ namesrvAddr }) : namesrvAddr}\n`);
        process.stderr.write(
          `Name server and broker are up; clients use namesrvAddr ${namesrvAddr}. Ctrl+C ends them.\n`,
        );
        await untilAsked();
      } finally {
        await cluster.close();
      }
    },
  });

const options = {
  "namesrv-port": {
    type: "string",
    default: "9876",
    description: "Port of the name server; 0 takes a free one",
    valueHint: "PORT",
  },
  "broker-port": {
    type: "string",
    default: "10911",
    description: "Port of the broker, which also listens on PORT - 2; 0 takes a free one",
    valueHint: "PORT",
  },
  "listen-host": {
    type: "string",
    default: "127.0.0.1",
    description: "Numeric address to listen on. Clients are told the same one, but 127.0.0.1 for 0.0.0.0",
    valueHint: "ADDRESS",
  },
  "message-delay-level": {
    type: "string",
    description: 'Delay levels as in broker.conf, such as "1s 5s 10s"',
    valueHint: "LEVELS",
  },
  topics: {
    type: "string",
    description: "Topics to start with and their queues, such as orders:8,billing; others come into being when used",
    valueHint: "LIST",
  },
  json: { type: "boolean", default: false, description: "Print a JSON object instead of the bare address" },
} as const;

type ClusterOptions = NonNullable<Parameters<Doors["startCluster"]>[0]>;

function clusterOptionsOf(args: ParsedArgs<typeof options>): ClusterOptions {
  const messageDelayLevel = args["message-delay-level"];
  if (messageDelayLevel !== undefined && !DELAY_LEVELS.test(messageDelayLevel.trim())) {
    throw new UsageError(`The option "--message-delay-level" must be like "1s 5s 1m", got "${messageDelayLevel}"`);
  }
  return {
    listenHost: addressOf(args["listen-host"]),
    namesrvPort: integer("namesrv-port", args["namesrv-port"], 0, PORT_MAX),
    brokerPort: brokerPortOf(args["broker-port"]),
    ...(messageDelayLevel === undefined ? {} : { messageDelayLevel }),
    ...(args.topics === undefined ? {} : { topics: topicsOf(args.topics) }),
  };
}

const DELAY_LEVELS = /^\d{1,9}[smhd]( \d{1,9}[smhd])*$/;

function addressOf(host: string): string {
  if (isIP(host) !== 0 || host === "localhost") return host;
  throw new UsageError(`The option "--listen-host" must be a numeric address or localhost, got "${host}"`);
}

/** Two ports lower there is another one, which cannot be 0. */
function brokerPortOf(text: string): number {
  if (/^0*[12]$/.test(text)) {
    throw new UsageError(`The option "--broker-port" must be 0 or 3..${PORT_MAX}, got "${text}"`);
  }
  return integer("broker-port", text, 0, PORT_MAX);
}

/** "orders:8,billing" → { orders: { queues: 8 }, billing: {} } */
function topicsOf(list: string): Record<string, { queues?: number }> {
  const topics = new Map<string, { queues?: number }>();
  for (const each of list.split(",")) {
    const [, topic = "", queues] = /^([^:]*)(?::(.*))?$/s.exec(each.trim()) ?? [];
    checkTopic(topic, list);
    if (topics.has(topic)) throw new UsageError(`The option "--topics" names the topic "${topic}" twice`);
    topics.set(topic, queues === undefined ? {} : { queues: queuesOf(topic, queues) });
  }
  return Object.fromEntries(topics);
}

const TOPIC_MAX = 127;

function checkTopic(topic: string, list: string): void {
  const wrong = `The option "--topics" has the topic "${topic}"`;
  if (topic === "") {
    throw new UsageError(`The option "--topics" must be a list such as orders:8,billing, got "${list}"`);
  }
  if (topic.length > TOPIC_MAX) throw new UsageError(`${wrong}: at most ${TOPIC_MAX} characters are allowed`);
  if (!/^[%|a-zA-Z0-9_-]+$/.test(topic)) {
    throw new UsageError(`${wrong}: only letters, digits, %, |, - and _ are allowed`);
  }
}

const QUEUES_MAX = 1024;

function queuesOf(topic: string, text: string): number {
  const queues = Number(text);
  if (/^\d+$/.test(text) && queues >= 1 && queues <= QUEUES_MAX) return queues;
  throw new UsageError(`The option "--topics" must have 1..${QUEUES_MAX} queues of ${topic}, got "${text}"`);
}

/** What an error of the cluster means for whoever typed the command. */
function explained(error: RocketMQError, { namesrvPort }: ClusterOptions): Error {
  if (error.code === "ROCKETMQ_ARGUMENT") return new UsageError(error.message, { cause: error });
  const { cause, addr = "" } = error;
  if (!(cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE")) return error;
  const flag = addr.endsWith(`:${namesrvPort}`) ? "namesrv-port" : "broker-port";
  return new Error(`${error.message}; "--${flag} 0" takes a free port`, { cause: error });
}
