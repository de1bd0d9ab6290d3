import process from "node:process";
import { type CommandDef, defineCommand } from "citty";
import { createProducer, createPushConsumer } from "../host-node/mod.ts";
import { integer, runCommandLine } from "./command_line.ts";
import { startBroker } from "./demo/broker_process.ts";
import { showProgress } from "./demo/progress.ts";
import { table, toJSON } from "./demo/report.ts";
import { runTraffic } from "./demo/traffic.ts";

const options = {
  messages: { type: "string", default: "100000", description: "How many messages of 1 KiB", valueHint: "N" },
  "in-flight": {
    type: "string",
    default: "512",
    description: "How many sends may wait for their answer",
    valueHint: "N",
  },
  json: { type: "boolean", default: false, description: "Print one JSON object instead of the table" },
} as const;

/** `npm run demo`: a cluster in a process of its own, messages there and back, every one of them checked. */
const demo: CommandDef<typeof options> = defineCommand({
  meta: { name: "demo", description: "Sends messages through an embedded cluster and consumes them" },
  args: options,
  async run({ args }) {
    const messages = integer("messages", args.messages, 1, 10_000_000);
    const inFlight = integer("in-flight", args["in-flight"], 1, 65_535);
    const topic = "demo";
    const broker = await startBroker(new URL("./bin_node.js", import.meta.url), `${topic}:8`);
    try {
      const { namesrvAddr } = broker;
      const producer = createProducer({ namesrvAddr });
      const consumer = createPushConsumer({
        namesrvAddr,
        consumerGroup: "demo-group",
        consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
        subscriptions: { [topic]: "*" },
      });
      const report = await runTraffic({
        producer,
        consumer,
        topic,
        messages,
        inFlight,
        watch: showProgress,
        ended: broker.ended,
      });
      process.stdout.write(`${args.json ? JSON.stringify(toJSON(report)) : table(report)}\n`);
      if (report.lost + report.duplicate + report.bad > 0) process.exitCode = 1;
    } finally {
      await broker.stop();
    }
  },
});

const code = await runCommandLine(demo, process.argv.slice(2));
if (code !== 0) process.exitCode = code;
