/** Random numbers from a seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 ≤ number < 1 */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ t >>> 15, t | 1);
    t ^= t + Math.imul(t ^ t >>> 7, t | 61);
    return ((t ^ t >>> 14) >>> 0) / 4_294_967_296;
  }

  /** A whole number, 0 ≤ number < end */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }
}

/** Makes what the platform calls random come from `random`, until the returned function is called. */
export function seedPlatform(random: Random): () => void {
  const mathRandom = Math.random;
  Math.random = () => random.next();
  const fill = <T extends ArrayBufferView | null>(array: T): T => {
    if (array) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < bytes.length; i++) bytes[i] = random.below(256);
    }
    return array;
  };
  const hex = (count: number) => Array.from({ length: count }, () => random.below(16).toString(16)).join("");
  const uuid = () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
  Object.defineProperty(crypto, "getRandomValues", { configurable: true, writable: true, value: fill });
  Object.defineProperty(crypto, "randomUUID", { configurable: true, writable: true, value: uuid });
  return () => {
    Math.random = mathRandom;
    Reflect.deleteProperty(crypto, "getRandomValues");
    Reflect.deleteProperty(crypto, "randomUUID");
  };
}
