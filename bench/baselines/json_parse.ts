import type { Buffer } from "node:buffer";
import type { FastBuffer } from "./fast_buffer.ts";
import type { ResponseReader } from "./response_sum.ts";

interface Header {
  readonly code: number;
  readonly opaque: number;
  readonly extFields: Readonly<Record<string, string>>;
}

/** `JSON.parse`: a string of each header, an object of each string. */
export function jsonParseReader(bytes: Buffer, kind: "send" | "pull"): ResponseReader {
  const buffer = bytes as FastBuffer;
  const each = (read: (header: Header) => number): number => {
    let sum = 0;
    for (let at = 0; at + 8 <= buffer.length;) {
      const total = buffer.readInt32BE(at), headerEnd = at + 8 + (buffer.readInt32BE(at + 4) & 0xffffff);
      sum += read(JSON.parse(buffer.latin1Slice(at + 8, headerEnd)) as Header);
      at += 4 + total;
    }
    return sum;
  };
  return { readAll: kind === "send" ? () => each(sendSum) : () => each(pullSum) };
}

const sendSum = ({ code, opaque, extFields }: Header): number =>
  opaque + code + Number(extFields["queueId"]) + Number(extFields["queueOffset"]) + extFields["msgId"]!.length;

const pullSum = ({ code, opaque, extFields }: Header): number =>
  opaque + code + Number(extFields["nextBeginOffset"]) + Number(extFields["minOffset"]) +
  Number(extFields["maxOffset"]) + Number(extFields["suggestWhichBrokerId"]);
