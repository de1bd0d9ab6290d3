/** A process queue as a sorted array of offsets: slow, and right. */
export class QueueModel {
  #offsets: number[] = [];
  readonly #sizes = new Map<number, number>();
  readonly #taken = new Set<number>();
  max = -1;

  /** How many of them were new. */
  put(offsets: readonly number[], sizes: readonly number[]): number {
    let added = 0;
    offsets.forEach((offset, index) => {
      this.max = Math.max(this.max, offset);
      if (this.#sizes.has(offset)) return;
      this.#sizes.set(offset, sizes[index]!);
      this.#offsets.splice(this.#rank(offset), 0, offset);
      added++;
    });
    return added;
  }

  /** The lowest that are not taken; from now on they are. */
  take(count: number): number[] {
    const taken = this.#offsets.filter((offset) => !this.#taken.has(offset)).slice(0, count);
    for (const offset of taken) this.#taken.add(offset);
    return taken;
  }

  /** The offset to commit. */
  remove(offsets: readonly number[]): number {
    if (this.#offsets.length === 0) return -1;
    for (const offset of offsets) {
      if (!this.#sizes.delete(offset)) continue;
      this.#taken.delete(offset);
      this.#offsets.splice(this.#rank(offset), 1);
    }
    return this.#offsets[0] ?? this.max + 1;
  }

  clear(): void {
    this.#offsets = [];
    this.#sizes.clear();
    this.#taken.clear();
    this.max = -1;
  }

  get state() {
    const lowest = this.#offsets[0], highest = this.#offsets.at(-1);
    return {
      count: this.#offsets.length,
      taken: this.#taken.size,
      bytes: this.#offsets.reduce((sum, offset) => sum + this.#sizes.get(offset)!, 0),
      min: lowest ?? -1,
      max: this.max,
      span: lowest === undefined ? 0 : highest! - lowest,
    };
  }

  get offsets(): readonly number[] {
    return this.#offsets;
  }

  #rank(offset: number): number {
    let low = 0, high = this.#offsets.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#offsets[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
