import type { Step } from "../../client/core.ts";
import * as abi from "../../core-as/abi.ts";
import { BINARY_KIND, concat, int32, JSON_KIND, utf8 } from "../support/frames.ts";

export interface Call {
  readonly steps: readonly Step[];
  readonly serializeType: "JSON" | "ROCKETMQ";
  readonly opaque: number;
  readonly value: number;
  readonly now: number;
  readonly args: readonly string[];
  readonly body: Uint8Array;
  /** What UNIQUE_ID holes hold. */
  readonly id?: number;
}

/** The frame that a header program must write: piece by piece, with JSON.stringify for escapes. */
export function frameModel(call: Call): Uint8Array {
  const { steps, serializeType, args, body } = call;
  const header = headerModel(steps, call, [...args]);
  const kind = serializeType === "JSON" ? JSON_KIND : BINARY_KIND;
  return concat([int32(4 + header.length + body.length), int32(kind << 24 | header.length), header, body]);
}

function headerModel(steps: readonly Step[], call: Call, args: string[]): Uint8Array {
  const opened: Uint8Array[][] = [];
  let parts: Uint8Array[] = [];
  for (const [literal, hole] of steps) {
    parts.push(typeof literal === "string" ? utf8(literal) : literal);
    if (hole === abi.HOLE_OPEN) {
      opened.push(parts);
      parts = [];
    } else if (hole === abi.HOLE_CLOSE) {
      const inner = concat(parts);
      parts = opened.pop()!;
      parts.push(int32(inner.length), inner);
    } else parts.push(holeModel(hole, call, args));
  }
  return concat(parts);
}

function holeModel(hole: number, { opaque, value, now, id }: Call, args: string[]): Uint8Array {
  switch (hole) {
    case abi.HOLE_OPAQUE:
      return utf8(String(opaque));
    case abi.HOLE_OPAQUE32:
      return int32(opaque);
    case abi.HOLE_VALUE:
      return utf8(String(value));
    case abi.HOLE_VALUE32:
      return withLength(utf8(String(value)));
    case abi.HOLE_BORN_TIMESTAMP:
      return utf8(String(now));
    case abi.HOLE_BORN_TIMESTAMP32:
      return withLength(utf8(String(now)));
    case abi.HOLE_ARGUMENT:
      return utf8(args.shift()!);
    case abi.HOLE_ARGUMENT32:
      return withLength(utf8(args.shift()!));
    case abi.HOLE_ARGUMENT_JSON:
      return utf8(escaped(args.shift()!));
    case abi.HOLE_UNIQUE_ID:
      return utf8(id!.toString(16).toUpperCase().padStart(12, "0"));
    default:
      return new Uint8Array(0);
  }
}

const withLength = (bytes: Uint8Array): Uint8Array => concat([int32(bytes.length), bytes]);

/** The inside of a JSON string; all control characters the long way. */
export function escaped(text: string): string {
  return [...text].map((character) => {
    if (character >= " ") return JSON.stringify(character).slice(1, -1);
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  }).join("");
}
