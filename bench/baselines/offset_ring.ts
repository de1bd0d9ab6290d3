import type { OffsetQueue } from "./offset_map.ts";

/**
 * `best JS`: a ring of bits and sizes in typed arrays. It takes a queue without gaps whose span fits the ring, and nothing
 * else.
 */
export function offsetRing(first: number, offsets: number): OffsetQueue {
  const capacity = 1 << Math.ceil(Math.log2(offsets)), mask = capacity - 1;
  const bits = new Int32Array(capacity >> 5), sizes = new Uint32Array(capacity);
  let lowest = first, highest = first - 1, bytes = 0, count = 0;
  return {
    put(offsets, size) {
      for (let i = 0; i < offsets.length; i++) {
        const offset = offsets[i]!, place = offset & mask, word = place >> 5, bit = 1 << (place & 31);
        if ((bits[word]! & bit) === 0) {
          bits[word] = bits[word]! | bit;
          sizes[place] = size;
          bytes += size;
          count++;
        }
        if (offset > highest) highest = offset;
      }
    },
    remove(offsets) {
      for (let i = 0; i < offsets.length; i++) {
        const place = offsets[i]! & mask, word = place >> 5, bit = 1 << (place & 31);
        if ((bits[word]! & bit) === 0) continue;
        bits[word] = bits[word]! & ~bit;
        bytes -= sizes[place]!;
        count--;
      }
      if (count === 0) return lowest = highest + 1;
      for (;;) {
        const place = lowest & mask, word = bits[place >> 5]! >>> (place & 31);
        if (word !== 0) return lowest += 31 - Math.clz32(word & -word);
        lowest += 32 - (place & 31);
      }
    },
    get count() {
      return count;
    },
    get bytes() {
      return bytes;
    },
  };
}
