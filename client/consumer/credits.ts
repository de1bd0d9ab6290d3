/** Bytes of the arena that one outstanding pull may need: the broker's limit per answer. */
const CREDIT_BYTES = 262_144;
const MIB = 1_048_576;
/** Of the credits, one in so many is never held by a pull that waits at its broker; at least one. */
const RESERVED = 8;

/** Told whether its pull may wait at the broker until a message comes. */
type Task = (mayWait: boolean) => void;

/**
 * Room in the arena, promised before it is needed: a pull holds a credit until its answer has been copied out. Whoever
 * finds none is called when one comes back, in order.
 *
 * A pull that finds nothing waits at the broker, with its credit, until a message comes or its time is over. If all credits
 * could wait like that, queues without one would stand still meanwhile. So the last few go to pulls that do not wait: they
 * are back at once, and as many queues as there may be share them.
 */
export class Credits {
  #free: number;
  /** So many more pulls may wait at a broker. */
  #mayWait: number;
  readonly #waiting: Task[] = [];

  /** `coreMemory` in MiB; half of it is lent. */
  constructor(coreMemory: number) {
    this.#free = Math.max(2, Math.floor(coreMemory * MIB / 2 / CREDIT_BYTES));
    this.#mayWait = this.#free - Math.max(1, Math.floor(this.#free / RESERVED));
  }

  /** Calls `task` with a credit taken, at once or later. */
  take(task: Task): void {
    if (this.#free === 0) {
      this.#waiting.push(task);
    } else {
      this.#free--;
      this.#lend(task);
    }
  }

  /** `mayWait` is what its taker was told. */
  give(mayWait: boolean): void {
    if (mayWait) this.#mayWait++;
    const next = this.#waiting.shift();
    if (next) this.#lend(next);
    else this.#free++;
  }

  #lend(task: Task): void {
    const mayWait = this.#mayWait > 0;
    if (mayWait) this.#mayWait--;
    task(mayWait);
  }
}
