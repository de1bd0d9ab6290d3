import type { Clock, Timer } from "../host.ts";
import type { Waiting } from "./outbox.ts";
import type { Call } from "./outgoing.ts";

/** Calls in flight per instance: RocketMQ's own limit. Slot 65,535 is no call's; oneway requests use its opaques. */
export const CALLS_MAX = 65_535;
/** There are so many slots at first, so that an opaque comes back after 134 million calls at the earliest. */
const SLOTS_FIRST = 4_096;
const GENERATION_MASK = 0x7fff;
const SLOT_MASK = 0xffff;
/** Without a nearer deadline the timer looks at silent connections this often, ms. */
const WATCH_EVERY = 5_000;
/** A timer that fires so much later, in ms, was held up: answers may be waiting in the sockets. */
const LATE = 2;
const NONE = -1;

export interface CallsOptions {
  readonly clock: Clock;
  /** The call's time is over; it must be released in this call. `tick` is the same for all that end together. */
  readonly expired: (slot: number, tick: number) => void;
  /** At least every 5 s while calls are in flight. */
  readonly watch: (now: number) => void;
}

/**
 * The calls in flight, in columns: opaque = generation << 16 | slot, 31 bits. An answer finds its slot without a search,
 * and one that comes too late finds another generation. The slot that has been free for longest is used next.
 *
 * One timer serves all calls. Most of them are answered long before their time is over, so there is no list in the order of
 * deadlines to be kept for each call: the timer looks at all slots, some microseconds every few seconds.
 */
export class Calls<Owner> {
  /** Undefined in a free slot. */
  readonly call: (Call | undefined)[] = [];
  /** The connection that carries the call. */
  readonly owner: (Owner | undefined)[] = [];
  /** Its place in the connection's waiting list, if it had to wait there. */
  readonly waiting: (Waiting | undefined)[] = [];
  /** Ends its listener on a signal. */
  readonly unlisten: ((() => void) | undefined)[] = [];
  inFlight = 0;

  readonly #options: CallsOptions;
  #capacity = 0;
  #generation = new Uint16Array(0);
  #deadline = new Float64Array(0);
  #timeout = new Float64Array(0);
  /** A ring of free slots. */
  #free = new Uint16Array(0);
  #freeFirst = 0;
  #freeCount = 0;
  #timer: Timer | undefined;
  #armedFor = Infinity;
  #tick = 0;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#grow(SLOTS_FIRST);
  }

  /** A slot for a call that ends `timeout` ms after `now`, or -1 when all are taken. */
  take(call: Call, timeout: number, now: number): number {
    if (this.#freeCount === 0) {
      if (this.#capacity === CALLS_MAX) return NONE;
      this.#grow(Math.min(this.#capacity * 2, CALLS_MAX));
    }
    const slot = this.#free[this.#freeFirst]!;
    this.#freeFirst = this.#freeFirst + 1 === this.#capacity ? 0 : this.#freeFirst + 1;
    this.#freeCount--;
    this.inFlight++;
    this.call[slot] = call;
    const deadline = now + timeout;
    this.#deadline[slot] = deadline;
    this.#timeout[slot] = timeout;
    if (deadline < this.#armedFor) this.#arm(Math.min(deadline, now + WATCH_EVERY), now);
    return slot;
  }

  /** What the peer is told to answer with. */
  opaque(slot: number): number {
    return this.#generation[slot]! << 16 | slot;
  }

  /** The slot that `opaque` names, or -1 when that call is over. */
  slotOf(opaque: number): number {
    const slot = opaque & SLOT_MASK;
    return opaque >= 0 && slot < this.#capacity && this.#generation[slot] === opaque >>> 16 && this.call[slot]
      ? slot
      : NONE;
  }

  /** The same call under a new opaque; its deadline stays. */
  renew(slot: number): void {
    this.#generation[slot] = (this.#generation[slot]! + 1) & GENERATION_MASK;
  }

  deadline(slot: number): number {
    return this.#deadline[slot]!;
  }

  /** How long the call was to wait, in ms. */
  timeout(slot: number): number {
    return this.#timeout[slot]!;
  }

  /** When the call was made. */
  started(slot: number): number {
    return this.#deadline[slot]! - this.#timeout[slot]!;
  }

  /** The call is over: nothing finds its slot any more. */
  release(slot: number): void {
    const unlisten = this.unlisten[slot];
    this.renew(slot);
    this.call[slot] = undefined;
    this.owner[slot] = undefined;
    if (this.waiting[slot] !== undefined) this.waiting[slot] = undefined;
    if (unlisten !== undefined) this.unlisten[slot] = undefined;
    const at = this.#freeFirst + this.#freeCount;
    this.#free[at >= this.#capacity ? at - this.#capacity : at] = slot;
    this.#freeCount++;
    this.inFlight--;
    if (unlisten) unlisten();
  }

  /** Calls `visit` with each slot in use that belongs to `owner`; all of them without one. */
  each(owner: Owner | undefined, visit: (slot: number) => void): void {
    for (let slot = 0; slot < this.call.length; slot++) {
      if (this.call[slot] && (owner === undefined || this.owner[slot] === owner)) visit(slot);
    }
  }

  /** Ends the timer. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#armedFor = Infinity;
  }

  #grow(capacity: number): void {
    const free = new Uint16Array(capacity);
    for (let slot = this.#capacity; slot < capacity; slot++) {
      free[this.#freeCount++] = slot;
      this.call.push(undefined);
      this.owner.push(undefined);
      this.waiting.push(undefined);
      this.unlisten.push(undefined);
    }
    this.#free = free;
    this.#freeFirst = 0;
    this.#generation = grown(this.#generation, new Uint16Array(capacity));
    this.#deadline = grown(this.#deadline, new Float64Array(capacity));
    this.#timeout = grown(this.#timeout, new Float64Array(capacity));
    this.#capacity = capacity;
  }

  #arm(due: number, now: number): void {
    this.#timer?.cancel();
    this.#armedFor = due;
    this.#timer = this.#options.clock.setTimer(Math.max(0, Math.ceil(due - now)), () => this.#fired(due));
  }

  #fired(due: number): void {
    const now = this.#options.clock.monotonic();
    // An answer that came before the deadline counts: after a pause of the event loop the sockets are read first.
    if (now - due > LATE) this.#timer = this.#options.clock.setTimer(0, () => this.#expire(now));
    else this.#expire(now);
  }

  #expire(now: number): void {
    this.#timer = undefined;
    this.#armedFor = Infinity;
    const tick = ++this.#tick, due: number[] = [];
    this.each(undefined, (slot) => this.#deadline[slot]! <= now && due.push(slot));
    due.sort((a, b) => this.#deadline[a]! - this.#deadline[b]!);
    for (const slot of due) {
      // The end of one call may be that of others.
      if (this.call[slot] && this.#deadline[slot]! <= now) this.#options.expired(slot, tick);
    }
    this.#options.watch(now);
    this.#rearm(now);
  }

  /** Arms the timer for the earliest deadline. */
  #rearm(now: number): void {
    if (this.inFlight === 0) return;
    let earliest = now + WATCH_EVERY;
    this.each(undefined, (slot) => earliest = Math.min(earliest, this.#deadline[slot]!));
    if (earliest < this.#armedFor) this.#arm(earliest, now);
  }
}

function grown<T extends Uint16Array | Float64Array>(from: T, into: T): T {
  into.set(from);
  return into;
}
