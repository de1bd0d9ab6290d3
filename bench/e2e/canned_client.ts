// One client at the canned server: canned_client.ts VARIANT name=value…, one line of JSON.
import process from "node:process";
import type * as client from "../../host-node/mod.ts";
import { bodyOf, sendInput } from "../inputs/send.ts";
import { bestBinaryClient, bestClient } from "./clients/best.ts";
import type { OpenClient } from "./clients/client.ts";
import { tunedBinaryClient, tunedClient } from "./clients/tuned.ts";
import { typicalClient } from "./clients/typical.ts";
import { mark, measurementOf, print } from "./meter.ts";
import { limitTime } from "./paced.ts";
import { ownSettings } from "./settings.ts";

interface Sender {
  send(keys: string, body: Uint8Array): Promise<{ readonly queueOffset: number | bigint }>;
  close(): unknown;
}

type Open = (port: number) => Promise<Sender>;

const baseline = (openClient: OpenClient): Open => (port) => openClient(port, sendInput);

/** Of JSON headers and of ROCKETMQ headers; the typical client, as those that are on npm, knows the first alone. */
const open: Readonly<Record<string, Open>> = {
  "typical JS json": baseline(typicalClient),
  "tuned JS json": baseline(tunedClient),
  "best JavaScript json": baseline(bestClient),
  "tuned JS binary": baseline(tunedBinaryClient),
  "best JavaScript binary": baseline(bestBinaryClient),
  "ours json": (port) => openOurs(port, "JSON"),
  "ours binary": (port) => openOurs(port, "ROCKETMQ"),
};

const settings = ownSettings();
const variant = open[`${settings.kind} ${settings.text("header")}`];
if (!variant) throw new Error(`There is no client "${settings.kind}" for ${settings.text("header")} headers`);
const inTime = limitTime(settings.number("timeout"), () => {
  console.error(`${settings.kind} took more than ${settings.number("timeout")} s`);
  process.exit(3);
});
const sender = await variant(settings.number("port"));
const body = bodyOf(settings.number("bodyBytes")), { keys } = sendInput, messages = settings.number("messages");
await send(settings.number("warmUp"));
const from = mark();
await send(messages);
print(measurementOf(settings.kind, messages, [from, mark()]));
inTime();
sender.close();
process.exit(0);

/** As many as the window at a time; each send waits for the one before it in its place. */
async function send(count: number): Promise<void> {
  let left = count;
  const loop = async (): Promise<void> => {
    while (left > 0) {
      const { queueOffset } = await sender.send(keys[--left % keys.length]!, body);
      if (queueOffset < 1) throw new Error(`The answer has offset ${queueOffset}`);
    }
  };
  await Promise.all(Array.from({ length: settings.number("window") }, loop));
}

async function openOurs(port: number, serializeType: "JSON" | "ROCKETMQ"): Promise<Sender> {
  const { createProducer }: typeof client = "Deno" in globalThis
    ? await import("../../host-deno/mod.ts")
    : await import("../../host-node/mod.ts");
  const { producerGroup, topic, tags } = sendInput;
  const producer = createProducer({
    namesrvAddr: `127.0.0.1:${port}`,
    producerGroup,
    serializeType,
    compression: false,
    retryTimesWhenSendFailed: 0,
  });
  return { send: (keys, body) => producer.send({ topic, tags, keys, body }), close: () => producer.shutdown() };
}
