import * as abi from "../../core-as/abi.ts";
import type { MessageBatch } from "../message_batch.ts";
import type { MessageQueue } from "../message.ts";
import { PulledMessage } from "../pulled_message.ts";
import type { Reading } from "../reading.ts";

/**
 * Sound rows of a batch that wait for a handler, in order. A message is made when it is taken: what waits is nothing but rows,
 * and what is handled at once dies young.
 */
export class PendingMessages<T> {
  readonly #batch: MessageBatch;
  readonly #reading: Reading<T>;
  /** The next message, and behind the last one. */
  #row: number;
  #end: number;

  /** Of the rows from `first` to `end`, which begin with a message, those whose status is ROW_OK. */
  constructor(batch: MessageBatch, first: number, end: number, reading: Reading<T>) {
    this.#batch = batch;
    this.#row = first;
    this.#end = end;
    this.#reading = reading;
  }

  get isEmpty(): boolean {
    return this.#row === this.#end;
  }

  take(queue: MessageQueue): PulledMessage<T> {
    const batch = this.#batch, row = this.#row;
    this.#skip();
    return new PulledMessage(batch, row, queue, this.#reading);
  }

  /** They wait for long: a lease must not wait with them. */
  unlease(): void {
    this.#batch.lease?.release();
  }

  /** They are over without having been handled. */
  settle(): void {
    while (!this.isEmpty) {
      // First: with its last message a lease gives the rows back.
      this.#skip();
      this.#batch.lease?.settled();
    }
  }

  /** Goes on to the next message. */
  #skip(): void {
    const batch = this.#batch, end = this.#end;
    let row = this.#row + 1;
    while (row < end && batch.status(row) !== abi.ROW_OK) row++;
    this.#row = row;
  }
}
