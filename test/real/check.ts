import { isDeepStrictEqual } from "node:util";

/** Throws unless both are equal, bytes and bigints included. */
export function equal(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected)) throw new Error(`${what}: expected ${show(expected)}, got ${show(actual)}`);
}

export function holds(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`does not hold: ${what}`);
}

/** Every name once: says which are missing and which came more than once. */
export function onceEach(actual: Iterable<string>, expected: Iterable<string>, what: string): void {
  const counts = new Map<string, number>();
  for (const each of actual) counts.set(each, (counts.get(each) ?? 0) + 1);
  const wanted = new Set(expected);
  const missing = [...wanted].filter((each) => !counts.has(each));
  const twice = [...counts].filter(([, count]) => count > 1).map(([each]) => each);
  const foreign = [...counts.keys()].filter((each) => !wanted.has(each));
  const complaints = Object.entries({ missing, twice, foreign }).filter(([, list]) => list.length > 0);
  if (complaints.length === 0) return;
  throw new Error(
    `${what}: ${complaints.map(([word, list]) => `${list.length} ${word} (${show(list.slice(0, 5))})`).join(", ")}`,
  );
}

function show(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.length} bytes ${Array.from(value.subarray(0, 16)).join(" ")}…`;
  const text = JSON.stringify(value, (_key, each) => typeof each === "bigint" ? `${each}n` : each) ?? String(value);
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
