import type { Core, QueueState } from "../core.ts";
import type { MessageQueue } from "../message.ts";
import type { PulledMessage } from "../pulled_message.ts";

/** One queue this consumer holds: what was pulled and has not been consumed. Its offsets lie in the core. */
export class ProcessQueue<T> {
  readonly queue: MessageQueue;
  readonly #core: Core;
  readonly #handle: number;
  readonly #revoked = new AbortController();
  readonly #whenDropped = new Set<() => void>();
  /** Pulled and waiting for a handler, in order. */
  readonly #pending: PulledMessage<T>[] = [];
  #head = 0;
  #dropped = false;
  isPaused = false;
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
    this.#handle = core.openQueue();
  }

  /** For handlers. Fires when the queue is somebody else's now, and on shutdown. */
  get signal(): AbortSignal {
    return this.#revoked.signal;
  }

  /** Runs `task` when the queue is dropped, before the signal fires. Returns what takes it back. */
  whenDropped(task: () => void): () => void {
    this.#whenDropped.add(task);
    return () => void this.#whenDropped.delete(task);
  }

  get isDropped(): boolean {
    return this.#dropped;
  }

  get state(): QueueState {
    return this.#core.queueState(this.#handle);
  }

  /**
   * Enters messages by offset; one that is there already is not entered twice. Throws `OverloadError` when there is no room:
   * then those that do not fit have not been entered.
   */
  put(messages: readonly PulledMessage<T>[], offsets: readonly number[], sizes: readonly number[]): void {
    if (!isRising(offsets, this.state.max)) return this.#putEach(messages, offsets, sizes);
    try {
      this.#core.putOffsets(this.#handle, offsets, sizes);
    } catch (error) {
      this.#core.removeOffsets(this.#handle, offsets);
      throw error;
    }
    for (const message of messages) this.#pending.push(message);
  }

  #putEach(messages: readonly PulledMessage<T>[], offsets: readonly number[], sizes: readonly number[]): void {
    for (const [index, message] of messages.entries()) {
      const added = this.#core.putOffsets(this.#handle, [offsets[index]!], [sizes[index]!]);
      if (added === 1) this.#pending.push(message);
    }
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

  /** To be handled again. */
  putBack(message: PulledMessage<T>): void {
    this.#pending.push(message);
  }

  /** Consumed: the offset to commit, -1 when there is nothing to commit. */
  remove(offset: number): number {
    return this.#dropped ? -1 : this.#core.removeOffsets(this.#handle, [offset]);
  }

  /** Somebody else's now: nothing of it is processed any more. */
  drop(reason: unknown): void {
    if (this.#dropped) return;
    this.#dropped = true;
    this.#pending.length = 0;
    this.#head = 0;
    this.#core.closeQueue(this.#handle);
    for (const task of this.#whenDropped) task();
    this.#whenDropped.clear();
    this.#revoked.abort(reason);
  }
}

/** Whether all offsets are new because they rise from above `last` on. */
function isRising(offsets: readonly number[], last: number): boolean {
  return offsets.every((offset, index) => offset > (index === 0 ? last : offsets[index - 1]!));
}
