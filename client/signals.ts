/**
 * Who waits for which `AbortSignal`, with one listener on each: a runtime warns of a leak when a signal has more than ten,
 * and one signal for many calls is ordinary use.
 */
export class Signals {
  readonly #tasks = new Map<AbortSignal, Set<() => void>>();

  /** Runs `task` when `signal` fires, which it has not yet. Returns what takes that back. */
  listen(signal: AbortSignal, task: () => void): () => void {
    const tasks = this.#tasks.get(signal) ?? this.#open(signal);
    // The same function may wait twice.
    const own = (): void => task();
    tasks.add(own);
    return () => {
      if (tasks.delete(own) && tasks.size === 0) this.#close(signal);
    };
  }

  #open(signal: AbortSignal): Set<() => void> {
    const tasks = new Set<() => void>();
    signal.addEventListener("abort", this.#fired);
    this.#tasks.set(signal, tasks);
    return tasks;
  }

  #close(signal: AbortSignal): void {
    signal.removeEventListener("abort", this.#fired);
    this.#tasks.delete(signal);
  }

  readonly #fired = ({ currentTarget }: Event): void => {
    const signal = currentTarget as AbortSignal;
    const tasks = this.#tasks.get(signal);
    const due = [...tasks ?? []];
    tasks?.clear();
    this.#close(signal);
    for (const task of due) task();
  };
}
