/** One queue of a topic: where its records lie, their sizes and tag hashes, by queue offset. */
export class ConsumeQueue {
  readonly #pages: Page[] = [];
  #count = 0;

  /** The lowest offset that is still there: nothing is ever removed. */
  readonly min = 0;

  /** The next offset to be written. */
  get max(): number {
    return this.#count;
  }

  append(position: number, size: number, tagHash: number, storeTimestamp: number): number {
    const offset = this.#count++;
    const page = this.#pages[offset >>> PAGE_BITS] ??= new Page(), at = offset & PAGE_MASK;
    page.positions[at] = position;
    page.sizes[at] = size;
    page.tags[at] = tagHash;
    page.times[at] = storeTimestamp;
    return offset;
  }

  /** Commit-log offset of a record. Offsets from `min` to below `max` only, here and below. */
  position(offset: number): number {
    return this.#page(offset).positions[offset & PAGE_MASK]!;
  }

  size(offset: number): number {
    return this.#page(offset).sizes[offset & PAGE_MASK]!;
  }

  tagHash(offset: number): number {
    return this.#page(offset).tags[offset & PAGE_MASK]!;
  }

  storeTimestamp(offset: number): number {
    return this.#page(offset).times[offset & PAGE_MASK]!;
  }

  /** The first offset stored at or after `timestamp`; `max` when all are older (5.1.1 and later). */
  searchLower(timestamp: number): number {
    return this.#first((time) => time >= timestamp);
  }

  /** The last offset stored at or before `timestamp`; `min` when all are younger. */
  searchUpper(timestamp: number): number {
    return Math.max(this.min, this.#first((time) => time > timestamp) - 1);
  }

  #page(offset: number): Page {
    return this.#pages[offset >>> PAGE_BITS]!;
  }

  /** Store times never go down, unless the clock was set back. */
  #first(holds: (time: number) => boolean): number {
    let low = 0, high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(this.storeTimestamp(middle))) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

const PAGE_BITS = 10;
const PAGE_ENTRIES = 1 << PAGE_BITS;
const PAGE_MASK = PAGE_ENTRIES - 1;

/** Columns of 1,024 entries, so that a long queue is never copied to grow. */
class Page {
  readonly positions = new Float64Array(PAGE_ENTRIES);
  readonly sizes = new Int32Array(PAGE_ENTRIES);
  readonly tags = new Int32Array(PAGE_ENTRIES);
  readonly times = new Float64Array(PAGE_ENTRIES);
}
