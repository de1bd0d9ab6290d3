import type { Message, Producer, SendResult } from "../../client/mod.ts";

/** Numbers that look random, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Bytes that no compression makes smaller. */
export function noise(length: number, seed: number): Uint8Array {
  const random = randomOf(seed);
  return Uint8Array.from({ length }, () => random() * 256);
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Small messages with the keys `word`-0, `word`-1 … and the key as body. */
export const numbered = (topic: string, word: string, count: number, tags?: string): Message[] =>
  Array.from({ length: count }, (_, index) => ({
    topic,
    keys: `${word}-${index}`,
    body: utf8(`${word}-${index}`),
    ...(tags === undefined ? {} : { tags }),
  }));

export const keysOf = (messages: readonly Message[]): string[] =>
  messages.map(({ keys }) => typeof keys === "string" ? keys : keys?.[0] ?? "");

/** Sends all with a bounded number in flight; results in the order of the messages. */
export async function sendAll(producer: Producer, messages: readonly Message[], inFlight = 64): Promise<SendResult[]> {
  const results: SendResult[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < messages.length) {
      const index = next++;
      results[index] = await producer.send(messages[index] as Message);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return results;
}
