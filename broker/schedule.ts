import { ArgumentError } from "../client/errors.ts";
import type { Clock, Timer } from "../client/host.ts";
import type { ConsumeQueue } from "./consume_queue.ts";

/** RocketMQ's levels 1 to 18. */
export const DELAY_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** "1s 5s 2h" in ms, as strictly as Java reads it (`messageDelayLevel`). Throws `ArgumentError`. */
export function parseDelayLevels(text: string): number[] {
  return String(text).trim().split(" ").map((part) => {
    const [, digits, unit] = /^(\d{1,9})([smhd])$/.exec(part) ?? [];
    if (digits === undefined || unit === undefined) {
      throw new ArgumentError(`messageDelayLevel must be like "1s 5s 1m", got ${JSON.stringify(text)}`);
    }
    return Number(digits) * UNITS[unit]!;
  });
}

export interface ScheduleOptions {
  readonly clock: Clock;
  /** Delays of the levels, ms. */
  readonly delays: readonly number[];
  /** The queue of the schedule topic that holds a level's messages. */
  readonly queueOf: (level: number) => ConsumeQueue;
  /** The message at this offset is due. */
  readonly due: (queue: ConsumeQueue, offset: number) => void;
}

/**
 * Delayed messages lie in a queue of their level (`ScheduleMessageService`). Those of one level come due in the order they
 * came, so each level has one place it has come to, and one timer.
 */
export class Schedule {
  readonly #options: ScheduleOptions;
  readonly #next: number[];
  readonly #timers: (Timer | undefined)[];
  #isClosed = false;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#next = options.delays.map(() => 0);
    this.#timers = options.delays.map(() => undefined);
  }

  get levels(): number {
    return this.#options.delays.length;
  }

  /** A message has been stored in the queue of `level`, 1 to `levels`. */
  added(level: number): void {
    if (!this.#timers[level - 1]) this.#plan(level);
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) timer?.cancel();
  }

  #plan(level: number): void {
    const queue = this.#options.queueOf(level), next = this.#next[level - 1]!;
    if (this.#isClosed || next >= queue.max) return;
    const left = Math.min(this.#left(level, queue, next), TIMER_MAX);
    this.#timers[level - 1] = this.#options.clock.setTimer(left, () => this.#run(level));
  }

  #run(level: number): void {
    const { queueOf, due } = this.#options;
    const queue = queueOf(level);
    this.#timers[level - 1] = undefined;
    for (let next = this.#next[level - 1]!; next < queue.max && this.#left(level, queue, next) === 0;) {
      this.#next[level - 1] = ++next;
      due(queue, next - 1);
    }
    this.#plan(level);
  }

  /** Ms that a message has to wait still: none when the clock was set back so far that it would wait longer than its delay. */
  #left(level: number, queue: ConsumeQueue, offset: number): number {
    const { clock, delays } = this.#options;
    const delay = delays[level - 1]!, left = queue.storeTimestamp(offset) + delay - clock.now();
    return left > delay ? 0 : Math.max(0, left);
  }
}

/** More would make a timer run at once. */
const TIMER_MAX = 2_147_483_647;
