// What a measured program finds out about itself: CPU of all its threads, memory, latency. Prints one line of JSON.
import { readFileSync } from "node:fs";
import process from "node:process";

/** One run of one case by one client. */
export interface Measurement {
  readonly client: string;
  readonly messages: number;
  readonly seconds: number;
  readonly msgsPerSec: number;
  /** User and system, of all threads. */
  readonly cpuSeconds: number;
  readonly cpuPerMillion: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Peak of the whole process, warm-up included. */
  readonly rssMiB: number;
  readonly errors: number;
}

/** A moment: milliseconds of the clock, seconds of CPU. */
export interface Mark {
  readonly ms: number;
  readonly cpuSeconds: number;
}

export function mark(): Mark {
  const { user, system } = process.cpuUsage();
  return { ms: performance.now(), cpuSeconds: (user + system) / 1e6 };
}

/** Latencies in milliseconds; without any, p50 and p99 are null. */
export function measurementOf(
  client: string,
  messages: number,
  [from, to]: readonly [Mark, Mark],
  latencies: Float64Array = new Float64Array(0),
  errors = 0,
): Measurement {
  const seconds = (to.ms - from.ms) / 1e3, cpuSeconds = to.cpuSeconds - from.cpuSeconds;
  const sorted = latencies.toSorted();
  const at = (share: number): number | null => {
    const value = sorted[Math.floor((sorted.length - 1) * share)];
    return value === undefined ? null : rounded(value);
  };
  return {
    client,
    messages,
    seconds: rounded(seconds),
    msgsPerSec: Math.round(messages / seconds),
    cpuSeconds: rounded(cpuSeconds),
    cpuPerMillion: rounded(cpuSeconds / messages * 1e6),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    rssMiB: Number(peakMiB().toFixed(1)),
    errors,
  };
}

export const print = (measurement: Measurement): void => console.log(JSON.stringify(measurement));

const rounded = (value: number): number => Number(value.toFixed(3));

/** Linux tells the peak; elsewhere it is what is resident now. */
function peakMiB(): number {
  if (process.platform !== "linux") return process.memoryUsage().rss / (1 << 20);
  const found = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"));
  if (!found) throw new Error("/proc/self/status has no VmHWM");
  return Number(found[1]) / 1024;
}

/** Marks where a count passes the end of the warm-up, and where it has all. */
export class Counter {
  readonly done: Promise<readonly [Mark, Mark]>;
  readonly #warmUp: number;
  readonly #messages: number;
  #count = 0;
  #first = 0;
  #last = 0;
  #start: Mark | undefined;
  #end: (marks: readonly [Mark, Mark]) => void = () => {};

  constructor(warmUp: number, messages: number) {
    this.#warmUp = warmUp;
    this.#messages = messages;
    this.done = new Promise((resolve) => this.#end = resolve);
  }

  /** Counts up to this number between the marks. */
  get counted(): number {
    return this.#last - this.#first;
  }

  get count(): number {
    return this.#count;
  }

  add(messages: number): void {
    this.#count += messages;
    if (this.#start === undefined) {
      if (this.#count < this.#warmUp) return;
      this.#first = this.#count;
      this.#start = mark();
    } else if (this.#last === 0 && this.#count >= this.#warmUp + this.#messages) this.#finish(this.#start);
  }

  /** Ends early: what was counted so far stands. Throws when the warm-up is not over. */
  cut(): void {
    if (this.#start === undefined) throw new Error(`Only ${this.#count} messages came before the time was over`);
    if (this.#last === 0) this.#finish(this.#start);
  }

  #finish(start: Mark): void {
    this.#last = this.#count;
    this.#end([start, mark()]);
  }
}
