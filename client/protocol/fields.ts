import { FrameError } from "../errors.ts";

// Header fields travel as strings in `extFields`. What must be there and is not, or is no number, is a FrameError that names
// the field; what may be missing has Java's default. An empty text is a missing one, because a binary header cannot tell them apart.

export type ExtFields = Readonly<Record<string, string>>;

export function requireText(fields: ExtFields, name: string): string {
  const value = fields[name];
  if (value) return value;
  throw new FrameError(`Field "${name}" is missing`);
}

export const optionalText = (fields: ExtFields, name: string): string | undefined => fields[name] || undefined;

export const requireInt = (fields: ExtFields, name: string): number => int(name, requireText(fields, name));

export function optionalInt(fields: ExtFields, name: string, otherwise: number): number {
  const value = fields[name];
  return value ? int(name, value) : otherwise;
}

/** 64 bits. */
export const requireLong = (fields: ExtFields, name: string): bigint => long(name, requireText(fields, name));

export function optionalLong(fields: ExtFields, name: string, otherwise: bigint): bigint {
  const value = fields[name];
  return value ? long(name, value) : otherwise;
}

/** 64 bits on the wire, and below 2^53: offsets and times inside the client. */
export const requireSafe = (fields: ExtFields, name: string): number => safe(name, requireText(fields, name));

export function optionalSafe(fields: ExtFields, name: string, otherwise: number): number {
  const value = fields[name];
  return value ? safe(name, value) : otherwise;
}

/** "true" in any letter case; everything else is false. */
export function optionalBoolean(fields: ExtFields, name: string, otherwise: boolean): boolean {
  const value = fields[name];
  return value ? value.toLowerCase() === "true" : otherwise;
}

const INTEGER = /^[+-]?\d{1,19}$/;

function int(name: string, text: string): number {
  const number = INTEGER.test(text) ? Number(text) : NaN;
  if (number === (number | 0)) return number | 0;
  throw new FrameError(
    `Field "${name}" is wrong: expected a whole number of 32 bits, found ${JSON.stringify(text.slice(0, 64))}`,
  );
}

function safe(name: string, text: string): number {
  const number = INTEGER.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(number)) return number === 0 ? 0 : number;
  throw new FrameError(
    `Field "${name}" is wrong: expected a whole number below 2^53, found ${JSON.stringify(text.slice(0, 64))}`,
  );
}

function long(name: string, text: string): bigint {
  if (INTEGER.test(text)) {
    const value = BigInt(text[0] === "+" ? text.slice(1) : text);
    if (value === BigInt.asIntN(64, value)) return value;
  }
  throw new FrameError(
    `Field "${name}" is wrong: expected a whole number of 64 bits, found ${JSON.stringify(text.slice(0, 64))}`,
  );
}
