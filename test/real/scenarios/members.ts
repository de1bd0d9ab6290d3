import { holds } from "../check.ts";
import { Reporter } from "../child.ts";
import { consume, keyOf, queuesOf } from "../consuming.ts";
import { keysOf, numbered, sendAll } from "../messages.ts";
import { runSelf } from "../self.ts";
import type { Scenario, Trial } from "../trial.ts";
import { poll } from "../watch.ts";
import type { MemberLine } from "../member.ts";

const QUEUES = 4;

export const members: Scenario = {
  name: "two members share the queues, one is killed",
  deadlineMs: 90_000,
  async run(trial) {
    const topic = trial.name("members");
    const consumerGroup = trial.name("members");
    const producer = trial.producer();
    await sendAll(producer, numbered(topic, "warm", QUEUES)); // makes the topic

    const { consumer, seen } = await consume(trial, { consumerGroup, subscriptions: { [topic]: "*" } });
    await poll(trial.signal, "all queues to be ours", () => queuesOf(consumer, topic) === QUEUES);
    const other = startMember(trial, topic, consumerGroup);
    await other.whileAlive(
      other.lines.first(
        (line) => line.event === "assignment" && line.queues === QUEUES / 2,
        "the other to have two queues",
      ),
    );
    await poll(trial.signal, "two queues to be ours", () => queuesOf(consumer, topic) === QUEUES / 2);

    const shared = numbered(topic, "shared", 100);
    await sendAll(producer, shared);
    const theirs = (): string[] => other.lines.items.flatMap((line) => line.event === "message" ? [line.key] : []);
    const ours = (): string[] => seen.items.map(keyOf);
    await poll(trial.signal, "all shared messages", () => missing(keysOf(shared), [...ours(), ...theirs()]) === 0);
    const [here, there] = [ours(), theirs()].map((keys) => keys.filter((key) => key.startsWith("shared")).length);
    holds(here === 50 && there === 50, `both took half of the 100 messages (${here} and ${there})`);

    await other.kill();
    await poll(trial.signal, "all queues to be ours again", () => queuesOf(consumer, topic) === QUEUES);
    const alone = numbered(topic, "alone", 100);
    await sendAll(producer, alone);
    await seen.until(() => missing(keysOf(alone), ours()) === 0, "the messages after the other was killed");
  },
};

const missing = (expected: readonly string[], actual: readonly string[]): number => {
  const had = new Set(actual);
  return expected.filter((key) => !had.has(key)).length;
};

/** The other member is a process of its own, so that it can be killed without a word to the broker. */
function startMember(trial: Trial, topic: string, consumerGroup: string): Reporter<MemberLine> {
  const { namesrvAddr, serializeType } = trial;
  const [command, ...args] = runSelf("member.js", [
    JSON.stringify({ namesrvAddr, serializeType, topic, consumerGroup }),
  ]);
  const member = new Reporter<MemberLine>(command, args, trial.signal);
  trial.atEnd(() => member.kill());
  return member;
}
