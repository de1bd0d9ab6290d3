import { retryTopic } from "../../client/protocol/names.ts";

/** One queue of one broker: what lies in it, and how far the group has come. */
interface LedgerQueue {
  readonly name: string;
  /** Message keys by queue offset. */
  readonly keys: string[];
  /** Whether a handler has ended for the message at an offset. */
  readonly handled: boolean[];
  /** Everything below has been checked. */
  checked: number;
  /** The highest offset that was ever committed. */
  committed: number;
}

/** The truth about one cluster and one group: what was stored, handled and committed. */
export class Ledger {
  readonly group: string;
  readonly topic: string;
  /** What must not happen, in the words of whoever reads it. */
  readonly violations: string[] = [];
  /** Handlers that have ended. */
  handlings = 0;
  readonly #queues = new Map<string, LedgerQueue>();
  /** Keys whose send has resolved. */
  readonly #sent = new Set<string>();
  readonly #consumed = new Set<string>();

  constructor(group: string, topic: string) {
    this.group = group;
    this.topic = topic;
  }

  violate(what: string): void {
    if (this.violations.length < 20) this.violations.push(what);
  }

  /** A broker has stored a message in one of its queues. */
  stored(brokerName: string, topic: string, queueId: number, offset: number, key: string): void {
    if (topic !== this.topic && topic !== retryTopic(this.group)) return;
    this.#queue(brokerName, topic, queueId).keys[offset] = key;
  }

  /** A send has resolved: the message must lie where the result says. */
  sent(key: string, brokerName: string, queueId: number, offset: number): void {
    this.#sent.add(key);
    const there = this.#queue(brokerName, this.topic, queueId).keys[offset];
    if (there !== key) this.violate(`send of ${key} resolved, but ${brokerName}/${queueId}@${offset} holds ${there}`);
  }

  /** A handler has ended: it succeeded, or the message is to come again. */
  handled(brokerName: string, topic: string, queueId: number, offset: number, key: string, succeeded: boolean): void {
    const queue = this.#queue(brokerName, topic, queueId);
    if (queue.keys[offset] !== key) this.violate(`${queue.name}@${offset} was handled as ${key}`);
    queue.handled[offset] = true;
    this.handlings++;
    if (succeeded) this.#consumed.add(key);
  }

  /** A broker was told how far the group has come. */
  committed(group: string, brokerName: string, topic: string, queueId: number, offset: number): void {
    if (group !== this.group) return;
    const queue = this.#queue(brokerName, topic, queueId);
    // A member that leaves may set a queue back that it lost meanwhile: its messages come twice, which is allowed.
    queue.committed = Math.max(queue.committed, offset);
    if (offset > queue.keys.length) this.violate(`${queue.name}: ${offset} committed, ${queue.keys.length} stored`);
    for (; queue.checked < Math.min(offset, queue.keys.length); queue.checked++) {
      if (queue.handled[queue.checked]) continue;
      this.violate(`${queue.name}: ${offset} committed, ${queue.keys[queue.checked]} at ${queue.checked} not consumed`);
    }
  }

  /** A client has shut down: its core is as empty as it was at first. */
  closed(who: string, bytes: number): void {
    if (bytes !== 0) this.violate(`${who} has shut down with ${bytes} bytes of its core in use`);
  }

  get isConsumed(): boolean {
    return [...this.#sent].every((key) => this.#consumed.has(key)) && this.#unhandled().length === 0;
  }

  get isCommitted(): boolean {
    return [...this.#queues.values()].every(({ keys, committed }) => keys.length === 0 || committed === keys.length);
  }

  /** When the group has had all the time it needs. */
  checkConsumed(): void {
    for (const key of this.#sent) if (!this.#consumed.has(key)) this.violate(`${key} was sent and never consumed`);
    for (const where of this.#unhandled()) this.violate(`${where} was stored and never handled`);
  }

  /** When the group's members have shut down in peace. */
  checkCommitted(): void {
    for (const { name, keys, committed } of this.#queues.values()) {
      if (keys.length > 0 && committed !== keys.length) {
        this.violate(`${name}: all ${keys.length} consumed, never more than ${committed} committed`);
      }
    }
  }

  #unhandled(): string[] {
    return [...this.#queues.values()].flatMap(({ name, keys, handled }) =>
      keys.flatMap((key, offset) => handled[offset] ? [] : [`${key} at ${name}@${offset}`])
    );
  }

  #queue(brokerName: string, topic: string, queueId: number): LedgerQueue {
    const name = `${topic}/${brokerName}/${queueId}`;
    let queue = this.#queues.get(name);
    if (!queue) this.#queues.set(name, queue = { name, keys: [], handled: [], checked: 0, committed: -1 });
    return queue;
  }
}
