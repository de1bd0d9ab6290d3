import { FIELD_READ, FRAME_MAX } from "../../core-as/abi.ts";
import type { Frame } from "../core.ts";
import { ArgumentError, FrameError } from "../errors.ts";
import { BINARY_CODE_MAX } from "./codes.ts";
import { type Header, readHeader, SERIALIZE_JSON, SERIALIZE_ROCKETMQ } from "./header.ts";
import { concat, EMPTY, encodeText } from "./text.ts";
import { LANGUAGE, LANGUAGES, VERSION } from "./version.ts";

export type SerializeType = "JSON" | "ROCKETMQ";

/** A request that is encoded field by field. */
export interface Request {
  readonly code: number;
  readonly extFields?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly remark?: string;
}

/** A copied answer, of any code. */
export interface Response {
  readonly code: number;
  /** Empty when there is none. */
  readonly remark: string;
  readonly extFields: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly version: number;
  readonly language: string;
}

/** One frame, in either direction and either header kind. */
export interface RemotingCommand {
  code: number;
  /** "" when unknown. */
  language: string;
  version: number;
  opaque: number;
  flag: number;
  remark?: string;
  extFields: Readonly<Record<string, string>>;
  body: Uint8Array;
  serializeType: SerializeType;
}

/** A command to encode: language and version are this client's unless given, the header is JSON. */
export interface Command {
  readonly code: number;
  readonly opaque: number;
  readonly flag: number;
  readonly remark?: string | undefined;
  readonly extFields?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | undefined;
  readonly language?: string | undefined;
  readonly version?: number | undefined;
  readonly serializeType?: SerializeType | undefined;
}

/** Bytes in front of a header: length word and header word. */
const PREFIX = 8;
const HEADER_MAX = 0xffffff;

/**
 * frame = length int32, header word int32, header, body. The length counts what follows it; the header word has the kind in
 * its high byte and the header's length below. A code above 32767 always travels with a JSON header.
 */
export function encodeCommand(command: Command): Uint8Array {
  for (const name of ["code", "opaque", "flag"] as const) checkInt32(name, command[name]);
  const language = command.language ?? LANGUAGE, version = command.version ?? VERSION;
  checkInt32("version", version);
  if (language !== "" && !LANGUAGES.includes(language)) {
    throw new ArgumentError(`Cannot encode a command of language "${language}"`);
  }
  const { serializeType, head, tail } = headerParts(command, language, version);
  const header = typeof head === "string"
    ? encodeText(`${head}${command.opaque}${tail}`)
    : concat([head, int32(command.opaque), tail as Uint8Array]);
  return frameOf(header, serializeType === "JSON" ? SERIALIZE_JSON : SERIALIZE_ROCKETMQ, command.body ?? EMPTY);
}

/** A header but for its opaque: texts around it in JSON, bytes in ROCKETMQ. */
export interface HeaderParts {
  readonly serializeType: SerializeType;
  readonly head: string | Uint8Array;
  readonly tail: string | Uint8Array;
}

/** What this client writes in front of an opaque and behind it. Throws `ArgumentError` as `encodeCommand` does. */
export function headerParts(
  command: Omit<Command, "opaque" | "body">,
  language: string = LANGUAGE,
  version: number = VERSION,
): HeaderParts {
  const { code } = command;
  const binary = command.serializeType === "ROCKETMQ" && code <= BINARY_CODE_MAX && code >= -BINARY_CODE_MAX - 1;
  return binary ? binaryParts(command, language, version) : jsonParts(command, language, version);
}

/** One whole frame. Throws `FrameError` on anything that breaks the protocol. */
export function decodeCommand(frame: Uint8Array): RemotingCommand {
  if (frame.length < PREFIX) throw new FrameError(`A frame of ${frame.length} bytes is too short`);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const length = view.getInt32(0);
  const word = view.getInt32(4);
  const headerLength = word & HEADER_MAX;
  if (length !== frame.length - 4) {
    throw new FrameError(`A frame says it is ${length} bytes long behind its length, and is ${frame.length - 4}`);
  }
  if (frame.length > FRAME_MAX) throw new FrameError(`A frame of ${frame.length} bytes is longer than ${FRAME_MAX}`);
  if (headerLength > length - 4) {
    throw new FrameError(`A frame of ${frame.length} bytes says its header has ${headerLength}`);
  }
  const end = PREFIX + headerLength;
  const serializeType = word >>> 24;
  return commandOf(readHeader(frame.subarray(PREFIX, end), serializeType), serializeType, frame.slice(end));
}

/** Whether code, opaque and flag of a lent frame are known without reading its header here. */
export const isRead = (frame: Frame): boolean => (frame.fields & FIELD_READ) !== 0;

/** Copies a lent frame; the result is the caller's. */
export function readCommand(frame: Frame): RemotingCommand {
  return commandOf(readHeader(frame.headerBytes(), frame.serializeType), frame.serializeType, frame.body());
}

function commandOf(header: Header, serializeType: number, body: Uint8Array): RemotingCommand {
  const { code, language, version, opaque, flag, remark, extFields } = header;
  const command: RemotingCommand = {
    code,
    language,
    version,
    opaque,
    flag,
    extFields,
    body,
    serializeType: serializeType === SERIALIZE_ROCKETMQ ? "ROCKETMQ" : "JSON",
  };
  if (remark !== undefined) command.remark = remark;
  return command;
}

function jsonParts(command: Omit<Command, "opaque">, language: string, version: number): HeaderParts {
  const { code, flag, remark, extFields } = command;
  for (const name in extFields) checkText(name, extFields[name]);
  const head = `${JSON.stringify({ code, extFields, flag, language }).slice(0, -1)},"opaque":`;
  const tail = `${remark === undefined ? "" : `,"remark":${JSON.stringify(remark)}`},"version":${version}}`;
  return { serializeType: "JSON", head, tail };
}

function binaryParts(command: Omit<Command, "opaque">, language: string, version: number): HeaderParts {
  const head = new Uint8Array(5);
  const view = new DataView(head.buffer);
  view.setInt16(0, command.code);
  // -1 is nobody's number: peers read it as an unknown language.
  view.setInt8(2, LANGUAGES.indexOf(language));
  view.setInt16(3, version);
  const remark = command.remark ? encodeText(command.remark) : EMPTY;
  const fields: Uint8Array[] = [];
  let extLength = 0;
  for (const [name, value] of Object.entries(command.extFields ?? {})) {
    checkText(name, value);
    const key = encodeText(name), text = encodeText(value);
    if (key.length === 0 || key.length > BINARY_CODE_MAX) {
      throw new ArgumentError(`Cannot encode a field name of ${key.length} bytes`);
    }
    fields.push(int32(key.length).subarray(2), key, int32(text.length), text);
    extLength += 6 + key.length + text.length;
  }
  const tail = concat([int32(command.flag), int32(remark.length), remark, int32(extLength), ...fields]);
  return { serializeType: "ROCKETMQ", head, tail };
}

function int32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value);
  return bytes;
}

function frameOf(header: Uint8Array, serializeType: number, body: Uint8Array): Uint8Array {
  const length = PREFIX + header.length + body.length;
  if (header.length > HEADER_MAX || length > FRAME_MAX) {
    throw new ArgumentError(`Cannot send a frame of ${length} bytes: at most ${FRAME_MAX} are allowed`);
  }
  const frame = new Uint8Array(length);
  const view = new DataView(frame.buffer);
  view.setInt32(0, length - 4);
  view.setInt32(4, header.length | serializeType << 24);
  frame.set(header, PREFIX);
  frame.set(body, PREFIX + header.length);
  return frame;
}

function checkInt32(name: string, value: number): void {
  if (value !== (value | 0)) {
    throw new ArgumentError(`Cannot encode a command: ${name} must be a whole number of 32 bits, got ${value}`);
  }
}

function checkText(name: string, value: string | undefined): asserts value is string {
  if (typeof value !== "string") {
    throw new ArgumentError(`Cannot encode a command: field "${name}" must be a string, got ${typeof value}`);
  }
}
