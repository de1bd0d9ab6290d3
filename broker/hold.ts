import type { Clock, Timer } from "../client/host.ts";
import type { Caller } from "./answer.ts";

/** A pull that found nothing and waits. */
export interface HeldPull {
  readonly caller: Caller;
  /** Tag hashes it is for; empty: all. */
  readonly codes: readonly number[];
  /** Tries again, for the last time: it answers now. */
  readonly wake: () => void;
}

/** Long polling (`PullRequestHoldService`): pulls wait until a message comes that may be for them, or their time is over. */
export class HeldPulls {
  readonly #clock: Clock;
  readonly #held = new Map<string, Map<HeldPull, Timer>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  hold(topic: string, queueId: number, pull: HeldPull, timeout: number): void {
    const key = keyOf(topic, queueId);
    let held = this.#held.get(key);
    if (!held) this.#held.set(key, held = new Map());
    const own = held;
    own.set(pull, this.#clock.setTimer(Math.max(0, timeout), () => this.#wake(own, pull)));
  }

  arrived(topic: string, queueId: number, tagHash: number): void {
    const held = this.#held.get(keyOf(topic, queueId));
    if (!held) return;
    for (const pull of [...held.keys()]) {
      if (pull.codes.length === 0 || pull.codes.includes(tagHash)) this.#wake(held, pull);
    }
  }

  /** A connection has ended: its pulls are forgotten. */
  disconnected(caller: Caller): void {
    for (const held of this.#held.values()) {
      for (const [pull, timer] of held) {
        if (pull.caller !== caller) continue;
        timer.cancel();
        held.delete(pull);
      }
    }
  }

  close(): void {
    for (const held of this.#held.values()) for (const timer of held.values()) timer.cancel();
    this.#held.clear();
  }

  #wake(held: Map<HeldPull, Timer>, pull: HeldPull): void {
    held.get(pull)?.cancel();
    if (held.delete(pull) && !pull.caller.isClosed) pull.wake();
  }
}

const keyOf = (topic: string, queueId: number): string => `${topic}@${queueId}`;
