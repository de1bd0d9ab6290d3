import { ArgumentError } from "../client/errors.ts";
import type { Clock, Timer } from "../client/host.ts";
import type { NewMessage } from "./message_store.ts";

/** RocketMQ's levels 1 to 18. */
export const DELAY_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** "1s 5s 2h" in ms (`messageDelayLevel`). Throws `ArgumentError`. */
export function parseDelayLevels(text: string): number[] {
  return text.trim().split(/\s+/).map((part) => {
    const [, digits, unit] = /^(\d+)([smhd])$/.exec(part) ?? [];
    if (digits === undefined || unit === undefined) {
      throw new ArgumentError(`messageDelayLevel must be like "1s 5s 1m", got ${JSON.stringify(text)}`);
    }
    return Number(digits) * UNITS[unit]!;
  });
}

interface Waiting {
  readonly due: number;
  readonly message: NewMessage;
}

/** Messages that are not due yet. Those of one level come due in the order they came, so each level has one timer. */
export class Schedule {
  readonly #clock: Clock;
  readonly #delays: readonly number[];
  readonly #deliver: (message: NewMessage) => void;
  readonly #waiting: Waiting[][];
  readonly #timers: (Timer | undefined)[];

  constructor(clock: Clock, delays: readonly number[], deliver: (message: NewMessage) => void) {
    this.#clock = clock;
    this.#delays = delays;
    this.#deliver = deliver;
    this.#waiting = delays.map(() => []);
    this.#timers = delays.map(() => undefined);
  }

  get levels(): number {
    return this.#delays.length;
  }

  add(level: number, message: NewMessage): void {
    const index = level - 1;
    this.#waiting[index]!.push({ due: this.#clock.monotonic() + this.#delays[index]!, message });
    this.#plan(index);
  }

  close(): void {
    for (const timer of this.#timers) timer?.cancel();
    for (const list of this.#waiting) list.length = 0;
  }

  #plan(index: number): void {
    const next = this.#waiting[index]![0];
    if (!next || this.#timers[index]) return;
    const delay = Math.max(0, next.due - this.#clock.monotonic());
    this.#timers[index] = this.#clock.setTimer(delay, () => {
      this.#timers[index] = undefined;
      this.#run(index);
    });
  }

  #run(index: number): void {
    const list = this.#waiting[index]!, now = this.#clock.monotonic();
    let due = 0;
    while (due < list.length && list[due]!.due <= now) due++;
    for (const { message } of list.splice(0, due)) this.#deliver(message);
    this.#plan(index);
  }
}
