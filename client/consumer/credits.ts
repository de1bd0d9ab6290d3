/** Bytes of the arena that one outstanding pull may need: the broker's limit per answer. */
const CREDIT_BYTES = 262_144;
const MIB = 1_048_576;

/**
 * Room in the arena, promised before it is needed: a pull holds a credit until its answer has been copied out. Whoever
 * finds none is called when one comes back, in order.
 */
export class Credits {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** `coreMemory` in MiB; half of it is lent. */
  constructor(coreMemory: number) {
    this.#free = Math.max(1, Math.floor(coreMemory * MIB / 2 / CREDIT_BYTES));
  }

  /** Calls `task` with a credit taken, at once or later. */
  take(task: () => void): void {
    if (this.#free > 0) {
      this.#free--;
      task();
    } else {
      this.#waiting.push(task);
    }
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}
