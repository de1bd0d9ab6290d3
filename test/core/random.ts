/** Numbers that one seed decides: the same on every runtime. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** All 32 bits (mulberry32). */
  bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ mixed >>> 15, mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return (mixed ^ mixed >>> 14) >>> 0;
  }

  /** 0 to `limit` - 1; `limit` is at most 2^32. */
  below(limit: number): number {
    return Math.floor(this.bits() / 2 ** 32 * limit);
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  /** The same values in another order. */
  shuffled<T>(values: readonly T[]): T[] {
    const mixed = [...values];
    for (let i = mixed.length - 1; i > 0; i--) {
      const other = this.below(i + 1);
      [mixed[i], mixed[other]] = [mixed[other]!, mixed[i]!];
    }
    return mixed;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.bits();
    return bytes;
  }
}

/** A seed to print; ROCKETMQ_TEST_SEED repeats a run. */
export function freshSeed(): number {
  const given = process.env["ROCKETMQ_TEST_SEED"];
  return given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
}
