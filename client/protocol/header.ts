import { FrameError } from "../errors.ts";
import { JsonObject, type JsonValue, parseJson, writeJson } from "./json.ts";
import { int32Of, objectOf, optionalTextOf } from "./json_access.ts";
import { emptyProperties } from "./properties.ts";
import { decodeText } from "./text.ts";
import { LANGUAGES } from "./version.ts";

/** What stands between a frame's header word and its body, in either kind. */
export interface Header {
  readonly code: number;
  /** A name of `LanguageCode`; empty when the peer named one we do not know. */
  readonly language: string;
  readonly version: number;
  readonly opaque: number;
  readonly flag: number;
  readonly remark: string | undefined;
  /** Without a prototype: a field may have any name. */
  readonly extFields: Readonly<Record<string, string>>;
}

export const SERIALIZE_JSON = 0;
export const SERIALIZE_ROCKETMQ = 1;

/** Reads a header whole. Throws `FrameError` when it is broken or of an unknown kind. */
export function readHeader(bytes: Uint8Array, serializeType: number): Header {
  if (serializeType === SERIALIZE_JSON) return readJsonHeader(bytes);
  if (serializeType === SERIALIZE_ROCKETMQ) return readBinaryHeader(bytes);
  throw new FrameError(`Cannot read a header of kind ${serializeType}`);
}

/** Missing keys have Java's defaults; unknown keys are ignored. */
function readJsonHeader(bytes: Uint8Array): Header {
  const header = objectOf(parseJson(decodeText(bytes)), "header");
  const language = optionalTextOf(header.get("language"), "language") ?? "JAVA";
  return {
    code: int32Of(header.get("code"), "code", 0),
    language: LANGUAGES.includes(language) ? language : "",
    version: int32Of(header.get("version"), "version", 0),
    opaque: int32Of(header.get("opaque"), "opaque", 0),
    flag: int32Of(header.get("flag"), "flag", 0),
    remark: optionalTextOf(header.get("remark"), "remark"),
    extFields: readExtFields(header.get("extFields")),
  };
}

function readExtFields(value: JsonValue | undefined): Record<string, string> {
  const fields = emptyProperties();
  if (value === undefined || value === null) return fields;
  for (const [key, field] of objectOf(value, "extFields").entries) {
    if (key instanceof JsonObject || field === null) continue;
    fields[String(key)] = typeof field === "object" ? writeJson(field) : String(field);
  }
  return fields;
}

/**
 * header = code int16, language int8, version int16, opaque int32, flag int32, remark length int32, remark,
 * ext length int32, *( key length int16, key, value length int32, value ).
 * An empty remark or value is none, as in Java; an empty key cannot be read there, so it is an error here too.
 */
function readBinaryHeader(bytes: Uint8Array): Header {
  const reader = new Reader(bytes);
  const code = reader.int16("code");
  const language = LANGUAGES[reader.int8("language")] ?? "";
  const version = reader.int16("version");
  const opaque = reader.int32("opaque");
  const flag = reader.int32("flag");
  const remark = reader.text(reader.int32("remark"), "remark");
  const extFields = emptyProperties();
  const extLength = reader.int32("extFields");
  const end = reader.at + extLength;
  if (extLength < 0 || end > bytes.length) throw new FrameError(`A binary header has ${extLength} bytes of extFields`);
  while (reader.at < end) {
    const key = reader.text(reader.int16("extFields"), "key");
    if (key === "") throw new FrameError("A binary header has a field without a name");
    const value = reader.text(reader.int32(key), key);
    if (value !== "") extFields[key] = value;
  }
  if (reader.at !== end) throw new FrameError("A binary header's fields do not end where it says");
  return { code, language, version, opaque, flag, remark: remark === "" ? undefined : remark, extFields };
}

/** Big-endian reading that checks every length before what is behind it. */
class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  int8(what: string): number {
    return this.#view.getInt8(this.#take(1, what));
  }

  int16(what: string): number {
    return this.#view.getInt16(this.#take(2, what));
  }

  int32(what: string): number {
    return this.#view.getInt32(this.#take(4, what));
  }

  text(length: number, what: string): string {
    if (length < 0) throw new FrameError(`A binary header has a length of ${length} for "${what}"`);
    const at = this.#take(length, what);
    return decodeText(this.#bytes.subarray(at, at + length));
  }

  #take(length: number, what: string): number {
    const at = this.at;
    if (at + length > this.#bytes.length) throw new FrameError(`A binary header ends inside "${what}"`);
    this.at = at + length;
    return at;
  }
}
