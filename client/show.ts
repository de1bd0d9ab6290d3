/** Longer texts say nothing more to people. */
const SHOWN_MAX = 200;

/**
 * Anything a user may hand us, as text for people: short, and never an error, whatever `toString`, `toJSON` or a proxy of
 * it does.
 */
export function show(value: unknown): string {
  try {
    const text = textOf(value);
    return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}...` : text;
  } catch {
    return `something that cannot be shown (${typeof value})`;
  }
}

function textOf(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (value === null || typeof value !== "object") return String(value);
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  return jsonOf(value) ?? Object.prototype.toString.call(value);
}

/** Undefined when there is none: a circle, a bigint, a toJSON that throws. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** The text of anything that was thrown. */
export function reasonOf(error: unknown): string {
  try {
    if (error instanceof Error) return String(error.message);
    return typeof error === "string" ? error : show(error);
  } catch {
    return show(error);
  }
}

/** Calls what a user gave us. Neither what it throws nor what its promise rejects with goes further than `failed`. */
export function callUser(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    const result = call();
    if (isThenable(result)) Promise.resolve(result).catch(failed);
  } catch (error) {
    failed(error);
  }
}

export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  value !== null && typeof value === "object" && typeof (value as { then?: unknown }).then === "function";
