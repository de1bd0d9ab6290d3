import type { Clock, Timer } from "../../../client/host.ts";

interface Event {
  readonly at: number;
  readonly order: number;
  task: (() => void) | undefined;
}

/** What happens next, in the order of virtual time; at one time in the order in which it was planned. */
export class Events {
  /** Virtual ms since the start. */
  now = 0;
  readonly #heap: Event[] = [];
  #order = 0;
  #deferred: (() => void)[] = [];

  /** Plans `task`. */
  after(delay: number, task: () => void): Timer {
    const event: Event = { at: this.now + Math.max(0, delay), order: this.#order++, task };
    this.#push(event);
    return { cancel: () => event.task = undefined };
  }

  /** At the end of this turn. */
  defer(task: () => void): void {
    this.#deferred.push(task);
  }

  /** Runs what was deferred; false when nothing was. */
  endTurn(): boolean {
    if (this.#deferred.length === 0) return false;
    const tasks = this.#deferred;
    this.#deferred = [];
    for (const task of tasks) task();
    return true;
  }

  /** Runs the next event that is due until `limit`; false when there is none. */
  next(limit: number): boolean {
    for (let event = this.#heap[0]; event !== undefined && event.at <= limit; event = this.#heap[0]) {
      this.#pop();
      const { task } = event;
      if (task === undefined) continue;
      this.now = event.at;
      event.task = undefined;
      task();
      return true;
    }
    return false;
  }

  /** Tasks that are still planned, cancelled ones not counted. */
  get planned(): number {
    return this.#heap.filter((event) => event.task !== undefined).length;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

/** Where the wall clock of a simulation starts. */
const EPOCH = 1_700_000_000_000;

/** A clock that moves only when told. */
export class SimulatedClock implements Clock {
  readonly #events: Events;

  constructor(events: Events) {
    this.#events = events;
  }

  now(): number {
    return EPOCH + Math.floor(this.#events.now);
  }

  monotonic(): number {
    return this.#events.now;
  }

  setTimer(delay: number, task: () => void): Timer {
    return this.#events.after(delay, task);
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || one.at === other.at && one.order < other.order;
}
