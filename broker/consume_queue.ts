/** One queue of a topic: where its records lie, their sizes and tag hashes, by queue offset. */
export class ConsumeQueue {
  #positions = new Float64Array(64);
  #sizes = new Int32Array(64);
  #tags = new Int32Array(64);
  #times = new Float64Array(64);
  #count = 0;

  /** The lowest offset that is still there: nothing is ever removed. */
  readonly min = 0;

  /** The next offset to be written. */
  get max(): number {
    return this.#count;
  }

  append(position: number, size: number, tagHash: number, storeTimestamp: number): number {
    if (this.#count === this.#positions.length) this.#grow();
    const offset = this.#count++;
    this.#positions[offset] = position;
    this.#sizes[offset] = size;
    this.#tags[offset] = tagHash;
    this.#times[offset] = storeTimestamp;
    return offset;
  }

  position(offset: number): number {
    return this.#positions[offset]!;
  }

  size(offset: number): number {
    return this.#sizes[offset]!;
  }

  tagHash(offset: number): number {
    return this.#tags[offset]!;
  }

  /** The first offset stored at or after `timestamp`; `max` when all are older (5.1.1 and later). */
  search(timestamp: number): number {
    let low = 0, high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#times[middle]! < timestamp) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #grow(): void {
    const length = this.#positions.length * 2;
    const positions = new Float64Array(length), sizes = new Int32Array(length);
    const tags = new Int32Array(length), times = new Float64Array(length);
    positions.set(this.#positions);
    sizes.set(this.#sizes);
    tags.set(this.#tags);
    times.set(this.#times);
    this.#positions = positions;
    this.#sizes = sizes;
    this.#tags = tags;
    this.#times = times;
  }
}
