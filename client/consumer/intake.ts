import * as abi from "../../core-as/abi.ts";
import { type Frame, type Offset, TagFilter } from "../core.ts";
import { FrameError } from "../errors.ts";
import { unwrapBatch } from "../inner_messages.ts";
import type { Instance } from "../instance.ts";
import type { Lease } from "../lease.ts";
import { LeasedMessage } from "../leased_message.ts";
import { leaseBatch, type MessageBatch, ownBatch, type Slabs, walkedBatch } from "../message_batch.ts";
import type { ResolvedPushConsumerOptions } from "../options.ts";
import type { SubscriptionData } from "../protocol/subscription.ts";
import { PulledMessage, type Reading } from "../pulled_message.ts";
import type { ProcessQueue } from "./process_queue.ts";
import { nameOf } from "./queue_broker.ts";

/** What the intakes of one consumer share. */
export interface IntakeContext<T> {
  readonly instance: Instance;
  readonly options: ResolvedPushConsumerOptions<T>;
  readonly slabs: Slabs;
  readonly reading: Reading<T>;
}

/** What one pull brought. */
export interface Taken {
  /** Records that have to be inflated before they can be taken in, and all behind them. */
  readonly rest: MessageBatch | undefined;
  /** The first offset that found no room in the process queue: nothing from there on has been taken in. */
  readonly failed: Offset | undefined;
}

/** The way of pulled records into one process queue: for whom they are, what of them is broken, whose bytes they read from. */
export class Intake<T> {
  readonly #context: IntakeContext<T>;
  readonly #queue: ProcessQueue<T>;
  readonly #tags: readonly string[];
  readonly #filter: TagFilter | undefined;

  constructor(context: IntakeContext<T>, queue: ProcessQueue<T>, subscription: SubscriptionData) {
    this.#context = context;
    this.#queue = queue;
    this.#tags = subscription.tagsSet;
    this.#filter = this.#tags.length === 0 ? undefined : new TagFilter(this.#tags);
  }

  /** Whether this is the intake for a subscription with these tags. */
  isFor({ tagsSet }: SubscriptionData): boolean {
    return tagsSet === this.#tags;
  }

  /** Takes in what a frame brought, inside the read callback: what is needed of it is copied now. */
  take(frame: Frame, lease: Lease | undefined): Taken {
    if (frame.inArena && (this.#filter?.fits ?? true)) return this.#takeFromArena(frame, lease);
    const body = frame.source.subarray(frame.bodyPtr, frame.bodyPtr + frame.bodyLength);
    const batch = walkedBatch(body, this.#context.options.checkCrc);
    return hasBatches(batch) ? { rest: batch, failed: undefined } : { rest: undefined, failed: this.#takeRows(batch) };
  }

  /** Takes in the rest, now that there is time to inflate. Stops when the queue is dropped, or `isOver` says so. */
  async takeRest(rest: MessageBatch, isOver: () => boolean): Promise<Offset | undefined> {
    for (let row = 0; row < rest.count; row++) {
      let failed: Offset | undefined;
      if (rest.status(row) === abi.ROW_OK && rest.kind(row) === abi.ROW_BATCH) {
        const inner = await this.#unwrap(rest, row);
        if (isOver() || this.#queue.isDropped) return undefined;
        if (inner) failed = this.#takeRows(inner);
      } else {
        failed = this.#takeRow(rest, row);
      }
      if (failed !== undefined) return failed;
    }
    return undefined;
  }

  /** The core walks, filters and enters the offsets; here the messages are made. */
  #takeFromArena(frame: Frame, lease: Lease | undefined): Taken {
    const { instance: { core }, options: { checkCrc } } = this.#context;
    const queue = this.#queue;
    const taking = { queue: queue.handle, lowest: queue.nextOffset, tags: this.#filter, checkCrc };
    for (let from = 0; from < frame.bodyLength;) {
      let count = core.takeIn(frame, from, taking);
      if (count === 0) return { rest: undefined, failed: core.failedOffset };
      from = core.walkedTo;
      const last = count - 1;
      const isBatch = core.rowStatus(last) === abi.ROW_OK && core.rowKind(last) === abi.ROW_BATCH;
      const to = core.rowPosition(last) + (isBatch ? 0 : core.rowLength(last));
      if (isBatch) count--;
      this.#addRows(frame, to, count, lease);
      if (isBatch) {
        const body = frame.source.subarray(frame.bodyPtr + to, frame.bodyPtr + frame.bodyLength);
        return { rest: walkedBatch(body, checkCrc), failed: undefined };
      }
    }
    return { rest: undefined, failed: undefined };
  }

  /** Copies the bytes of the rows in the core's table that matter, and makes their messages. `to` is where the bytes end. */
  #addRows(frame: Frame, to: number, count: number, lease: Lease | undefined): void {
    const { instance: { core }, slabs } = this.#context;
    let row = 0;
    while (row < count && !isNotable(core.rowStatus(row))) row++;
    if (row === count) return;
    const from = core.rowPosition(0);
    const batch = lease && leaseBatch(core, frame, from, to, count, lease) ||
      ownBatch(core, frame, from, to, count, slabs);
    let messages = 0;
    for (; row < count; row++) {
      const status = batch.status(row);
      if (status === abi.ROW_OK) {
        this.#queue.add(this.#message(batch, row));
        messages++;
      } else if (isNotable(status)) {
        this.#reportBad(batch, row);
      }
    }
    batch.lease?.add(messages);
  }

  #takeRows(batch: MessageBatch): Offset | undefined {
    for (let row = 0; row < batch.count; row++) {
      const failed = this.#takeRow(batch, row);
      if (failed !== undefined) return failed;
    }
    return undefined;
  }

  /** Does with one row what the core does with those in the arena. Returns the offset when it finds no room. */
  #takeRow(batch: MessageBatch, row: number): Offset | undefined {
    const offset = batch.queueOffset(row), queue = this.#queue;
    if (batch.status(row) !== abi.ROW_OK || offset < 0) {
      this.#reportBad(batch, row);
    } else if (offset >= queue.nextOffset && (this.#tags.length === 0 || this.#tags.includes(batch.tags(row)))) {
      const entered = queue.enter(offset, batch.u32(row, abi.ROW_BODY_LEN));
      if (entered === undefined) return offset;
      if (entered) queue.add(this.#message(batch, row));
    }
    return undefined;
  }

  #message(batch: MessageBatch, row: number): PulledMessage<T> {
    const { reading } = this.#context;
    return batch.lease
      ? new LeasedMessage(batch, row, this.#queue.queue, reading)
      : new PulledMessage(batch, row, this.#queue.queue, reading);
  }

  async #unwrap(batch: MessageBatch, row: number): Promise<MessageBatch | undefined> {
    const { instance, reading } = this.#context;
    try {
      return await unwrapBatch(batch, row, reading);
    } catch (error) {
      const where = `${nameOf(this.#queue.queue)} at offset ${batch.queueOffset(row)}`;
      instance.report(new FrameError(`Cannot unwrap a batch of messages in queue ${where}`, { cause: error }));
      return undefined;
    }
  }

  /** A bad record is reported alone; the others of its answer are delivered. */
  #reportBad(batch: MessageBatch, row: number): void {
    const { queue } = this.#queue, isBadCrc = batch.status(row) === abi.ROW_BAD_CRC;
    const what = isBadCrc ? "does not match its checksum" : "cannot be read";
    const where = isBadCrc ? ` at offset ${batch.queueOffset(row)}` : "";
    const message = `A record of queue ${nameOf(queue)}${where} ${what}`;
    this.#context.instance.report(new FrameError(message, { topic: queue.topic }));
  }
}

/** A message for us, or something to report. */
const isNotable = (status: number): boolean => status !== abi.ROW_FILTERED && status !== abi.ROW_DUPLICATE;

function hasBatches(batch: MessageBatch): boolean {
  for (let row = 0; row < batch.count; row++) {
    if (batch.status(row) === abi.ROW_OK && batch.kind(row) === abi.ROW_BATCH) return true;
  }
  return false;
}
