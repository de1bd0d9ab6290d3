// What the core says about a header, held against `JSON.parse` and against the reader in TypeScript.

import type { Frame } from "../../client/core.ts";
import { FrameError } from "../../client/errors.ts";
import { type Header, readHeader } from "../../client/protocol/header.ts";
import * as abi from "../../core-as/abi.ts";

/** Fails with what differs. A header that the core left to TypeScript may be anything, but reading it must end well. */
export function checkHeader(frame: Frame, twice: boolean): void {
  const bytes = frame.source.subarray(frame.headerPtr, frame.headerPtr + frame.headerLength);
  if (!(frame.fields & abi.FIELD_READ)) {
    requireEqual("fields of an unread header", frame.fields, 0);
    if (twice) readOrRefuse(bytes, frame.serializeType);
    return;
  }
  if (frame.serializeType === 1) return checkBinary(frame, readHeader(bytes, 1));
  checkJson(frame, bytes);
  if (!twice) return;
  const header = readHeader(bytes, 0);
  requireEqual("opaque as TypeScript reads it", frame.opaque, header.opaque);
  requireEqual("code as TypeScript reads it", frame.code, header.code);
}

/** Either a header or a FrameError; any other error is a fault. */
function readOrRefuse(bytes: Uint8Array, serializeType: number): void {
  try {
    readHeader(bytes, serializeType);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const INTEGER = /^-?\d{1,15}$/;

function checkJson(frame: Frame, bytes: Uint8Array): void {
  const header = JSON.parse(decoder.decode(bytes)) as Record<string, unknown>;
  if (typeof header !== "object" || header === null || Array.isArray(header)) {
    throw new Error("not an object, but read");
  }
  requireEqual("code", frame.code, integer(header["code"]));
  requireEqual("flag", frame.flag, integer(header["flag"]));
  requireEqual("opaque", frame.opaque, integer(header["opaque"]));
  const remark = header["remark"];
  requireEqual("remark", frame.fields & abi.FIELD_REMARK, remark ? abi.FIELD_REMARK : 0);
  const fields = (header["extFields"] ?? {}) as Record<string, string>;
  const others = checkFields(frame, fields);
  requireEqual("other fields", frame.fields & abi.FIELD_OTHER, others ? abi.FIELD_OTHER : 0);
}

function checkBinary(frame: Frame, header: Header): void {
  requireEqual("code", frame.code, header.code);
  requireEqual("flag", frame.flag, header.flag);
  requireEqual("opaque", frame.opaque, header.opaque);
  requireEqual("remark", frame.fields & abi.FIELD_REMARK, header.remark ? abi.FIELD_REMARK : 0);
  // A field with an empty value is none in TypeScript and an "other" one in the core.
  if (checkFields(frame, header.extFields)) {
    requireEqual("other fields", frame.fields & abi.FIELD_OTHER, abi.FIELD_OTHER);
  }
}

function integer(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value !== "number" || (value | 0) !== value) throw new Error(`${value} was read as an integer`);
  return value | 0;
}

/** Compares the fields that completions have a place for; returns how many other ones there are. */
function checkFields(frame: Frame, fields: Readonly<Record<string, string>>): number {
  let found = 0, others = 0;
  for (const name in fields) {
    const value = fields[name]!;
    if (typeof value !== "string") throw new Error(`${name} is no text, but was read`);
    const field = FIELDS.get(name);
    if (field === undefined) {
      others++;
      continue;
    }
    if (found & field) throw new Error(`two fields for one place, and ${name} was read`);
    found |= field;
    checkField(frame, name, field, value);
  }
  requireEqual("fields", frame.fields & ALL_FIELDS, found);
  return others;
}

const FIELDS: ReadonlyMap<string, number> = new Map([
  ["queueOffset", abi.FIELD_A],
  ["nextBeginOffset", abi.FIELD_A],
  ["offset", abi.FIELD_A],
  ["queueId", abi.FIELD_B],
  ["minOffset", abi.FIELD_B],
  ["maxOffset", abi.FIELD_C],
  ["msgId", abi.FIELD_TEXT],
  ["suggestWhichBrokerId", abi.FIELD_BROKER_ID],
]);
const ALL_FIELDS = [...FIELDS.values()].reduce((all, field) => all | field, 0);

function checkField(frame: Frame, name: string, field: number, value: string): void {
  if (field === abi.FIELD_TEXT) {
    const at = frame.textPtr;
    requireEqual(name, decoder.decode(frame.source.subarray(at, at + frame.textLength)), value);
    return;
  }
  if (!INTEGER.test(value)) throw new Error(`${name} "${value}" was read as an integer`);
  const found = field === abi.FIELD_A
    ? frame.a
    : field === abi.FIELD_B
    ? frame.b
    : field === abi.FIELD_C
    ? frame.c
    : frame.brokerId;
  // -0 and 0 are one number on the wire.
  requireEqual(name, found + 0, Number(value) + 0);
}

function requireEqual(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${what}: ${String(found)}, expected ${String(expected)}`);
}
