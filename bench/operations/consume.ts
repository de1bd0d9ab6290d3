// One pull answer from the inbox to the user's code and out of the queue again: header, walk, checksum, queue, body and tags
// as text, removal.
import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { roomInSlabs, tunedConsumer } from "../baselines/consume_tuned.ts";
import { type Handler, typicalConsumer } from "../baselines/consume_typical.ts";
import { pullBody } from "../inputs/records.ts";
import { frameOf, pullAnswerJson } from "../inputs/responses.ts";
import type { Bar, Case, Operation, Place, Variant } from "../operation.ts";
import { consumer } from "../ours/consume.ts";
import { aliOnsConsume } from "../peers/ali_ons_codec.ts";

const MESSAGES = 32;
const SLAB_BYTES = 262_144;

export const consume: Operation = {
  name: "consume",
  // A consumer has one kind of messages: two of them in one process would make each other's calls slower.
  cases: [128, 1024].flatMap((bodyBytes) =>
    [false, true].map((isLeased) => (place: Place) => consuming(bodyBytes, isLeased, place))
  ),
};

function consuming(bodyBytes: number, isLeased: boolean, { family, aliOnsFolder }: Place): Case {
  const aliOns = aliOnsConsume(aliOnsFolder);
  const frame = Buffer.from(frameOf(pullAnswerJson(0), pullBody(MESSAGES, bodyBytes)));
  const read = aliOns?.(frame);
  return {
    name: "consume",
    bodyBytes,
    unit: "message",
    perRun: MESSAGES,
    variants: [
      variant(isLeased ? "ours, leased" : "ours, owned", consumer(frame, isLeased)),
      variant("typical JS", typicalConsumer(frame)),
      variant("tuned index", tunedConsumer(frame)),
      variant("tuned index + zlib", tunedConsumer(frame, crc32)),
      variant("tuned index + zlib, in slabs", tunedConsumer(frame, crc32, roomInSlabs(SLAB_BYTES))),
      ...(read
        ? [variant("ali-ons", (handle) => {
          for (const { body, tags } of read()) handle(body.toString(), tags);
        })]
        : []),
    ],
    bars: isLeased ? leased(bodyBytes, family === "node") : [...owned(bodyBytes), ...peers(aliOns)],
  };
}

const owned = (bodyBytes: number): Bar[] => [
  { ours: "ours, owned", baseline: "tuned index + zlib", goal: bodyBytes === 128 ? 0.75 : undefined },
  { ours: "ours, owned", baseline: "tuned index + zlib, in slabs", isBestJs: true },
  { ours: "ours, owned", baseline: "typical JS" },
];

const leased = (bodyBytes: number, isNode: boolean): Bar[] => [
  {
    ours: "ours, leased",
    baseline: "tuned index + zlib",
    goal: bodyBytes === 128 ? 0.6 : isNode ? 0.65 : 1.0,
  },
  { ours: "ours, leased", baseline: "tuned index + zlib, in slabs", isBestJs: true },
  { ours: "ours, leased", baseline: "typical JS", goal: bodyBytes === 128 ? 0.3 : undefined },
];

const peers = (aliOns: unknown): Bar[] => aliOns ? [{ ours: "ours, owned", baseline: "ali-ons" }] : [];

let kept = 0;

function variant(name: string, run: (handle: Handler) => void): Variant {
  const handle = (body: string, tags: string): void => {
    kept = (kept + body.length + tags.length) | 0;
  };
  return {
    name,
    run: () => run(handle),
    outcome() {
      const seen: [string, string][] = [];
      run((body, tags) => void seen.push([body, tags]));
      return seen;
    },
  };
}
