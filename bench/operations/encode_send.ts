// Encoding a SEND_MESSAGE_V2 frame, properties included, into the buffer that a socket would get.
import { bestSend } from "../baselines/send_best.ts";
import { templateSend } from "../baselines/send_template.ts";
import { templateSendBinary } from "../baselines/send_template_binary.ts";
import { typicalSend } from "../baselines/send_typical.ts";
import { readSendFrames } from "../inputs/frames.ts";
import { bodyOf, sendInput } from "../inputs/send.ts";
import type { Case, Operation, Place, Variant } from "../operation.ts";
import { SendFrames } from "../ours/send_frames.ts";
import { aliOnsSend } from "../peers/ali_ons_codec.ts";

/** Frames of one run: a turn's worth. */
const FRAMES = 64;

interface Writer {
  write(opaque: number, queueId: number, key: string, body: Uint8Array): unknown;
  reset(): void;
  written(): Uint8Array;
}

export const encodeSend: Operation = {
  name: "encode_send",
  cases: [
    (place) => json(128, place),
    () => binary(128),
    (place) => json(1024, place),
    () => binary(1024),
  ],
};

function json(bodyBytes: number, { aliOnsFolder }: Place): Case {
  const body = bodyOf(bodyBytes), hasGoals = bodyBytes === 128;
  const aliOns = aliOnsSend(aliOnsFolder, sendInput);
  return {
    name: "encode JSON send",
    bodyBytes,
    unit: "frame",
    perRun: FRAMES,
    variants: [
      variant("ours", new SendFrames(sendInput, "JSON"), body),
      variant("typical JS", typicalSend(sendInput), body),
      variant("template-string JS", templateSend(sendInput), body),
      variant("best JS", bestSend(sendInput), body),
      ...(aliOns ? [silent(variant("ali-ons", aliOns, body))] : []),
    ],
    bars: [
      { ours: "ours", baseline: "typical JS", goal: hasGoals ? 0.10 : undefined },
      { ours: "ours", baseline: "template-string JS", goal: hasGoals ? 0.25 : undefined },
      { ours: "ours", baseline: "best JS", goal: hasGoals ? 1.1 : undefined, isBestJs: true },
      ...(aliOns ? [{ ours: "ours", baseline: "ali-ons" }] : []),
    ],
  };
}

function binary(bodyBytes: number): Case {
  const body = bodyOf(bodyBytes), baseline = "template-string JS, binary";
  return {
    name: "encode binary send",
    bodyBytes,
    unit: "frame",
    perRun: FRAMES,
    variants: [
      variant("ours", new SendFrames(sendInput, "ROCKETMQ"), body),
      variant(baseline, templateSendBinary(sendInput), body),
    ],
    bars: [{ ours: "ours", baseline, goal: bodyBytes === 128 ? 0.5 : undefined, isBestJs: true }],
  };
}

function variant(name: string, writer: Writer, body: Uint8Array): Variant {
  const { keys, queues } = sendInput;
  let opaque = 100, sequence = 0;
  const turn = (): void => {
    writer.reset();
    for (let frame = 0; frame < FRAMES; frame++) {
      const key = keys[sequence++ & (keys.length - 1)]!;
      writer.write(opaque, sequence % queues, key, body);
      opaque = (opaque + 1) & 0x7fffffff;
    }
  };
  return {
    name,
    run: turn,
    outcome() {
      opaque = 100;
      sequence = 0;
      turn();
      return readSendFrames(writer.written());
    },
  };
}

/** Writes other headers than ours: nothing to compare. */
const silent = (variant: Variant): Variant => ({ ...variant, outcome: () => undefined });
