// What the codec is given, checked at its door: plain JavaScript hands in an ArrayBuffer or null, and a wrong answer to that
// would be a silent one.
import { ArgumentError } from "./errors.ts";
import { show } from "./show.ts";

/** Throws `ArgumentError` unless `value` is a Uint8Array whose bytes are there; `what` is the beginning of a sentence. */
export function checkBytes(what: string, value: unknown): asserts value is Uint8Array {
  if (!isUint8Array(value)) throw new ArgumentError(`${what} must be a Uint8Array, got ${show(value)}`);
  if (value.length === 0 && isDetached(value)) {
    throw new ArgumentError(`${what} must have its bytes: they were transferred away`);
  }
}

/** Also one of another realm, which is not an instance of this realm's class. */
const isUint8Array = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]";

/** Not every runtime that we support knows `ArrayBuffer.detached`; all refuse a view of such a buffer. */
function isDetached({ buffer }: Uint8Array): boolean {
  if (buffer.byteLength > 0) return false;
  try {
    return new Uint8Array(buffer).length > 0;
  } catch {
    return true;
  }
}

/** Throws `ArgumentError` unless `value` is an object. */
export function checkObject(what: string, value: unknown): asserts value is object {
  if (typeof value !== "object" || value === null) {
    throw new ArgumentError(`${what} must be an object, got ${show(value)}`);
  }
}

/** Throws `ArgumentError` unless `value` is an array. */
export function checkArray(what: string, value: unknown): void {
  if (!Array.isArray(value)) throw new ArgumentError(`${what} must be an array, got ${show(value)}`);
}

/** Throws `ArgumentError` unless `value` is a whole number of 32 bits, with or without a sign. */
export function checkSeed(value: unknown): void {
  if (typeof value === "number" && Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 32) return;
  throw new ArgumentError(`seed must be a whole number of 32 bits, got ${show(value)}`);
}
