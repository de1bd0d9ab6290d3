// A member of a consumer group in a process of its own; says in JSON lines which queues it has and what it gets.
import process from "node:process";
import { createPushConsumer } from "./doors.ts";
import { keyOf, queuesOf } from "./consuming.ts";
import type { SerializeType } from "./trial.ts";

export type MemberLine =
  | { readonly event: "assignment"; readonly queues: number }
  | { readonly event: "message"; readonly key: string }
  | { readonly event: "error"; readonly message: string };

const options = JSON.parse(process.argv[2] ?? "{}") as {
  namesrvAddr: string;
  serializeType: SerializeType;
  topic: string;
  consumerGroup: string;
};
const say = (line: MemberLine): void => void process.stdout.write(JSON.stringify(line) + "\n");

const consumer = createPushConsumer({
  namesrvAddr: options.namesrvAddr,
  serializeType: options.serializeType,
  consumerGroup: options.consumerGroup,
  consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
  subscriptions: { [options.topic]: "*" },
  onError: (error) => say({ event: "error", message: String(error) }),
});
let queues = -1;
setInterval(() => {
  const now = queuesOf(consumer, options.topic);
  if (now !== queues) say({ event: "assignment", queues: queues = now });
}, 20);
await consumer.run({
  eachMessage(message) {
    say({ event: "message", key: keyOf(message) });
  },
});
