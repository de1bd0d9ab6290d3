/** A connection on which calls wait and no byte comes for so long, in ms, is given up. */
export const SILENCE_MAX = 60_000;

/**
 * Whether a connection is half open: its peer is gone and nobody said so. Two signs: two timeouts in a row, or 60 s
 * without a byte while calls wait. No option of the operating system is needed for it.
 */
export class Pulse {
  #silentSince = 0;
  #bytes = 0;
  #bytesAtTimeout = -1;
  #tick = -1;

  /** The first call waits now; before it, silence meant nothing. */
  start(now: number, bytesIn: number): void {
    this.#silentSince = now;
    this.#bytes = bytesIn;
  }

  /** True when nothing has come since long. Asked every few seconds while calls wait. */
  isSilent(now: number, bytesIn: number): boolean {
    if (bytesIn !== this.#bytes) this.start(now, bytesIn);
    return now - this.#silentSince >= SILENCE_MAX;
  }

  /** A call timed out; true when it is the second in a row. Calls that end in the same tick count once. */
  timedOut(tick: number, bytesIn: number): boolean {
    const again = bytesIn === this.#bytesAtTimeout && tick !== this.#tick;
    this.#bytesAtTimeout = bytesIn;
    this.#tick = tick;
    return again;
  }
}
