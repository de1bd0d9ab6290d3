/** A growing list that can be waited for: deliveries, lines of a child process. */
export class Watch<T> {
  readonly items: T[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(item: T): void {
    this.items.push(item);
    for (const look of [...this.#waiting]) look();
  }

  /** The first item that fits, now or later; rejects with what was missing when the scenario's time is over. */
  first<S extends T>(fits: (item: T) => item is S, what: string): Promise<S>;
  first(fits: (item: T) => boolean, what: string): Promise<T>;
  async first(fits: (item: T) => boolean, what: string): Promise<T> {
    await this.until((items) => items.some(fits), what);
    return this.items.find(fits) as T;
  }

  until(holds: (items: readonly T[]) => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!this.#signal.aborted && !holds(this.items)) return;
        this.#waiting.delete(look);
        this.#signal.removeEventListener("abort", look);
        if (holds(this.items)) resolve();
        else {reject(
            new Error(`waited in vain for ${what}; there are ${this.items.length}`, { cause: this.#signal.reason }),
          );}
      };
      this.#waiting.add(look);
      this.#signal.addEventListener("abort", look);
      look();
    });
  }
}

/** Asks again and again, for conditions that nothing announces. */
export async function poll(signal: AbortSignal, what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    if (signal.aborted) throw new Error(`waited in vain for ${what}`, { cause: signal.reason });
    await pause(50);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
