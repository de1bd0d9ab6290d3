import { bytes } from "../../client/body_codec.ts";
import type { PushConsumer } from "../../client/consumer/push_consumer.ts";
import type { ConsumeConcurrentlyStatus, ConsumeContext, Later } from "../../client/consumer/listener.ts";
import type { Instance } from "../../client/instance.ts";
import type { MessageExt } from "../../client/message.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import type { Machine } from "./machine.ts";
import { CORE_MEMORY, type Shared } from "./producers.ts";
import { GROUP, TOPIC } from "./run_seed.ts";

/** No message fails more often, so that none ends in the dead letter queue. */
const FAILURES_MAX = 3;

interface Member {
  readonly machine: Machine;
  readonly consumer: PushConsumer;
  readonly running: Promise<void>;
  /** Bytes that its core used before anything happened. */
  readonly bytesAtFirst: number;
  /** Assignments seen so far. */
  rebalances: number;
}

/** The members of one group: they join, leave and are killed, and their handlers fail. */
export class Members {
  readonly #shared: Shared & { machine(): Machine };
  readonly #members = new Set<Member>();
  readonly #leaving: Promise<unknown>[] = [];
  readonly #dead = new Set<unknown>();
  readonly #failures = new Map<string, number>();
  /** Changes of a member's assignment after its first. */
  rebalances = 0;
  /** Handlers that run on machines that live. */
  readonly #running = new Map<Machine, number>();

  constructor(shared: Shared & { machine(): Machine }) {
    this.#shared = shared;
  }

  get alive(): number {
    return this.#members.size;
  }

  get isBusy(): boolean {
    return [...this.#running].some(([machine, count]) => count > 0 && !machine.isDead);
  }

  isDead(remoting: unknown): boolean {
    return this.#dead.has(remoting);
  }

  /** What happens while messages are sent. */
  async live(producers: Machine): Promise<void> {
    const { random } = this.#shared;
    await producers.sleep(300 + random.next() * 500);
    this.join();
    await producers.sleep(random.next() * 500);
    this.#happen();
    for (let more = 1 + random.below(3); more > 0; more--) {
      await producers.sleep(random.next() * 700);
      this.#happen();
    }
  }

  join(): void {
    const { namesrvAddr, random } = this.#shared;
    const machine = this.#shared.machine();
    const consumer = createPushConsumerOn(machine.host, {
      namesrvAddr,
      consumerGroup: GROUP,
      subscriptions: { [TOPIC]: "*" },
      consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
      serializeType: random.chance(0.5) ? "JSON" : "ROCKETMQ",
      concurrency: 1 + random.below(8),
      pullBatchSize: 1 + random.below(8),
      leaseMessages: random.chance(0.5),
      persistConsumerOffsetInterval: 200 + random.below(2_000),
      coreMemory: CORE_MEMORY,
      codec: bytes,
    });
    const bytesAtFirst = consumer.stats().coreBytesInUse;
    const member: Member = { machine, consumer, running: this.#run(consumer, machine), bytesAtFirst, rebalances: 0 };
    consumer.on("rebalance", () => {
      if (!machine.isDead && member.rebalances++ > 0) this.rebalances++;
    });
    this.#members.add(member);
    member.running.catch((error: unknown) => this.#shared.ledger.violate(`run() rejected: ${String(error)}`));
  }

  /** Everybody leaves in peace; a call that does not come back is found by whoever waits for this. */
  async shutdown(): Promise<void> {
    for (const member of [...this.#members]) this.#leave(member);
    await Promise.all(this.#leaving);
  }

  #happen(): void {
    const { random } = this.#shared;
    const member = [...this.#members][random.below(this.#members.size)];
    const dice = random.below(4);
    if (!member || dice === 0) this.join();
    else if (dice === 1) this.#leave(member);
    else if (dice === 2) this.#kill(member);
    else member.machine.cut();
  }

  #leave(member: Member): void {
    this.#members.delete(member);
    this.#leaving.push(this.#closed(member), member.running.catch(() => {}));
  }

  async #closed({ consumer, bytesAtFirst }: Member): Promise<void> {
    await consumer.shutdown();
    this.#shared.ledger.closed("a consumer", consumer.stats().coreBytesInUse - bytesAtFirst);
  }

  #kill(member: Member): void {
    this.#members.delete(member);
    this.#dead.add((member.consumer as unknown as { readonly instance: Instance }).instance.remoting);
    member.machine.kill();
  }

  /** A start that finds nobody is tried again, as a supervisor would. */
  async #run(consumer: PushConsumer, machine: Machine): Promise<void> {
    for (;;) {
      try {
        return await consumer.run({ eachMessage: (message, context) => this.#handle(machine, message, context) });
      } catch (error) {
        if (consumer.state === "draining" || consumer.state === "closed") return;
        if (!(error instanceof Error && "retryable" in error && error.retryable)) throw error;
        await machine.sleep(500);
      }
    }
  }

  #handle(machine: Machine, message: MessageExt, context: ConsumeContext): Later<ConsumeConcurrentlyStatus> {
    const { random } = this.#shared;
    this.#running.set(machine, (this.#running.get(machine) ?? 0) + 1);
    const failures = this.#failures.get(this.#keyOf(message)) ?? 0;
    const fails = failures < FAILURES_MAX && random.chance(0.2);
    if (random.chance(0.3)) return this.#end(machine, message, context, fails);
    // Now and then one takes its time, and holds the offset of its queue back.
    const ms = random.chance(0.1) ? 500 + random.next() * 4_000 : random.next() * 50;
    return machine.sleep(ms).then(() => this.#end(machine, message, context, fails));
  }

  #end(
    machine: Machine,
    message: MessageExt,
    { queue }: ConsumeContext,
    fails: boolean,
  ): ConsumeConcurrentlyStatus | undefined {
    if (machine.isDead) return;
    this.#running.set(machine, this.#running.get(machine)! - 1);
    const key = this.#keyOf(message);
    const { brokerName, topic, queueId } = queue;
    this.#shared.ledger.handled(brokerName, topic, queueId, Number(message.queueOffset), key, !fails);
    if (message.topic !== TOPIC) this.#shared.ledger.violate(`${key} came as topic ${message.topic}`);
    if (!fails) return;
    this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1);
    if (this.#shared.random.chance(0.3)) return "RECONSUME_LATER";
    throw new Error(`The handler of ${key} fails`);
  }

  #keyOf(message: MessageExt): string {
    return message.keys[0] ?? "";
  }
}
