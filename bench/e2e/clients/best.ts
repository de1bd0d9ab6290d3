import type { Buffer } from "node:buffer";
import type { FastBuffer } from "../../baselines/fast_buffer.ts";
import { headerScanner } from "../../baselines/hand_scanner.ts";
import { bestSend } from "../../baselines/send_best.ts";
import { templateSendBinary } from "../../baselines/send_template_binary.ts";
import type { OpenClient } from "./client.ts";
import { type AnswerReader, pipelinedClient } from "./pipelined.ts";

/** `best JavaScript`: byte templates and a hand scanner; the only string that is made is the id of the result. */
export const bestClient: OpenClient = (port, to) => pipelinedClient(port, to, bestSend, scanningReader);

/** The same with ROCKETMQ headers, which are read field by field. */
export const bestBinaryClient: OpenClient = (port, to) =>
  pipelinedClient(port, to, templateSendBinary, binaryScanningReader);

function scanningReader(inbox: Buffer): AnswerReader {
  const { header, read } = headerScanner(inbox), bytes = inbox as FastBuffer;
  return {
    read(from, end) {
      read(from, end);
      return header.opaque;
    },
    result: () => ({
      sendStatus: "SEND_OK",
      offsetMsgId: bytes.latin1Slice(header.textAt, header.textAt + header.textLength),
      queueId: header.b,
      queueOffset: header.a,
    }),
  };
}

function binaryScanningReader(inbox: Buffer): AnswerReader {
  const bytes = inbox as FastBuffer, view = new DataView(inbox.buffer, inbox.byteOffset, inbox.length);
  let idAt = 0, idEnd = 0, queueId = 0, queueOffset = 0;
  const number = (from: number, end: number): number => {
    let value = 0;
    for (let at = from; at < end; at++) value = value * 10 + bytes[at]! - 48;
    return value;
  };
  return {
    read(from, end) {
      for (let at = from + 17 + view.getInt32(from + 13) + 4; at < end;) {
        const nameLength = view.getInt16(at), valueAt = at + 6 + nameLength;
        at = valueAt + view.getInt32(valueAt - 4);
        if (nameLength === 11) queueOffset = number(valueAt, at);
        else if (nameLength === 7) queueId = number(valueAt, at);
        else if (nameLength === 5) {
          idAt = valueAt;
          idEnd = at;
        }
      }
      return view.getInt32(from + 5);
    },
    result: () => ({ sendStatus: "SEND_OK", offsetMsgId: bytes.latin1Slice(idAt, idEnd), queueId, queueOffset }),
  };
}
