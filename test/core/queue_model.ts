import type { Offset } from "../../client/core.ts";

/** The last offset there can be. */
export const LAST = 2n ** 63n - 1n;

/** An offset as the core gives it. */
export const offsetOf = (offset: bigint): Offset => offset <= Number.MAX_SAFE_INTEGER ? Number(offset) : offset;

/** A process queue as a sorted array of offsets: slow, and right. */
export class QueueModel {
  #offsets: bigint[] = [];
  readonly #sizes = new Map<bigint, number>();
  readonly #taken = new Set<bigint>();
  max = -1n;

  /** How many of them were new. */
  put(offsets: readonly Offset[], sizes: readonly number[]): number {
    let added = 0;
    for (const [index, given] of offsets.entries()) {
      const offset = BigInt(given);
      if (offset > this.max) this.max = offset;
      if (this.#sizes.has(offset)) continue;
      this.#sizes.set(offset, sizes[index]!);
      this.#offsets.splice(this.#rank(offset), 0, offset);
      added++;
    }
    return added;
  }

  /** The lowest that are not taken; from now on they are. */
  take(count: number): Offset[] {
    const taken = this.#offsets.filter((offset) => !this.#taken.has(offset)).slice(0, count);
    for (const offset of taken) this.#taken.add(offset);
    return taken.map(offsetOf);
  }

  /** How many of them were taken; from now on they are not. */
  untake(offsets: readonly Offset[]): number {
    return offsets.filter((offset) => this.#taken.delete(BigInt(offset))).length;
  }

  rollback(): void {
    this.#taken.clear();
  }

  /** All that are taken are over. The offset to commit. */
  commit(): Offset {
    const taken = [...this.#taken];
    if (taken.length === 0) return -1;
    const highest = taken.reduce((one, other) => one > other ? one : other);
    this.remove(taken);
    return after(highest);
  }

  /** The offset to commit. */
  remove(offsets: readonly Offset[]): Offset {
    if (this.#offsets.length === 0) return -1;
    for (const given of offsets) {
      const offset = BigInt(given);
      if (!this.#sizes.delete(offset)) continue;
      this.#taken.delete(offset);
      this.#offsets.splice(this.#rank(offset), 1);
    }
    const lowest = this.#offsets[0];
    return lowest === undefined ? after(this.max) : offsetOf(lowest);
  }

  /** The same for `counts[i]` offsets from `firsts[i]` on. */
  removeRuns(firsts: readonly Offset[], counts: readonly number[]): Offset {
    const isIn = (offset: bigint) =>
      firsts.some((first, index) => offset >= BigInt(first) && offset < BigInt(first) + BigInt(counts[index]!));
    return this.remove(this.#offsets.filter(isIn));
  }

  clear(): void {
    this.#offsets = [];
    this.#sizes.clear();
    this.#taken.clear();
    this.max = -1n;
  }

  get state() {
    const lowest = this.#offsets[0], free = this.#offsets.filter((offset) => !this.#taken.has(offset));
    return {
      count: this.#offsets.length,
      taken: this.#taken.size,
      bytes: this.#offsets.reduce((sum, offset) => sum + this.#sizes.get(offset)!, 0),
      min: lowest === undefined ? -1 : offsetOf(lowest),
      max: offsetOf(this.max),
      span: free.length === 0 ? 0 : offsetOf(free.at(-1)! - free[0]!),
    };
  }

  get offsets(): readonly Offset[] {
    return this.#offsets.map(offsetOf);
  }

  get taken(): readonly Offset[] {
    return [...this.#taken].map(offsetOf);
  }

  #rank(offset: bigint): number {
    let low = 0, high = this.#offsets.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#offsets[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Nothing comes after the last offset. */
const after = (offset: bigint): Offset => offsetOf(offset < LAST ? offset + 1n : offset);
