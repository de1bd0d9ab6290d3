import type { Core, Offset, QueueState } from "../core.ts";
import { OverloadError } from "../errors.ts";
import type { MessageQueue } from "../message.ts";
import type { PulledMessage } from "../pulled_message.ts";

/** One queue this consumer holds: what was pulled and has not been consumed. Its offsets lie in the core. */
export class ProcessQueue<T> {
  readonly queue: MessageQueue;
  readonly #core: Core;
  /** The queue's name in the core. */
  readonly handle: number;
  /** For handlers that have asked. */
  readonly #signals = new Set<AbortController>();
  readonly #whenDropped = new Set<() => void>();
  /** Pulled and waiting for a handler, in order. */
  readonly #pending: PulledMessage<T>[] = [];
  #head = 0;
  #finished: Offset[] = [];
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

  /** Enters an offset. False when it was there already, undefined when there is no room for it. */
  enter(offset: Offset, bytes: number): boolean | undefined {
    try {
      return this.#core.putOffsets(this.handle, [offset], [bytes]) === 1;
    } catch (error) {
      if (error instanceof OverloadError) return undefined;
      throw error;
    }
  }

  /** A message whose offset has been entered: it waits for a handler. */
  add(message: PulledMessage<T>): void {
    this.#pending.push(message);
  }

  get hasPending(): boolean {
    return this.#head < this.#pending.length;
  }

  take(): PulledMessage<T> | undefined {
    const message = this.#pending[this.#head];
    if (!message) return undefined;
    this.#head++;
    if (this.#head === this.#pending.length) {
      this.#pending.length = 0;
      this.#head = 0;
    } else if (this.#head >= 1_024) {
      this.#pending.splice(0, this.#head);
      this.#head = 0;
    }
    return message;
  }

  /** What waits here waits for long: it gives the room back that was leased for it. */
  unlease(): void {
    for (let i = this.#head; i < this.#pending.length; i++) this.#pending[i]!.unlease();
  }

  /** To be handled again. */
  putBack(message: PulledMessage<T>): void {
    this.#pending.push(message);
  }

  /** Consumed in this turn, to be removed with the others of it. True for the first. */
  finish(offset: Offset): boolean {
    return this.#finished.push(offset) === 1;
  }

  /** Removes all that are finished; see `remove`. */
  removeFinished(): Offset {
    const finished = this.#finished;
    this.#finished = [];
    return this.remove(finished);
  }

  /** Consumed: the offset to commit, -1 when there is nothing to commit. */
  remove(offsets: readonly Offset[]): Offset {
    if (this.#dropped) return -1;
    return offsets.length === 1
      ? this.#core.removeOffset(this.handle, offsets[0]!)
      : this.#core.removeOffsets(this.handle, offsets);
  }

  /** Somebody else's now: nothing of it is processed any more. */
  drop(reason: unknown): void {
    if (this.#dropped) return;
    this.#dropped = true;
    this.#reason = reason;
    for (let i = this.#head; i < this.#pending.length; i++) this.#pending[i]!.settle();
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
