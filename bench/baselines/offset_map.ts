/** What a process queue must know at any time. */
export interface OffsetQueue {
  /** Enters offsets, all of messages of `size` bytes. */
  put(offsets: readonly number[], size: number): void;
  /** The lowest offset that is left; highest + 1 when there is none. */
  remove(offsets: readonly number[]): number;
  readonly count: number;
  readonly bytes: number;
}

/** `Map`: offsets in a `Map`, the lowest is its first key, as long as they arrive in order. */
export function offsetMap(): OffsetQueue {
  const sizes = new Map<number, number>();
  let highest = -1, bytes = 0;
  return {
    put(offsets, size) {
      for (const offset of offsets) {
        if (!sizes.has(offset)) {
          sizes.set(offset, size);
          bytes += size;
        }
        if (offset > highest) highest = offset;
      }
    },
    remove(offsets) {
      for (const offset of offsets) {
        const size = sizes.get(offset);
        if (size === undefined) continue;
        sizes.delete(offset);
        bytes -= size;
      }
      for (const lowest of sizes.keys()) return lowest;
      return highest + 1;
    },
    get count() {
      return sizes.size;
    },
    get bytes() {
      return bytes;
    },
  };
}

/** The same, but the lowest offset is a number that walks forward: right in any order, as long as gaps are short. */
export function offsetMapWalked(first: number): OffsetQueue {
  const sizes = new Map<number, number>();
  let highest = -1, lowest = first, bytes = 0;
  return {
    put(offsets, size) {
      for (const offset of offsets) {
        if (!sizes.has(offset)) {
          sizes.set(offset, size);
          bytes += size;
        }
        if (offset > highest) highest = offset;
      }
    },
    remove(offsets) {
      for (const offset of offsets) {
        const size = sizes.get(offset);
        if (size === undefined) continue;
        sizes.delete(offset);
        bytes -= size;
      }
      while (lowest <= highest && !sizes.has(lowest)) lowest++;
      return lowest;
    },
    get count() {
      return sizes.size;
    },
    get bytes() {
      return bytes;
    },
  };
}
