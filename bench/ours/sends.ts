// The one place where the benchmark calls `send()`, and what its frames cost without it.
import { Core, type Frame } from "../../client/core.ts";
import type { SendResult } from "../../client/message.ts";
import type { Producer } from "../../client/producer/producer.ts";
import { sendInput } from "../inputs/send.ts";
import { CannedPeer } from "./canned_host.ts";
import { cannedProducer } from "./canned_producer.ts";
import { coreModule } from "./core_module.ts";
import { SendFrames } from "./send_frames.ts";

/** A started producer whose broker is in memory. */
export class Sends {
  readonly #producer: Producer;

  private constructor(producer: Producer) {
    this.#producer = producer;
  }

  static async open(): Promise<Sends> {
    const producer = cannedProducer();
    await producer.start();
    return new Sends(producer);
  }

  send(key: string, body: Uint8Array): Promise<SendResult> {
    return this.#producer.send({ topic: sendInput.topic, tags: sendInput.tags, keys: key, body });
  }

  close(): Promise<void> {
    return this.#producer.shutdown();
  }
}

/** The frames of as many sends, there and back: encoded, answered by the same peer, and read. */
export class SendsWithoutProducer {
  readonly #frames = new SendFrames(sendInput, "ROCKETMQ");
  readonly #peer = new CannedPeer();
  readonly #core = new Core(coreModule, 16);
  readonly #connection = this.#core.openConnection();
  #opaque = 0;
  #answers = 0;

  turn(calls: number, key: (call: number) => string, body: Uint8Array): number {
    this.#answers = 0;
    this.#frames.reset();
    for (let call = 0; call < calls; call++) {
      this.#opaque = (this.#opaque + 1) & 0x7fffffff;
      if (!this.#frames.write(this.#opaque, call % sendInput.queues, key(call), body)) {
        throw new Error("The frames of a turn do not fit a segment");
      }
    }
    const length = this.#peer.answer([this.#frames.core.segmentBytes(this.#frames.segment)]);
    this.#core.room(this.#connection).set(this.#peer.answers.subarray(0, length));
    this.#core.feed(this.#connection, length, this.#count);
    return this.#answers;
  }

  readonly #count = (frame: Frame): void => {
    if (frame.code === 0) this.#answers++;
  };
}
