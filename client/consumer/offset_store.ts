import type { Offset } from "../core.ts";
import { brokerError, type Instance } from "../instance.ts";
import type { MessageQueue } from "../message.ts";
import { ResponseCode } from "../protocol/codes.ts";
import { brokerAddr, nameOf } from "./queue_broker.ts";
import { queryOffsetRequest, readSafeOffset, updateOffsetRequest } from "../protocol/offsets.ts";

const QUERY_TIMEOUT = 5_000;
const PERSIST_TIMEOUT = 3_000;

/** Offsets of one group, kept at the brokers (`RemoteBrokerOffsetStore`). In between they wait here. */
export class BrokerOffsetStore {
  readonly #instance: Instance;
  readonly #consumerGroup: string;
  readonly #offsets = new Map<MessageQueue, Offset>();
  /** What the broker has been told: an offset that has not moved is not sent again. */
  readonly #persisted = new Map<MessageQueue, Offset>();
  /** Topics at brokers for which the group has an offset there. */
  readonly #known = new Set<string>();
  /** Commits that wait for their answer. */
  readonly #underway = new Map<MessageQueue, Promise<void>>();

  constructor(instance: Instance, consumerGroup: string) {
    this.#instance = instance;
    this.#consumerGroup = consumerGroup;
  }

  /** Not yet persisted or not: the newest that is known here, -1 for none. */
  current(queue: MessageQueue): Offset {
    return this.#offsets.get(queue) ?? -1;
  }

  /** What the group has committed; undefined when nothing. Throws when the broker cannot say. */
  async read(queue: MessageQueue): Promise<number | undefined> {
    const addr = brokerAddr(this.#instance, queue, true);
    const request = queryOffsetRequest({ consumerGroup: this.#consumerGroup, ...queue });
    const response = await this.#instance.remoting.invoke(addr, request, { timeout: QUERY_TIMEOUT });
    if (response.code === ResponseCode.QUERY_NOT_FOUND) return undefined;
    if (response.code !== ResponseCode.SUCCESS) {
      throw brokerError(`Cannot read the offset of queue ${nameOf(queue)}`, response, addr, queue);
    }
    const offset = readSafeOffset(response);
    if (offset < 0) return undefined;
    this.#persisted.set(queue, offset);
    if (offset > 0) this.#known.add(tableOf(queue)); // a broker may say 0 without having anything
    return offset;
  }

  update(queue: MessageQueue, offset: Offset, increaseOnly: boolean): void {
    // A record may say anything; a group that is told such an offset would not get a message of the queue again.
    if (typeof offset !== "number" || offset < 0) return;
    if (increaseOnly && offset <= this.current(queue)) return;
    this.#offsets.set(queue, offset);
  }

  /** What the brokers were told is not believed any more: the next run tells them again. */
  sayAgain(): void {
    this.#persisted.clear();
    this.#known.clear();
  }

  /** Sends what has moved, and waits until the brokers have it. Failures are reported; the next run tries again. */
  async persist(queues: Iterable<MessageQueue>, timeout = PERSIST_TIMEOUT): Promise<void> {
    const tables = new Map<string, MessageQueue[]>();
    for (const queue of queues) {
      const offset = this.#offsets.get(queue);
      if (offset === undefined || this.#persisted.get(queue) === offset) continue;
      const table = tableOf(queue);
      tables.set(table, [...tables.get(table) ?? [], queue]);
    }
    await Promise.all([...tables].map(([table, moved]) => this.#persistTogether(table, moved, timeout)));
  }

  /**
   * A broker makes a table for the first offset of a group and a topic, and two commits that both find none make two: one
   * of the offsets is lost although it was acknowledged. So the first commit goes alone.
   */
  async #persistTogether(table: string, queues: MessageQueue[], timeout: number): Promise<void> {
    const { clock } = this.#instance.host;
    const end = clock.monotonic() + timeout;
    while (!this.#known.has(table) && queues.length > 0) await this.#persist(queues.shift()!, end - clock.monotonic());
    await Promise.all(queues.map((queue) => this.#persist(queue, end - clock.monotonic())));
  }

  /** One commit of a queue at a time: a broker may take a later one up first. */
  async #persist(queue: MessageQueue, timeout: number): Promise<void> {
    const { clock } = this.#instance.host;
    const end = clock.monotonic() + timeout;
    for (let under = this.#underway.get(queue); under; under = this.#underway.get(queue)) await under;
    const offset = this.#offsets.get(queue);
    if (offset === undefined || this.#persisted.get(queue) === offset) return;
    const commit = this.#commit(queue, offset, end - clock.monotonic());
    this.#underway.set(queue, commit);
    await commit;
    this.#underway.delete(queue);
  }

  /** Never rejects. */
  async #commit(queue: MessageQueue, offset: Offset, timeout: number): Promise<void> {
    try {
      const addr = brokerAddr(this.#instance, queue);
      const request = updateOffsetRequest({ consumerGroup: this.#consumerGroup, ...queue }, offset);
      const response = await this.#instance.remoting.invoke(addr, request, {
        timeout: Math.max(1, Math.min(timeout, PERSIST_TIMEOUT)),
      });
      if (response.code !== ResponseCode.SUCCESS) {
        throw brokerError(`Cannot commit offset ${offset} of queue ${nameOf(queue)}`, response, addr, queue);
      }
      this.#persisted.set(queue, offset);
      this.#known.add(tableOf(queue));
    } catch (error) {
      this.#instance.report(error);
    }
  }

  /** Forgets a queue that is no longer ours: whoever has it now moves its offset. */
  remove(queue: MessageQueue): void {
    this.#offsets.delete(queue);
    this.#persisted.delete(queue);
  }
}

const tableOf = ({ topic, brokerName }: MessageQueue): string => `${brokerName}/${topic}`;
