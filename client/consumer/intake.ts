import * as abi from "../../core-as/abi.ts";
import { type Frame, type Offset, TagFilter } from "../core.ts";
import { FrameError, type RocketMQError } from "../errors.ts";
import { unwrapBatch } from "../inner_messages.ts";
import type { Instance } from "../instance.ts";
import type { Lease } from "../lease.ts";
import { type Bounds, leaseBatch, type MessageBatch, ownBatch, type Slabs, walkedBatch } from "../message_batch.ts";
import type { ResolvedPushConsumerOptions } from "../options.ts";
import type { SubscriptionData } from "../protocol/subscription.ts";
import type { Reading } from "../reading.ts";
import { PendingMessages } from "./pending_messages.ts";
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

/** What came of the rest. */
export interface TakenRest {
  readonly failed: Offset | undefined;
  /** Nothing from this offset on has been looked at: so much had been inflated by then. */
  readonly stopped: Offset | undefined;
}

/**
 * So many bytes are inflated of one answer; what lies behind is pulled again when the queue has room. An answer of 256 KiB
 * may hold a gigabyte.
 */
const INFLATED_MAX = 33_554_432;

/** No row. */
const NONE = -1;

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
  take(frame: Frame, bounds: Bounds, lease: Lease | undefined): Taken {
    if (frame.inArena && (this.#filter?.fits ?? true)) return this.#takeFromArena(frame, bounds, lease);
    const body = frame.source.subarray(frame.bodyPtr, frame.bodyPtr + frame.bodyLength);
    const batch = walkedBatch(body, this.#context.options.checkCrc);
    batch.bounds = bounds;
    return hasBatches(batch) ? { rest: batch, failed: undefined } : { rest: undefined, failed: this.#takeRows(batch) };
  }

  /** Takes in the rest, now that there is time to inflate. Stops when the queue is dropped, or `isOver` says so. */
  async takeRest(rest: MessageBatch, isOver: () => boolean): Promise<TakenRest> {
    let inflated = 0;
    for (let row = 0; row < rest.count; row++) {
      let failed: Offset | undefined;
      if (rest.status(row) === abi.ROW_OK && rest.kind(row) === abi.ROW_BATCH) {
        if (inflated >= INFLATED_MAX) return { failed: undefined, stopped: rest.offset(row) };
        const inner = await this.#unwrap(rest, row);
        if (isOver() || this.#queue.isDropped) break;
        failed = inner instanceof FrameError ? this.#takeUnreadable(rest, row, inner) : this.#takeRows(inner);
        if (!(inner instanceof FrameError)) inflated += inner.bytes.length;
      } else {
        failed = this.#takeRow(rest, row);
      }
      if (failed !== undefined) return { failed, stopped: undefined };
    }
    return { failed: undefined, stopped: undefined };
  }

  /** The core walks, filters and enters the offsets; here the messages are made. */
  #takeFromArena(frame: Frame, bounds: Bounds, lease: Lease | undefined): Taken {
    const { instance: { core }, options: { checkCrc }, reading } = this.#context;
    const queue = this.#queue, noteAscii = reading.readText !== undefined;
    const taking = { queue: queue.handle, lowest: queue.nextOffset, tags: this.#filter, checkCrc, noteAscii };
    for (let from = 0; from < frame.bodyLength;) {
      let count = core.takeIn(frame, from, taking);
      if (count === 0) return { rest: undefined, failed: core.failedOffset };
      from = core.walkedTo;
      const last = count - 1;
      const isBatch = core.rowStatus(last) === abi.ROW_OK && core.rowKind(last) === abi.ROW_BATCH;
      const to = core.rowPosition(last) + (isBatch ? 0 : core.rowLength(last));
      if (isBatch) count--;
      const failed = this.#addRows(frame, to, count, bounds, lease);
      if (failed !== undefined || queue.isDropped) return { rest: undefined, failed };
      if (isBatch) {
        const rest = walkedBatch(frame.source.subarray(frame.bodyPtr + to, frame.bodyPtr + frame.bodyLength), checkCrc);
        rest.bounds = bounds;
        return { rest, failed: undefined };
      }
    }
    return { rest: undefined, failed: undefined };
  }

  /**
   * Copies the bytes of the rows in the core's table that matter, and makes their messages. `to` is where the bytes end.
   * Returns the offset of an unreadable one that finds no room.
   */
  #addRows(
    frame: Frame,
    to: number,
    count: number,
    bounds: Bounds,
    lease: Lease | undefined,
  ): Offset | undefined {
    const { instance: { core }, slabs } = this.#context;
    let row = 0;
    while (row < count && !isNotable(core.rowStatus(row))) row++;
    if (row === count) return undefined;
    const from = core.rowPosition(0);
    const batch = lease && leaseBatch(core, frame, from, to, count, lease) ||
      ownBatch(core, frame, from, to, count, slabs);
    batch.bounds = bounds;
    let messages = 0, first = NONE, failed: Offset | undefined;
    for (; row < count; row++) {
      const status = batch.status(row);
      if (status === abi.ROW_OK) {
        messages++;
        if (first === NONE) first = row;
      } else if (isNotable(status)) {
        // One whose body cannot be read waits where it stands. Whoever hears of it may give the queue up: by then those before
        // it have been counted.
        this.#add(batch, first, row, messages);
        first = NONE;
        messages = 0;
        failed ??= this.#takeBad(batch, row);
      }
    }
    this.#add(batch, first, count, messages);
    return failed;
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
    if (batch.status(row) !== abi.ROW_OK || offset < 0) return this.#takeBad(batch, row);
    if (offset >= queue.nextOffset && this.#isWanted(batch, row)) {
      const entered = queue.enter(offset, batch.u32(row, abi.ROW_BODY_LEN));
      if (entered === undefined) return offset;
      if (entered) this.#add(batch, row, row + 1, 1);
    }
    return undefined;
  }

  #isWanted(batch: MessageBatch, row: number): boolean {
    return this.#tags.length === 0 || this.#tags.includes(batch.tags(row));
  }

  /**
   * A bad record is reported alone; the others of its answer are delivered. One that is sound but for its body is handed
   * over too: its handler fails when it reads that, so that the broker is asked for it again, and keeps it at last.
   */
  #takeBad(batch: MessageBatch, row: number): Offset | undefined {
    const { queue, nextOffset } = this.#queue, { topic } = queue;
    const offset = batch.queueOffset(row);
    if (batch.status(row) !== abi.ROW_BAD_CRC || offset < 0) {
      this.#context.instance.report(new FrameError(`A record of queue ${nameOf(queue)} cannot be read`, { topic }));
      return undefined;
    }
    // The tags of an inner batch are those of its elements.
    if (batch.kind(row) !== abi.ROW_BATCH && (offset < nextOffset || !this.#isWanted(batch, row))) return undefined;
    const what = `A record of queue ${nameOf(queue)} at offset ${offset} does not match its checksum`;
    return this.#takeUnreadable(batch, row, new FrameError(what, { topic }));
  }

  /** Makes a message whose body is an error. Returns the offset when it finds no room. */
  #takeUnreadable(batch: MessageBatch, row: number, error: RocketMQError): Offset | undefined {
    const queue = this.#queue, offset = batch.queueOffset(row);
    const entered = queue.enter(offset, batch.u32(row, abi.ROW_BODY_LEN));
    if (entered === undefined) return offset;
    if (entered) {
      this.#context.instance.report(error);
      const alone = batch.alone(row);
      alone.unreadable = error;
      this.#add(alone, 0, 1, 1);
    }
    return undefined;
  }

  /** The messages in these rows wait from now on; the first row is one of them. */
  #add(batch: MessageBatch, first: number, end: number, messages: number): void {
    if (first === NONE) return;
    batch.lease?.add(messages);
    this.#queue.add(new PendingMessages(batch, first, end, this.#context.reading));
  }

  /** The messages of an inner batch, or why there are none. */
  async #unwrap(batch: MessageBatch, row: number): Promise<MessageBatch | FrameError> {
    try {
      const inner = await unwrapBatch(batch, row, this.#context.reading);
      inner.bounds = batch.bounds;
      return inner;
    } catch (cause) {
      const { queue } = this.#queue, where = `${nameOf(queue)} at offset ${batch.queueOffset(row)}`;
      return new FrameError(`Cannot unwrap a batch of messages in queue ${where}`, { cause, topic: queue.topic });
    }
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
