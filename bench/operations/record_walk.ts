// Walking the records of a pull body: where everything of each message is.
import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { eagerMessages } from "../baselines/eager_messages.ts";
import { tunedIndex } from "../baselines/tuned_index.ts";
import { pullBody } from "../inputs/records.ts";
import type { Case, Operation, Variant } from "../operation.ts";
import { recordWalk } from "../ours/walk.ts";

const RECORDS = 32;

export const recordWalking: Operation = {
  name: "record_walk",
  cases: [128, 1024].map((bodyBytes) => () => walking(bodyBytes)),
};

function walking(bodyBytes: number): Case {
  const body = Buffer.from(pullBody(RECORDS, bodyBytes));
  return {
    name: "record walk",
    bodyBytes,
    unit: "message",
    perRun: RECORDS,
    variants: [
      variant("ours", recordWalk(body, false)),
      variant("ours, CRC", recordWalk(body, true)),
      variant("tuned index", tunedIndex(body).walk),
      variant("tuned index + zlib", tunedIndex(body, crc32).walk),
      variant("typical JS", () => eagerMessages(body).length),
    ],
    bars: [
      { ours: "ours", baseline: "tuned index", goal: 1.0, isBestJs: true },
      { ours: "ours, CRC", baseline: "tuned index + zlib", isBestJs: true },
      { ours: "ours", baseline: "typical JS" },
    ],
  };
}

let kept = 0;

const variant = (name: string, walk: () => number): Variant => ({
  name,
  run() {
    kept ^= walk();
  },
  outcome: walk,
});
