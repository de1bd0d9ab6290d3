import { FrameError } from "../errors.ts";

/**
 * A JSON text as RocketMQ's peers write it. fastjson writes bare integers and whole objects as keys, so an object is a list of
 * entries; a whole number beyond 2^53 is a `bigint`.
 */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;

/** A key: a number when it was written bare. */
export type JsonKey = string | number | bigint | JsonObject;
export type JsonEntry = readonly [key: JsonKey, value: JsonValue];

export class JsonObject {
  readonly entries: readonly JsonEntry[];

  constructor(entries: readonly JsonEntry[]) {
    this.entries = entries;
  }

  /** The value of a name. Of two equal keys the last wins. */
  get(name: string): JsonValue | undefined {
    for (let i = this.entries.length - 1; i >= 0; i--) {
      const entry = this.entries[i]!;
      if (entry[0] === name) return entry[1];
    }
    return undefined;
  }
}

/** How deep arrays, objects and object keys may nest. */
export const JSON_DEPTH_MAX = 64;
/** Digits of one whole number: more than any 64-bit one has, and short enough to convert at once. */
const DIGITS_MAX = 40;

/**
 * Reads a text that fastjson would read: also bare integer keys, object keys, single quotes and trailing commas.
 * Throws `FrameError` with the position of what makes no sense; nesting is bounded, and no number is NaN or infinite.
 */
export function parseJson(text: string): JsonValue {
  const parser = new Parser(text);
  const value = parser.value(0);
  parser.end();
  return value;
}

const SPACE = 0x20, QUOTE = 0x22, APOSTROPHE = 0x27, COMMA = 0x2c, MINUS = 0x2d, COLON = 0x3a, BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b, CLOSE_BRACKET = 0x5d, OPEN_BRACE = 0x7b, CLOSE_BRACE = 0x7d;

const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): JsonValue {
    const next = this.#peek();
    if (next === QUOTE || next === APOSTROPHE) return this.#string();
    if (next === OPEN_BRACE) return this.#object(depth + 1);
    if (next === OPEN_BRACKET) return this.#array(depth + 1);
    if (next === MINUS || isDigit(next)) return this.#number();
    const word = this.#match(WORD);
    if (word === undefined) throw this.#broken("a value");
    return word === "null" ? null : word === "true";
  }

  /** White space and zero bytes may follow, as peers pad; anything else may not. */
  end(): void {
    if (this.#peek() !== -1) throw this.#broken("the end");
  }

  #object(depth: number): JsonObject {
    this.#descend(depth);
    const entries: JsonEntry[] = [];
    for (let next = this.#peek(); next !== CLOSE_BRACE; next = this.#separator(CLOSE_BRACE)) {
      const key = this.#key(next, depth);
      if (this.#peek() !== COLON) throw this.#broken('":"');
      this.#at++;
      entries.push([key, this.value(depth)]);
    }
    this.#at++;
    return new JsonObject(entries);
  }

  #key(next: number, depth: number): JsonKey {
    if (next === QUOTE || next === APOSTROPHE) return this.#string();
    if (next === OPEN_BRACE) return this.#object(depth + 1);
    if (next === MINUS || isDigit(next)) return this.#number();
    throw this.#broken("a key");
  }

  #array(depth: number): JsonValue[] {
    this.#descend(depth);
    const values: JsonValue[] = [];
    for (let next = this.#peek(); next !== CLOSE_BRACKET; next = this.#separator(CLOSE_BRACKET)) {
      values.push(this.value(depth));
    }
    this.#at++;
    return values;
  }

  #descend(depth: number): void {
    if (depth > JSON_DEPTH_MAX) {
      throw new FrameError(`JSON text is nested more than ${JSON_DEPTH_MAX} deep at ${this.#at}`);
    }
    this.#at++;
  }

  /** Behind a value: what comes next, its comma consumed. */
  #separator(close: number): number {
    const next = this.#peek();
    if (next === close) return next;
    if (next !== COMMA) throw this.#broken('"," or the end of the list');
    this.#at++;
    return this.#peek();
  }

  #string(): string {
    const text = this.#text, from = this.#at + 1;
    const end = text.indexOf(text[this.#at]!, from);
    const value = end < 0 ? "\\" : text.slice(from, end);
    if (value.includes("\\")) return this.#escaped();
    this.#at = end + 1;
    return value;
  }

  /** A string with escapes in it, or without an end. */
  #escaped(): string {
    const text = this.#text;
    const quote = text.charCodeAt(this.#at);
    let from = ++this.#at;
    let value = "";
    for (; this.#at < text.length; this.#at++) {
      const unit = text.charCodeAt(this.#at);
      if (unit === quote) {
        value += text.slice(from, this.#at++);
        return value;
      }
      if (unit !== BACKSLASH) continue;
      value += text.slice(from, this.#at) + this.#escape();
      from = this.#at + 1;
    }
    throw this.#broken("the end of a string");
  }

  /** Leaves the position at the escape's last character. */
  #escape(): string {
    const letter = this.#text[++this.#at] ?? "";
    if (letter === "u" || letter === "x") {
      const digits = letter === "u" ? 4 : 2;
      const hex = this.#text.slice(this.#at + 1, this.#at + 1 + digits);
      if (hex.length < digits || !HEX.test(hex)) throw this.#broken("hexadecimal digits");
      this.#at += digits;
      return String.fromCharCode(Number.parseInt(hex, 16));
    }
    const index = ESCAPES.indexOf(letter);
    if (letter === "" || index < 0) throw this.#broken("an escape");
    return ESCAPED[index]!;
  }

  #number(): number | bigint {
    const at = this.#at;
    const digits = this.#match(NUMBER);
    if (digits === undefined) throw this.#broken("a number");
    if (digits.length <= SAFE_DIGITS && WHOLE.test(digits)) return digits === "-0" ? 0 : Number(digits);
    const number = Number(digits);
    if (Number.isSafeInteger(number)) return number === 0 ? 0 : number;
    const whole = !/[.eE]/.test(digits);
    if (whole && digits.length <= DIGITS_MAX) return BigInt(digits);
    if (whole || !Number.isFinite(number)) throw new FrameError(`JSON text has a number that is too large at ${at}`);
    return number;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  /** Skips white space; -1 at the end. */
  #peek(): number {
    for (; this.#at < this.#text.length; this.#at++) {
      const unit = this.#text.charCodeAt(this.#at);
      if (unit > SPACE) return unit;
    }
    return -1;
  }

  #broken(wanted: string): FrameError {
    const found = this.#at < this.#text.length ? JSON.stringify(this.#text.slice(this.#at, this.#at + 16)) : "the end";
    return new FrameError(`JSON text is broken at ${this.#at}: expected ${wanted}, found ${found}`);
  }
}

/** So many characters are below 2^53, the sign included. */
const SAFE_DIGITS = 15;
const WHOLE = /^-?\d+$/;

const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;
const HEX = /^[0-9a-fA-F]+$/;
const ESCAPES = "\"\\/'bfnrtv0";
const ESCAPED = "\"\\/'\b\f\n\r\t\v\0";

/**
 * What `writeJson` takes. A plain object is written as Java writes a bean: keys sorted, null and undefined left out. A map
 * keeps its order, and its keys are written as they are: a number bare, an object as an object. What `parseJson` read is
 * written as it was.
 */
export type Writable =
  | null
  | undefined
  | boolean
  | number
  | bigint
  | string
  | readonly Writable[]
  | WritableMap
  | WritableObject
  | JsonObject;
export type WritableMap = ReadonlyMap<string | number | bigint | WritableObject, Writable>;
export interface WritableObject {
  readonly [name: string]: Writable;
}

/** The text fastjson would write, byte for byte. */
export function writeJson(value: Writable): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${(value as readonly Writable[]).map(writeJson).join(",")}]`;
  if (value instanceof Map) return writeMap(value as WritableMap);
  if (value instanceof JsonObject) {
    return `{${value.entries.map(([key, each]) => `${writeJson(key)}:${writeJson(each)}`).join(",")}}`;
  }
  return writeBean(value as WritableObject);
}

function writeMap(map: WritableMap): string {
  const entries: string[] = [];
  for (const [key, value] of map) {
    if (value !== undefined && value !== null) entries.push(`${writeJson(key)}:${writeJson(value)}`);
  }
  return `{${entries.join(",")}}`;
}

function writeBean(bean: WritableObject): string {
  const entries: string[] = [];
  for (const name of Object.keys(bean).sort()) {
    const value = bean[name];
    if (value !== undefined && value !== null) entries.push(`${JSON.stringify(name)}:${writeJson(value)}`);
  }
  return `{${entries.join(",")}}`;
}
