// Reads frames for comparing what variants have written; for correctness, not for speed.
import { Buffer } from "node:buffer";

/** What a send frame says, in an order of its own: two headers that differ in the order of their fields are equal. */
export interface ReadFrame {
  readonly head: readonly (readonly [string, string])[];
  readonly fields: readonly (readonly [string, string])[];
  readonly properties: readonly (readonly [string, string])[];
  readonly body: string;
}

/** All frames of a run of bytes. The unique id of each is only checked for its form: every client has ids of its own. */
export function readSendFrames(bytes: Uint8Array): ReadFrame[] {
  const frames: ReadFrame[] = [];
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < buffer.length;) {
    const total = buffer.readInt32BE(at), word = buffer.readInt32BE(at + 4), headerEnd = at + 8 + (word & 0xffffff);
    const header = buffer.subarray(at + 8, headerEnd);
    const { extFields = {}, ...head } = word >>> 24 === 0 ? JSON.parse(header.toString()) : readBinary(header);
    const { i, ...fields } = extFields as Record<string, string>;
    frames.push({
      head: sorted(head),
      fields: sorted(fields),
      properties: readProperties(i ?? ""),
      body: buffer.toString("latin1", headerEnd, at + 4 + total),
    });
    at += 4 + total;
  }
  return frames;
}

const LANGUAGES: Readonly<Record<number, string>> = { 0: "JAVA", 13: "NODE_JS" };

function readBinary(header: Buffer): Record<string, unknown> {
  const extFields: Record<string, string> = {};
  let at = 17 + header.readInt32BE(13);
  const end = at + 4 + header.readInt32BE(at);
  if (end !== header.length) throw new Error(`The fields end at ${end}, the header at ${header.length}`);
  for (at += 4; at < end;) {
    const nameEnd = at + 2 + header.readInt16BE(at);
    const name = header.toString("utf8", at + 2, nameEnd);
    at = nameEnd + 4 + header.readInt32BE(nameEnd);
    extFields[name] = header.toString("utf8", nameEnd + 4, at);
  }
  return {
    code: header.readInt16BE(0),
    language: LANGUAGES[header.readInt8(2)],
    version: header.readInt16BE(3),
    opaque: header.readInt32BE(5),
    flag: header.readInt32BE(9),
    extFields,
  };
}

function readProperties(text: string): (readonly [string, string])[] {
  const pairs = text.split("\u0002").filter((pair) => pair !== "").map((pair) => pair.split("\u0001"));
  return sorted(Object.fromEntries(pairs.map(([name, value]) => [name, name === "UNIQ_KEY" ? formOf(value) : value])));
}

const formOf = (id: string | undefined): string => /^[0-9A-F]{32}$/.test(id ?? "") ? "a unique id" : `not an id: ${id}`;

const sorted = (object: object): (readonly [string, string])[] =>
  Object.entries(object).map(([name, value]) => [name, String(value)] as const)
    .toSorted(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
