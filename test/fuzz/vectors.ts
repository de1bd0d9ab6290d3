import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type AnswerHeader, headerOf, HOT_CODES } from "../core/random_answers.ts";

/** Recorded frames, in pools by size: most cases shall be small ones. */
export interface VectorFrames {
  /** With records in their bodies, up to 4 KiB. */
  readonly small: readonly Uint8Array[];
  /** With records, larger. */
  readonly large: readonly Uint8Array[];
  /** All others, up to 4 KiB. */
  readonly others: readonly Uint8Array[];
  /** The headers of hot answers. */
  readonly answers: readonly AnswerHeader[];
}

const SMALL = 4096;
/** Frames beyond this say nothing new and take the time of a hundred others. */
const LARGE = 65_536;

/** Reads all frames of `test/vectors/`, from the sources or from a bundle in `build/tools/`. */
export function loadFrames(): VectorFrames {
  const folder = ["../vectors/", "../../test/vectors/"]
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  if (!folder) throw new Error("test/vectors/ is not there");
  const small: Uint8Array[] = [], large: Uint8Array[] = [], others: Uint8Array[] = [], answers: AnswerHeader[] = [];
  for (const name of readdirSync(folder).sort()) {
    if (!name.startsWith("frames-")) continue;
    for (const line of readFileSync(new URL(name, folder), "utf8").trim().split("\n")) {
      const { encoding, frame, expect, type, requestCode } = JSON.parse(line);
      const packed = Uint8Array.from(atob(frame), (character) => character.charCodeAt(0));
      const bytes = encoding === "base64" ? packed : new Uint8Array(gunzipSync(packed));
      if (type === "response" && HOT_CODES.includes(requestCode)) answers.push(headerOf(bytes));
      if (bytes.length > LARGE) continue;
      if (!expect.records?.length) {
        if (bytes.length <= SMALL) others.push(bytes);
      } else (bytes.length <= SMALL ? small : large).push(bytes);
    }
  }
  return { small, large, others, answers };
}
