import process from "node:process";
import { type CommandDef, defineCommand } from "citty";
import { integer, UsageError } from "./command_line.ts";
import type { Doors } from "./doors.ts";

const PORT_MAX = 65_535;

/** `rmq broker`: the embedded name server and broker, until a signal ends it. */
export const brokerCommand = ({ startCluster, untilAsked }: Doors): CommandDef<typeof options> =>
  defineCommand({
    meta: { name: "broker", description: "Runs a name server and a broker in memory, for any RocketMQ client" },
    args: options,
    async run({ args }) {
      const messageDelayLevel = args["message-delay-level"];
      const cluster = await startCluster({
        listenHost: args["listen-host"],
        namesrvPort: integer("namesrv-port", args["namesrv-port"], 0, PORT_MAX),
        brokerPort: integer("broker-port", args["broker-port"], 0, PORT_MAX),
        ...(messageDelayLevel === undefined ? {} : { messageDelayLevel }),
        ...(args.topics === undefined ? {} : { topics: topicsOf(args.topics) }),
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
    description: "Address to listen on, and the one that clients are told",
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

/** "orders:8,billing" → { orders: { queues: 8 }, billing: {} } */
function topicsOf(list: string): Record<string, { queues?: number }> {
  const topics = list.split(",").map((each): [string, { queues?: number }] => {
    const [topic = "", queues] = each.trim().split(":");
    if (topic === "") {
      throw new UsageError(`The option "--topics" must be a list such as orders:8,billing, got "${list}"`);
    }
    return [topic, queues === undefined ? {} : { queues: integer("topics", queues, 1, 1024) }];
  });
  return Object.fromEntries(topics);
}
