import type { Buffer } from "node:buffer";
import type { FastBuffer } from "../../baselines/fast_buffer.ts";
import { templateSend } from "../../baselines/send_template.ts";
import { templateSendBinary } from "../../baselines/send_template_binary.ts";
import type { OpenClient } from "./client.ts";
import { type AnswerReader, pipelinedClient } from "./pipelined.ts";

/** `tuned JS`: template strings into one buffer a turn, `JSON.parse`. */
export const tunedClient: OpenClient = (port, to) => pipelinedClient(port, to, templateSend, jsonReader);

/** The same with ROCKETMQ headers: of the answer an object of strings is made, as `JSON.parse` does. */
export const tunedBinaryClient: OpenClient = (port, to) =>
  pipelinedClient(port, to, templateSendBinary, binaryFieldsReader);

type Fields = Record<string, string>;

function jsonReader(inbox: Buffer): AnswerReader {
  const bytes = inbox as FastBuffer;
  let fields: Fields = {};
  return {
    read(from, end) {
      const header = JSON.parse(bytes.latin1Slice(from, end)) as {
        readonly opaque: number;
        readonly extFields: Fields;
      };
      fields = header.extFields;
      return header.opaque;
    },
    result: () => resultOf(fields),
  };
}

function binaryFieldsReader(inbox: Buffer): AnswerReader {
  const bytes = inbox as FastBuffer;
  let fields: Fields = {};
  return {
    read(from, end) {
      fields = {};
      for (let at = from + 17 + bytes.readInt32BE(from + 13) + 4; at < end;) {
        const nameEnd = at + 2 + bytes.readInt16BE(at),
          valueAt = nameEnd + 4,
          name = bytes.latin1Slice(at + 2, nameEnd);
        at = valueAt + bytes.readInt32BE(nameEnd);
        fields[name] = bytes.latin1Slice(valueAt, at);
      }
      return bytes.readInt32BE(from + 5);
    },
    result: () => resultOf(fields),
  };
}

const resultOf = (fields: Fields) => ({
  sendStatus: "SEND_OK" as const,
  offsetMsgId: fields["msgId"]!,
  queueId: Number(fields["queueId"]),
  queueOffset: Number(fields["queueOffset"]),
});
