import { FrameError } from "../errors.ts";
import { JsonObject, type JsonValue } from "./json.ts";

// Reading what a JSON text says, with errors that name the field. `what` is its path, for example "queueDatas.perm".

export function objectOf(value: JsonValue | undefined, what: string): JsonObject {
  if (value instanceof JsonObject) return value;
  throw wrong(value, what, "an object");
}

/** A missing list is an empty one, as in Java. */
export function listOf(value: JsonValue | undefined, what: string): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw wrong(value, what, "a list");
}

/** A missing object has no entries. */
export function entriesOf(value: JsonValue | undefined, what: string): JsonObject["entries"] {
  if (value === undefined || value === null) return [];
  return objectOf(value, what).entries;
}

export function textOf(value: JsonValue | undefined, what: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  throw wrong(value, what, "a text");
}

export const optionalTextOf = (value: JsonValue | undefined, what: string): string | undefined =>
  value === undefined || value === null ? undefined : textOf(value, what);

/** A whole number of 32 bits, also when it was written as a text. */
export function int32Of(value: JsonValue | undefined, what: string, otherwise?: number): number {
  if ((value === undefined || value === null) && otherwise !== undefined) return otherwise;
  const number = typeof value === "string" && INTEGER.test(value) ? Number(value) : value;
  if (typeof number === "number" && number === (number | 0)) return number | 0;
  throw wrong(value, what, "a whole number of 32 bits");
}

/** A whole number of 64 bits. */
export function int64Of(value: JsonValue | undefined, what: string, otherwise?: bigint): bigint {
  if ((value === undefined || value === null) && otherwise !== undefined) return otherwise;
  if (typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value)) || isDigits(value)) {
    const whole = BigInt(value as bigint | number | string);
    if (whole === BigInt.asIntN(64, whole)) return whole;
  }
  throw wrong(value, what, "a whole number of 64 bits");
}

/** A whole number that a JavaScript number holds exactly. */
export function safeIntegerOf(value: JsonValue | undefined, what: string, otherwise?: number): number {
  if ((value === undefined || value === null) && otherwise !== undefined) return otherwise;
  const number = Number(int64Of(value, what));
  if (Number.isSafeInteger(number)) return number;
  throw wrong(value, what, "a whole number below 2^53");
}

export function booleanOf(value: JsonValue | undefined, what: string, otherwise: boolean): boolean {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === "boolean") return value;
  if (typeof value === "string") return value.toLowerCase() === "true";
  throw wrong(value, what, "true or false");
}

const INTEGER = /^-?\d{1,19}$/;
const isDigits = (value: JsonValue | undefined): boolean => typeof value === "string" && INTEGER.test(value);

function wrong(value: JsonValue | undefined, what: string, wanted: string): FrameError {
  if (value === undefined || value === null) return new FrameError(`Field "${what}" is missing: expected ${wanted}`);
  const found = value instanceof JsonObject
    ? "an object"
    : Array.isArray(value)
    ? "a list"
    : String(value).slice(0, 64);
  return new FrameError(`Field "${what}" is wrong: expected ${wanted}, found ${found}`);
}
