import * as abi from "../../core-as/abi.ts";
import type { Step } from "../core.ts";
import { ArgumentError } from "../errors.ts";
import { BINARY_CODE_MAX, RESPONSE_FLAG } from "./codes.ts";
import type { SerializeType } from "./command.ts";
import { encodeText } from "./text.ts";
import { LANGUAGE, LANGUAGES, VERSION } from "./version.ts";

/** A header field of a program: what it always is, where its value comes from, or a value of several such parts. */
export type ProgramField = readonly [name: string, value: string | Hole | readonly (string | Part)[]];

/** A part of a value that differs from call to call. */
export interface Part {
  /** The hole in a JSON header, and within a longer value of a binary one. */
  readonly json: number;
  readonly part: number;
}
/** Something that may also be a whole value. */
export interface Hole extends Part {
  /** The hole in a binary header, with the length in front. */
  readonly binary: number;
}

/** The number that goes with the call. */
export const VALUE: Hole = { json: abi.HOLE_VALUE, part: abi.HOLE_VALUE, binary: abi.HOLE_VALUE32 };
/** The time the core was last told. */
export const BORN_TIMESTAMP: Hole = {
  json: abi.HOLE_BORN_TIMESTAMP,
  part: abi.HOLE_BORN_TIMESTAMP,
  binary: abi.HOLE_BORN_TIMESTAMP32,
};
/** The next argument, which needs no escape in JSON: numbers. */
export const ARGUMENT: Hole = { json: abi.HOLE_ARGUMENT, part: abi.HOLE_ARGUMENT, binary: abi.HOLE_ARGUMENT32 };
/** The next argument, any text. */
export const TEXT_ARGUMENT: Hole = {
  json: abi.HOLE_ARGUMENT_JSON,
  part: abi.HOLE_ARGUMENT,
  binary: abi.HOLE_ARGUMENT32,
};
/** The last 12 digits of the call's unique id. */
export const UNIQUE_ID: Part = { json: abi.HOLE_UNIQUE_ID, part: abi.HOLE_UNIQUE_ID };

/**
 * The header of one request as literals and holes, for `core.program`. Arguments are given in the order of the fields that
 * take one. Empty constants are left out: a binary header cannot carry them.
 */
export const requestProgram = (
  code: number,
  fields: readonly ProgramField[],
  serializeType: SerializeType,
): readonly Step[] => headerProgram({ code, flag: 0, remark: "" }, fields, serializeType);

/** The same for an answer: a server's business. */
export const answerProgram = (
  code: number,
  remark: string,
  fields: readonly ProgramField[],
  serializeType: SerializeType,
): readonly Step[] => headerProgram({ code, flag: RESPONSE_FLAG, remark }, fields, serializeType);

/** What a header says besides its fields. */
interface Head {
  readonly code: number;
  readonly flag: number;
  readonly remark: string;
}

function headerProgram(head: Head, fields: readonly ProgramField[], serializeType: SerializeType): readonly Step[] {
  const given = fields.filter(([, value]) => value !== "");
  if (serializeType === "JSON") return jsonProgram(head, given);
  if (head.code > BINARY_CODE_MAX) throw new ArgumentError(`Cannot write request ${head.code} with a binary header`);
  return binaryProgram(head, given);
}

function jsonProgram({ code, flag, remark }: Head, fields: readonly ProgramField[]): readonly Step[] {
  const steps: Step[] = [[
    `{"code":${code},"language":"${LANGUAGE}","version":${VERSION},"flag":${flag},"opaque":`,
    abi.HOLE_OPAQUE,
  ]];
  let literal = `${remark === "" ? "" : `,"remark":${JSON.stringify(remark)}`},"extFields":{`;
  for (const [index, [name, value]] of fields.entries()) {
    literal += `${index === 0 ? "" : ","}${JSON.stringify(name)}:"`;
    for (const part of partsOf(value)) {
      if (typeof part === "string") {
        literal += JSON.stringify(part).slice(1, -1);
        continue;
      }
      steps.push([literal, part.json]);
      literal = "";
    }
    literal += `"`;
  }
  steps.push([`${literal}}}`, abi.HOLE_END]);
  return steps;
}

function binaryProgram({ code, flag, remark }: Head, fields: readonly ProgramField[]): readonly Step[] {
  const start = new Uint8Array(5);
  const view = new DataView(start.buffer);
  view.setInt16(0, code);
  view.setInt8(2, LANGUAGES.indexOf(LANGUAGE));
  view.setInt16(3, VERSION);
  const text = encodeText(remark), middle = new Uint8Array(8 + text.length);
  new DataView(middle.buffer).setInt32(0, flag);
  new DataView(middle.buffer).setInt32(4, text.length);
  middle.set(text, 8);
  const steps: Step[] = [[start, abi.HOLE_OPAQUE32], [middle, abi.HOLE_OPEN]];
  let literal: number[] = [];
  const put = (bytes: Uint8Array): void => {
    for (const byte of bytes) literal.push(byte);
  };
  const hole = (kind: number): void => {
    steps.push([Uint8Array.from(literal), kind]);
    literal = [];
  };
  for (const [name, value] of fields) {
    const key = encodeText(name);
    literal.push(key.length >> 8, key.length & 0xff);
    put(key);
    if (typeof value === "string") {
      const text = encodeText(value), { length } = text;
      literal.push(length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff);
      put(text);
    } else if ("binary" in value) hole(value.binary);
    else {
      hole(abi.HOLE_OPEN);
      for (const part of partsOf(value)) {
        if (typeof part === "string") put(encodeText(part));
        else hole(part.part);
      }
      hole(abi.HOLE_CLOSE);
    }
  }
  steps.push([Uint8Array.from(literal), abi.HOLE_CLOSE], [new Uint8Array(0), abi.HOLE_END]);
  return steps;
}

const partsOf = (value: ProgramField[1]): readonly (string | Part)[] =>
  typeof value === "string" || "json" in value ? [value] : value;
