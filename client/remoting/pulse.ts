/** A connection on which calls wait and no byte comes for so long, in ms, is given up. */
export const SILENCE_MAX = 60_000;

/** Timeouts say nothing about a connection before calls have waited so long on it without a byte, in ms. */
const WAITED_MIN = 1_000;

/**
 * Whether a connection is half open: its peer is gone and nobody said so. Two signs: two timeouts in a row, behind at least
 * a second of waiting without a byte, or 60 s without a byte while calls wait. No option of the operating system is needed
 * for it.
 */
export class Pulse {
  #silentSince = 0;
  #bytes = 0;
  #timeouts = 0;
  #bytesAtTimeout = -1;
  #tick = -1;
  /** How long calls have waited without a byte, up to `#waitedUntil`: calls that waited together count once. */
  #waited = 0;
  #waitedUntil = 0;

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

  /**
   * A call timed out that had `timeout` ms; true when that ends the connection. Calls that end in the same tick count once.
   */
  timedOut(tick: number, now: number, timeout: number, bytesIn: number): boolean {
    if (tick === this.#tick) return false;
    this.#tick = tick;
    if (bytesIn !== this.#bytesAtTimeout) {
      this.#bytesAtTimeout = bytesIn;
      this.#timeouts = this.#waited = this.#waitedUntil = 0;
    }
    // Waiting began when the call was made, or when the connection was there, or when the last one was counted.
    const known = bytesIn === this.#bytes ? this.#silentSince : now;
    const from = this.#timeouts === 0 ? Math.max(known, now - timeout) : Math.max(this.#waitedUntil, now - timeout);
    this.#waited += Math.max(0, now - from);
    this.#waitedUntil = now;
    return ++this.#timeouts > 1 && this.#waited >= WAITED_MIN;
  }
}
