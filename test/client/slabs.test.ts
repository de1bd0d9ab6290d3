import { describe, expect, test } from "vitest";
import { Slabs } from "../../client/message_batch.ts";

/** Slabs whose memory is marked, and the lengths they asked for. */
function markedSlabs(): { readonly slabs: Slabs; readonly lengths: number[] } {
  const lengths: number[] = [];
  const slabs = new Slabs({
    allocate(length) {
      lengths.push(length);
      return new Uint8Array(length).fill(0xaa);
    },
  });
  return { slabs, lengths };
}

describe("slabs", () => {
  test("places of one slab lie apart, and where words can be read", () => {
    const { slabs, lengths } = markedSlabs();
    const ends = new Map<Uint8Array, number>();
    for (let length = 1; length < 3_000; length += 13) {
      const at = slabs.take(length), { bytes } = slabs.last;
      expect(at % 8).toBe(0);
      expect(at).toBeGreaterThanOrEqual(ends.get(bytes) ?? 0);
      expect(at + length).toBeLessThanOrEqual(bytes.length);
      ends.set(bytes, at + length);
    }
    expect(lengths.length).toBe(ends.size);
    expect(ends.size).toBeGreaterThan(1);
  });

  test("a large batch has memory of its own, of its length, from the runtime too", () => {
    const { slabs, lengths } = markedSlabs();
    slabs.take(100);
    const shared = slabs.last;
    expect(slabs.take(1_000_000)).toBe(0);
    expect(slabs.last.bytes.length).toBe(1_000_000);
    expect(slabs.last.bytes[999_999]).toBe(0xaa);
    slabs.take(100);
    expect(slabs.last).toBe(shared);
    expect(lengths).toEqual([262_144, 1_000_000]);
  });

  test("without memory from the runtime they make their own", () => {
    const slabs = new Slabs({});
    expect(slabs.take(10)).toBe(0);
    expect(slabs.last.bytes.length).toBeGreaterThanOrEqual(10);
  });
});
