import { bytes } from "../../client/body_codec.ts";
import { isRocketMQError } from "../../client/errors.ts";
import { createProducerOn } from "../../client/shared_client.ts";
import type { Producer } from "../../client/producer/producer.ts";
import type { Random } from "../support/sim.ts";
import type { Ledger } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import { GROUP, TOPIC } from "./run_seed.ts";

export interface Shared {
  readonly random: Random;
  readonly ledger: Ledger;
  readonly namesrvAddr: string;
}

/** MiB of a client's core: a few connections and process queues. */
export const CORE_MEMORY = 8;
const MESSAGES = 20;
const BURST = 5;
/** Virtual ms until a connection that could not be made is tried again, at the latest. */
const RECONNECTED = 12_000;
/** The same when connections may be half open: 60 s of silence come first. */
const NOTICED = 90_000;
/** Sends over a half-open connection until it is closed. */
const TRIES = 3;

/** One producer that sends in bursts, while its connections are cut under it. */
export class Producers {
  readonly machine: Machine;
  readonly #shared: Shared;
  readonly #producer: Producer;
  /** Bytes that its core used before anything happened. */
  readonly #bytesAtFirst: number;
  /** Sends that were made. */
  count = 0;

  constructor(shared: Shared & { readonly machine: Machine }) {
    this.#shared = shared;
    this.machine = shared.machine;
    this.#producer = createProducerOn(this.machine.host, {
      namesrvAddr: shared.namesrvAddr,
      producerGroup: `${GROUP}_producer`,
      serializeType: shared.random.chance(0.5) ? "JSON" : "ROCKETMQ",
      coreMemory: CORE_MEMORY,
      codec: bytes,
    });
    this.#bytesAtFirst = this.#producer.stats().coreBytesInUse;
  }

  async run(): Promise<void> {
    const { random } = this.#shared;
    const sends: Promise<void>[] = [];
    while (this.count < MESSAGES) {
      for (let i = 0; i < BURST; i++) sends.push(this.#send(`k${this.count++}`));
      // Connections are cut while answers are under way; now and then also while the client starts.
      const isStarting = this.count === BURST;
      for (let cuts = 0; cuts < 2; cuts++) {
        await this.machine.sleep(random.next() * 6);
        if (random.chance(isStarting ? 0.05 : 0.85)) this.machine.cut();
      }
      await this.machine.sleep(random.next() * 600);
    }
    await Promise.all(sends);
  }

  /**
   * When nothing goes wrong any more, every send resolves. If connections may be `silent`, the first may still run into
   * one that nobody has used since.
   */
  async runInPeace(silent: boolean): Promise<void> {
    await this.machine.sleep(silent ? NOTICED : RECONNECTED);
    for (let i = 1; silent && i < TRIES; i++) await this.#send(`k${this.count++}`);
    await Promise.all(Array.from({ length: BURST }, () => this.#sendOne(`k${this.count++}`)));
  }

  async shutdown(): Promise<void> {
    await this.#producer.shutdown();
    this.#shared.ledger.closed("the producer", this.#producer.stats().coreBytesInUse - this.#bytesAtFirst);
  }

  async #send(keys: string): Promise<void> {
    try {
      await this.#sendOne(keys);
    } catch (error) {
      if (!isRocketMQError(error)) throw error;
    }
  }

  async #sendOne(keys: string): Promise<void> {
    const { random, ledger } = this.#shared;
    const body = new Uint8Array(random.chance(0.1) ? 5_000 + random.below(5_000) : 1 + random.below(200)).fill(7);
    const { queue, queueOffset } = await this.#producer.send({ topic: TOPIC, keys, body });
    ledger.sent(keys, queue.brokerName, queue.queueId, Number(queueOffset));
  }
}
