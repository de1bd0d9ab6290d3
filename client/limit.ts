import type { Clock } from "./host.ts";
import type { Signals } from "./signals.ts";

/** Largest delay of a timer, ms. */
export const TIMER_MAX = 2 ** 31 - 1;

/** What bounds a wait: whatever comes first. */
export interface Limit {
  /** ms; Infinity: none. */
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
  /** Makes the error of a wait whose time is over. */
  readonly late: () => Error;
}

/**
 * Settles with `work`, unless the limit comes first: then it rejects with `late`'s error or with the signal's reason. `work`
 * itself goes on: whoever gives up undoes it.
 */
export function orGiveUp<T>(
  clock: Clock,
  signals: Signals,
  work: Promise<T>,
  { timeout, signal, late }: Limit,
): Promise<T> {
  if (signal?.aborted) {
    work.catch(() => {}); // nobody waits for it any more
    return Promise.reject(signal.reason);
  }
  return new Promise<T>((resolve, reject) => {
    const give = (error: unknown): void => {
      end();
      reject(error);
    };
    const end = (): void => {
      timer.cancel();
      unlisten?.();
    };
    const timer = clock.setTimer(Math.max(0, Math.min(timeout, TIMER_MAX)), () => give(late()));
    const unlisten = signal && signals.listen(signal, () => give(signal.reason));
    work.finally(end).then(resolve, reject);
  });
}
