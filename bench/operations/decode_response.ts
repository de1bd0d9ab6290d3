// Reading response headers: from bytes to the numbers that a client needs, `msgId` as a place.
import { Buffer } from "node:buffer";
import { dataViewWalk } from "../baselines/data_view_walk.ts";
import { handScanner } from "../baselines/hand_scanner.ts";
import { jsonParseReader } from "../baselines/json_parse.ts";
import type { ResponseReader } from "../baselines/response_sum.ts";
import { bodyOf } from "../inputs/send.ts";
import * as answers from "../inputs/responses.ts";
import type { Bar, Case, Operation, Place, Variant } from "../operation.ts";
import { Answers } from "../ours/responses.ts";
import { aliOnsResponses } from "../peers/ali_ons_codec.ts";

/** Frames of one run: a read's worth. */
const FRAMES = 64;
const PULL_BODY = 128;

export const decodeResponse: Operation = {
  name: "decode_response",
  cases: [jsonSend, jsonPull, strangers, binarySend, binaryPull],
};

function jsonSend({ aliOnsFolder }: Place): Case {
  const frames = many((index) => answers.frameOf(answers.sendAnswerJson(index)));
  const aliOns = aliOnsResponses(aliOnsFolder);
  return read("decode JSON send response", 0, [
    variant("ours", new Answers(frames)),
    variant("JSON.parse", jsonParseReader(frames, "send")),
    variant("hand scanner", handScanner(new Uint8Array(frames))),
    ...(aliOns ? [variant("ali-ons", aliOns(frames, "send"))] : []),
  ], [
    { ours: "ours", baseline: "JSON.parse", goal: 0.08 },
    { ours: "ours", baseline: "hand scanner", goal: 0.35, isBestJs: true },
    ...(aliOns ? [{ ours: "ours", baseline: "ali-ons" }] : []),
  ]);
}

function jsonPull({ aliOnsFolder }: Place): Case {
  const body = bodyOf(PULL_BODY);
  const frames = many((index) => answers.frameOf(answers.pullAnswerJson(index), body));
  const aliOns = aliOnsResponses(aliOnsFolder);
  return read("decode JSON pull response", PULL_BODY, [
    variant("ours", new Answers(frames)),
    variant("JSON.parse", jsonParseReader(frames, "pull")),
    variant("hand scanner", handScanner(new Uint8Array(frames))),
    ...(aliOns ? [variant("ali-ons", aliOns(frames, "pull"))] : []),
  ], [
    { ours: "ours", baseline: "JSON.parse" },
    { ours: "ours", baseline: "hand scanner", goal: 0.30, isBestJs: true },
    ...(aliOns ? [{ ours: "ours", baseline: "ali-ons" }] : []),
  ]);
}

/** Every frame has another version: no header is like the one before it. */
function strangers(): Case {
  const frames = many((index) => answers.frameOf(answers.sendAnswerJson(index, 400 + index)));
  return read("decode headers that never repeat", 0, [
    variant("ours", new Answers(frames)),
    variant("JSON.parse", jsonParseReader(frames, "send")),
    variant("hand scanner", handScanner(new Uint8Array(frames))),
  ], [
    { ours: "ours", baseline: "JSON.parse" },
    { ours: "ours", baseline: "hand scanner", goal: 1.0, isBestJs: true },
  ]);
}

function binarySend(): Case {
  const frames = many((index) => answers.frameOf(answers.sendAnswerBinary(index)));
  return binary("decode binary send response", 0, frames);
}

function binaryPull(): Case {
  const body = bodyOf(PULL_BODY);
  const frames = many((index) => answers.frameOf(answers.pullAnswerBinary(index), body));
  return binary("decode binary pull response", PULL_BODY, frames);
}

const binary = (name: string, bodyBytes: number, frames: Buffer): Case =>
  read(name, bodyBytes, [
    variant("ours", new Answers(frames)),
    variant("DataView walk", dataViewWalk(new Uint8Array(frames))),
  ], [{ ours: "ours", baseline: "DataView walk", goal: 1.0, isBestJs: true }]);

const many = (frame: (index: number) => Uint8Array): Buffer =>
  Buffer.from(answers.concat(Array.from({ length: FRAMES }, (_, index) => frame(index))));

const read = (name: string, bodyBytes: number, variants: readonly Variant[], bars: readonly Bar[]): Case => ({
  name,
  bodyBytes,
  unit: "frame",
  perRun: FRAMES,
  variants,
  bars,
});

/** Keeps what was read: an engine may leave out work whose result nobody looks at. */
let kept = 0;

function variant(name: string, reader: ResponseReader): Variant {
  return {
    name,
    run() {
      kept = (kept + reader.readAll()) % 1_000_003;
    },
    outcome: () => reader.readAll(),
  };
}
