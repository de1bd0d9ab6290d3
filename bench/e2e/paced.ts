// Keeping a number of sends in flight, and sending at a rate.
import { type Mark, mark } from "./meter.ts";

export interface Sent {
  readonly marks: readonly [Mark, Mark];
  readonly latencies: Float64Array;
  readonly errors: number;
}

export interface SendPlan {
  readonly window: number;
  readonly warmUp: number;
  readonly messages: number;
}

/** `window` loops, each of which awaits its send: what a program does that wants so many in flight. */
export async function sendInWindow(
  send: () => Promise<unknown>,
  { window, warmUp, messages }: SendPlan,
): Promise<Sent> {
  const latencies = new Float64Array(messages);
  let left = warmUp, done = 0, errors = 0, isMeasured = false;
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left--;
      const started = performance.now();
      try {
        await send();
        if (isMeasured) latencies[done++] = performance.now() - started;
      } catch (error) {
        if (errors++ < 3) console.error(error);
      }
    }
  };
  const all = (): Promise<unknown> => Promise.all(Array.from({ length: window }, loop));
  await all();
  isMeasured = true;
  left = messages;
  const from = mark();
  await all();
  return { marks: [from, mark()], latencies: latencies.subarray(0, done), errors };
}

/** A body that says when it was sent, and in which run. */
export function stampedBody(bodyBytes: number, run: number): Uint8Array {
  const body = new Uint8Array(bodyBytes), view = new DataView(body.buffer);
  view.setFloat64(0, performance.now());
  view.setInt32(8, run);
  return body;
}

/** Collects how long the messages of one run took. */
export class Arrivals {
  readonly #run: number;
  readonly #latencies: Float64Array;
  readonly all: Promise<void>;
  #done: () => void = () => {};
  #count = 0;

  constructor(run: number, messages: number) {
    this.#run = run;
    this.#latencies = new Float64Array(messages);
    this.all = new Promise((resolve) => this.#done = resolve);
  }

  take(body: Uint8Array): void {
    const view = new DataView(body.buffer, body.byteOffset, body.length);
    if (view.getInt32(8) !== this.#run) return;
    this.#latencies[this.#count++] = performance.now() - view.getFloat64(0);
    if (this.#count === this.#latencies.length) this.#done();
  }

  latencies(): Float64Array {
    return this.#latencies.subarray(0, this.#count);
  }
}

export interface RatePlan {
  readonly bodyBytes: number;
  readonly warmUp: number;
  readonly messages: number;
  readonly perSecond: number;
}

/**
 * Sends at a steady rate, a timer each millisecond; ends when every message of the run has arrived. A send that fails ends it at
 * once, because its message would be waited for.
 */
export async function sendAtRate(
  send: (body: Uint8Array) => Promise<unknown>,
  { bodyBytes, warmUp, messages, perSecond }: RatePlan,
  arrivals: Arrivals,
  run: number,
): Promise<Sent> {
  let from: Mark | undefined, sent = 0;
  const started = performance.now();
  await new Promise<void>((resolve, reject) => {
    const timer = setInterval(() => {
      const due = (performance.now() - started) * perSecond / 1e3;
      while (sent < warmUp + messages && sent <= due) {
        if (sent === warmUp) from = mark();
        send(stampedBody(bodyBytes, sent >= warmUp ? run : 0)).catch((error) => {
          clearInterval(timer);
          reject(error);
        });
        sent++;
      }
      if (sent === warmUp + messages) clearInterval(timer);
    }, 1);
    arrivals.all.then(resolve);
  });
  if (from === undefined) throw new Error("Nothing was sent");
  return { marks: [from, mark()], latencies: arrivals.latencies(), errors: 0 };
}

/** A number that no other run has had lately. */
export const newRun = (): number => 1 + (Date.now() & 0x3fffffff);

/** Bytes that do not repeat, the same in every program. */
export function bodyOf(length: number): Uint8Array {
  let state = 12345;
  return Uint8Array.from({ length }, () => {
    state = Math.imul(state, 1103515245) + 12345 & 0x7fffffff;
    return state >> 16 & 0xff;
  });
}

/** Ends the program with an error when a run takes too long. */
export function limitTime(seconds: number, late: () => void): () => void {
  const timer = setTimeout(late, seconds * 1e3);
  return () => clearTimeout(timer);
}
