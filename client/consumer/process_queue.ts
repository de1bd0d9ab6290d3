import type { Core, Offset, QueueState } from "../core.ts";
import { OverloadError } from "../errors.ts";
import type { MessageQueue } from "../message.ts";
import type { PulledMessage } from "../pulled_message.ts";
import type { PendingMessages } from "./pending_messages.ts";

/** No offset. */
const NONE = -1;

/** One queue this consumer holds: what was pulled and has not been consumed. Its offsets lie in the core. */
export class ProcessQueue<T> {
  readonly queue: MessageQueue;
  readonly #core: Core;
  /** The queue's name in the core. */
  readonly handle: number;
  /** For handlers that have asked. */
  readonly #signals = new Set<AbortController>();
  readonly #whenDropped = new Set<() => void>();
  /** To be handled again, before anything that has not been handled yet. */
  readonly #again: PulledMessage<T>[] = [];
  /** Pulled and waiting for a handler, in order; those before `#head` are over. */
  readonly #pending: PendingMessages<T>[] = [];
  #head = 0;
  /** Runs of offsets that are consumed: where they begin, and how many each has. */
  #firsts: Offset[] = [];
  #counts: number[] = [];
  /** The offset that would go on with the last run. */
  #next: Offset = NONE;
  #dropped = false;
  #reason: unknown;
  /** Where the next pull starts. */
  nextOffset: number;
  /** Broker to ask: 0 is the master. */
  brokerId = 0;
  /** When the last pull was sent, ms of the monotonic clock. */
  lastPull = 0;

  constructor(core: Core, queue: MessageQueue, nextOffset: number) {
    this.#core = core;
    this.queue = queue;
    this.nextOffset = nextOffset;
    this.handle = core.openQueue();
  }

  /** For one handler: aborted when the queue is somebody else's now, and on shutdown, unless it is closed before. */
  openSignal(): AbortController {
    const controller = new AbortController();
    if (this.#dropped) controller.abort(this.#reason);
    else this.#signals.add(controller);
    return controller;
  }

  closeSignal(controller: AbortController): void {
    this.#signals.delete(controller);
  }

  /** Runs `task` when the queue is dropped, before the signals fire. Returns what takes it back. */
  whenDropped(task: () => void): () => void {
    this.#whenDropped.add(task);
    return () => void this.#whenDropped.delete(task);
  }

  get isDropped(): boolean {
    return this.#dropped;
  }

  get state(): QueueState {
    return this.#core.queueState(this.handle);
  }

  /** Enters an offset. False when it is not for us: it was there already; undefined when there is no room for it. */
  enter(offset: Offset, bytes: number): boolean | undefined {
    if (this.#dropped) return false;
    try {
      return this.#core.putOffsets(this.handle, [offset], [bytes]) === 1;
    } catch (error) {
      if (error instanceof OverloadError) return undefined;
      throw error;
    }
  }

  /** Messages whose offsets have been entered: they wait for a handler, unless the queue has been dropped meanwhile. */
  add(messages: PendingMessages<T>): void {
    if (this.#dropped) messages.settle();
    else this.#pending.push(messages);
  }

  get hasPending(): boolean {
    return this.#again.length > 0 || this.#head < this.#pending.length;
  }

  take(): PulledMessage<T> | undefined {
    if (this.#again.length > 0) return this.#again.shift();
    const messages = this.#pending[this.#head];
    if (!messages) return undefined;
    const message = messages.take(this.queue);
    if (messages.isEmpty) this.#leaveFirst();
    return message;
  }

  #leaveFirst(): void {
    this.#head++;
    if (this.#head === this.#pending.length) {
      this.#pending.length = 0;
      this.#head = 0;
    } else if (this.#head >= 1_024) {
      this.#pending.splice(0, this.#head);
      this.#head = 0;
    }
  }

  /** What waits here waits for long: it gives the room back that was leased for it. */
  unlease(): void {
    for (const message of this.#again) message.unlease();
    for (let i = this.#head; i < this.#pending.length; i++) this.#pending[i]!.unlease();
  }

  /** To be handled again. */
  putBack(message: PulledMessage<T>): void {
    this.#again.push(message);
  }

  /** Consumed in this turn, to be removed with the others of it. True for the first. */
  finish(offset: Offset): boolean {
    const counts = this.#counts, isFirst = counts.length === 0;
    if (offset === this.#next) counts[counts.length - 1]!++;
    else {
      this.#firsts.push(offset);
      counts.push(1);
    }
    this.#next = typeof offset === "number" ? offset + 1 : NONE;
    return isFirst;
  }

  /** Removes all that are finished; see `remove`. */
  removeFinished(): Offset {
    const firsts = this.#firsts, counts = this.#counts;
    this.#firsts = [];
    this.#counts = [];
    this.#next = NONE;
    return this.#dropped ? NONE : this.#core.removeRuns(this.handle, firsts, counts);
  }

  /** Consumed: the offset to commit, -1 when there is nothing to commit. */
  remove(offset: Offset): Offset {
    return this.#dropped ? NONE : this.#core.removeOffset(this.handle, offset);
  }

  /** Somebody else's now: nothing of it is processed any more. */
  drop(reason: unknown): void {
    if (this.#dropped) return;
    this.#dropped = true;
    this.#reason = reason;
    for (const message of this.#again) message.settle();
    for (let i = this.#head; i < this.#pending.length; i++) this.#pending[i]!.settle();
    this.#again.length = 0;
    this.#pending.length = 0;
    this.#head = 0;
    this.#core.closeQueue(this.handle);
    for (const task of this.#whenDropped) task();
    this.#whenDropped.clear();
    const signals = [...this.#signals];
    this.#signals.clear();
    for (const each of signals) each.abort(reason);
  }
}
