import type { Clock, Host, Timer } from "../client/host.ts";
import type { Caller } from "./answer.ts";
import type { ConsumeQueue } from "./consume_queue.ts";

/** A pull that found nothing and waits. */
export interface HeldPull {
  readonly caller: Caller;
  /** Tag hashes it is for; empty: all. */
  readonly codes: readonly number[];
  /** Tries again, for the last time: it answers now. */
  readonly wake: () => void;
}

/**
 * Long polling (`PullRequestHoldService`): pulls wait until a message comes that may be for them, or their time is over. They
 * are woken when the turn ends, so that one answer has all that has come in it.
 */
export class HeldPulls {
  readonly #clock: Clock;
  readonly #defer: Host["defer"];
  readonly #held = new Map<ConsumeQueue, Map<HeldPull, Timer>>();
  /** To be woken at the end of this turn. */
  readonly #ready = new Map<HeldPull, ConsumeQueue>();

  constructor({ clock, defer }: Pick<Host, "clock" | "defer">) {
    this.#clock = clock;
    this.#defer = defer;
  }

  /** Pulls that wait. */
  get count(): number {
    let count = 0;
    for (const held of this.#held.values()) count += held.size;
    return count;
  }

  hold(queue: ConsumeQueue, pull: HeldPull, timeout: number): void {
    let held = this.#held.get(queue);
    if (!held) this.#held.set(queue, held = new Map());
    const delay = Math.min(Math.max(0, timeout), TIMER_MAX);
    held.set(pull, this.#clock.setTimer(delay, () => this.#wake(queue, pull)));
  }

  arrived(queue: ConsumeQueue, tagHash: number): void {
    const held = this.#held.get(queue);
    if (!held) return;
    for (const pull of held.keys()) {
      if (this.#ready.has(pull) || (pull.codes.length > 0 && !pull.codes.includes(tagHash))) continue;
      if (this.#ready.size === 0) this.#defer(() => this.#wakeReady());
      this.#ready.set(pull, queue);
    }
  }

  /** A connection has ended: its pulls are forgotten. */
  disconnected(caller: Caller): void {
    for (const [queue, held] of this.#held) {
      for (const pull of held.keys()) if (pull.caller === caller) this.#forget(queue, pull);
    }
  }

  close(): void {
    for (const held of this.#held.values()) for (const timer of held.values()) timer.cancel();
    this.#held.clear();
  }

  #wakeReady(): void {
    const ready = [...this.#ready];
    this.#ready.clear();
    for (const [pull, queue] of ready) this.#wake(queue, pull);
  }

  #wake(queue: ConsumeQueue, pull: HeldPull): void {
    if (this.#forget(queue, pull) && !pull.caller.isClosed) pull.wake();
  }

  /** False when it was answered already, or has gone. */
  #forget(queue: ConsumeQueue, pull: HeldPull): boolean {
    const held = this.#held.get(queue), timer = held?.get(pull);
    if (!held || !timer) return false;
    timer.cancel();
    held.delete(pull);
    if (held.size === 0) this.#held.delete(queue);
    return true;
  }
}

/** More would make a timer run at once. */
const TIMER_MAX = 2_147_483_647;
