import type { Core } from "./core.ts";
import { ArgumentError } from "./errors.ts";
import type { MessageBatch } from "./message_batch.ts";

/**
 * Blocks of the arena with the messages of one pull answer, until the last of these is settled. The pull's credit is out for
 * as long.
 */
export class Lease {
  readonly #core: Core;
  readonly #blocks: number[] = [];
  readonly #batches: MessageBatch[] = [];
  readonly #ended: () => void;
  #messages = 0;
  #isGranted = false;
  #hasEnded = false;
  /** Changes when the lease ends: what was in the blocks is somebody else's then. */
  generation = 0;

  /** `ended` is called once, when the blocks are free again. */
  constructor(core: Core, ended: () => void) {
    this.#core = core;
    this.#ended = ended;
  }

  /** A block that is freed when the lease ends, and the batch in it. */
  hold(block: number, batch?: MessageBatch): void {
    this.#blocks.push(block);
    if (batch) this.#batches.push(batch);
  }

  /** So many more messages read from the blocks. */
  add(messages: number): void {
    this.#messages += messages;
  }

  /** All messages have been added: from now on the last one that is settled ends the lease. */
  grant(): void {
    this.#isGranted = true;
    if (this.#messages === 0) this.#end();
  }

  /** One of the messages is settled. */
  settled(): void {
    this.#messages--;
    if (this.#messages === 0 && this.#isGranted) this.#end();
  }

  /** Ends the lease with messages that nobody settles soon: they read from memory of their own from now on. */
  release(): void {
    if (this.#hasEnded) return;
    for (const batch of this.#batches) batch.moveOut();
    this.#end();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.generation++;
    for (const block of this.#blocks) this.#core.freeBlock(block);
    this.#ended();
  }
}

export const settledError = (): ArgumentError =>
  new ArgumentError("Cannot read a settled message: call message.retain() before it is settled");
