import type { Host } from "./host.ts";
import { show } from "./show.ts";

/** Turns a typed value into a body and back. */
export interface Codec<T> {
  encode(value: T, topic: string): Uint8Array;
  decode(body: Uint8Array, topic: string): T;
}

/** Any object with `parse`, or a Standard Schema. */
export type Schema<T> =
  | { parse(value: unknown): T }
  | {
    readonly "~standard": {
      validate(
        value: unknown,
      ):
        | { readonly value: T }
        | { readonly issues: readonly unknown[] }
        | PromiseLike<unknown>;
    };
  };

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** What a decoder puts in the place of bytes that are not UTF-8. Made, because a bundler writes an escape as the character. */
const REPLACEMENT = String.fromCharCode(0xfffd);

/** Codecs that keep nothing of the bytes they read. */
const borrowers = new WeakSet<object>();

/** What codecs that read text make of it. */
const readers = new WeakMap<object, (text: string) => unknown>();

/** Reads a body from where it lies. What says that it is ASCII has looked at every byte. */
export type TextReader<T> = (bytes: Uint8Array, from: number, to: number, isAscii: boolean) => T;

/** Reads bodies as `decode` of the codec does; undefined when the codec does not read text. */
export function textReader<T>(
  codec: Codec<T>,
  { readText, readAscii = readText }: Pick<Host, "readText" | "readAscii">,
): TextReader<T> | undefined {
  const read = readers.get(codec) as ((text: string) => T) | undefined;
  if (!read || !readText || !readAscii) return undefined;
  return (bytes, from, to, isAscii) => {
    if (isAscii) return read(readAscii(bytes, from, to));
    const text = readText(bytes, from, to);
    return read(text.includes(REPLACEMENT) ? strictDecoder.decode(bytes.subarray(from, to)) : text);
  };
}

/** Whether a codec may be lent bytes that are somebody else's: it reads them during the call and keeps none. */
export const canBorrow = (codec: object): boolean => borrowers.has(codec);

/** Bodies as they are. */
export const bytes: Codec<Uint8Array> = { encode: (value) => value, decode: (body) => body };

/** UTF-8 text; a value that is no string and a body that is not UTF-8 are a `CodecError`. */
export const text: Codec<string> = {
  encode(value) {
    if (typeof value !== "string") throw new TypeError(`The value must be a string, got ${show(value)}`);
    return encoder.encode(value);
  },
  decode: textOf,
};
borrowers.add(text);
readers.set(text, (text) => text);

/** JSON, checked by `schema` in both directions when there is one. */
export function json<T = unknown>(schema?: Schema<T>): Codec<T> {
  const check = schema ? (value: unknown) => checked(schema, value) : (value: unknown) => value as T;
  const codec: Codec<T> = {
    encode(value) {
      const written = JSON.stringify(check(value));
      if (written === undefined) throw new TypeError("The value has no JSON");
      return encoder.encode(written);
    },
    decode: (body) => check(JSON.parse(textOf(body))),
  };
  borrowers.add(codec);
  readers.set(codec, (text) => check(JSON.parse(text)));
  return codec;
}

/** Throws a `TypeError` unless it is UTF-8. A strict decoder is up to three times as slow, so it is asked in doubt only. */
function textOf(body: Uint8Array): string {
  const text = decoder.decode(body);
  return text.includes(REPLACEMENT) ? strictDecoder.decode(body) : text;
}

function checked<T>(schema: Schema<T>, value: unknown): T {
  if ("parse" in schema) return schema.parse(value);
  const result = schema["~standard"].validate(value);
  if ("then" in result) throw new TypeError("A schema that validates asynchronously cannot be a codec");
  if ("issues" in result && result.issues) throw new AggregateError(result.issues, "The value does not fit its schema");
  return (result as { readonly value: T }).value;
}
