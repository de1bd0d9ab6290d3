import type { Core, Frame } from "../../client/core.ts";

const encoder = new TextEncoder();

export const JSON_KIND = 0;
export const BINARY_KIND = 1;

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Whether two runs of bytes are the same; `toEqual` takes minutes for megabytes. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

export const utf8 = (text: string): Uint8Array => encoder.encode(text);

export function int32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

export function int16(value: number): Uint8Array {
  return Uint8Array.of(value >>> 8, value);
}

/** A frame as on the wire. */
export function frameBytes(
  header: string | Uint8Array,
  body: Uint8Array = new Uint8Array(0),
  kind = JSON_KIND,
): Uint8Array {
  const head = typeof header === "string" ? utf8(header) : header;
  return concat([int32(4 + head.length + body.length), int32(kind << 24 | head.length), head, body]);
}

/** A response as a broker writes it, with nothing in it but its opaque. */
export const answerHeader = (opaque: number): string =>
  `{"code":0,"flag":1,"language":"JAVA","opaque":${opaque},"serializeTypeCurrentRPC":"JSON","version":513}`;

export interface BinaryHeader {
  readonly code?: number;
  readonly opaque?: number;
  readonly flag?: number;
  readonly remark?: string;
  readonly extFields?: Readonly<Record<string, string>>;
}

/** A header of the ROCKETMQ kind. */
export function binaryHeader(
  { code = 0, opaque = 0, flag = 1, remark = "", extFields = {} }: BinaryHeader,
): Uint8Array {
  const entries = concat(
    Object.entries(extFields).flatMap(([name, value]) => [
      int16(utf8(name).length),
      utf8(name),
      int32(utf8(value).length),
      utf8(value),
    ]),
  );
  return concat([
    int16(code),
    Uint8Array.of(0),
    int16(513),
    int32(opaque),
    int32(flag),
    int32(utf8(remark).length),
    utf8(remark),
    int32(entries.length),
    entries,
  ]);
}

/** A frame's numbers and copies of its parts, for use after the sink has returned. */
export interface KeptFrame {
  readonly opaque: number;
  readonly code: number;
  readonly flag: number;
  readonly fields: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly brokerId: number;
  readonly text: string;
  readonly serializeType: number;
  readonly inArena: boolean;
  readonly header: Uint8Array;
  readonly body: Uint8Array;
}

export function keep(frame: Frame): KeptFrame {
  const { opaque, code, flag, fields, a, b, c, brokerId, serializeType, inArena } = frame;
  const kept = { opaque, code, flag, fields, a, b, c, brokerId, serializeType, inArena };
  return { ...kept, text: frame.text(), header: frame.headerBytes(), body: frame.body() };
}

/** Puts bytes into a connection as a socket would, as much at a time as there is room; returns the frames that came out. */
export function feedAll(core: Core, connection: number, bytes: Uint8Array): KeptFrame[] {
  const frames: KeptFrame[] = [];
  let at = 0;
  do {
    const room = core.room(connection);
    const part = bytes.subarray(at, at + room.length);
    room.set(part);
    core.feed(connection, part.length, (frame) => frames.push(keep(frame)));
    at += part.length;
  } while (at < bytes.length);
  return frames;
}
