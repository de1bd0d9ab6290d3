import { crc32 } from "node:zlib";
import { Core, type Frame } from "../../client/core.ts";
import { FrameError } from "../../client/errors.ts";
import * as abi from "../../core-as/abi.ts";
import { coreModule } from "../support/core.ts";
import { AnswerFuzzer, type NearCounts } from "./answers.ts";
import { type Case, type CaseKind, caseOf } from "./cases.ts";
import { CommandFuzzer } from "./commands.ts";
import { checkHeader } from "./header_check.ts";
import { checkLz4 } from "./lz4_check.ts";
import type { VectorFrames } from "./vectors.ts";
import { checkLongSums, checkWalk } from "./walk_check.ts";

/** What the cases of a run were and how far they came. */
export interface Counts {
  cases: number;
  readonly kinds: Record<CaseKind, number>;
  /** Cases with at least one record that the walk saw. */
  walked: number;
  /** Rows of records. */
  records: number;
  /** Long bodies whose checksums were left to the runtime. */
  longSums: number;
  frames: number;
  /** Headers that the core read whole. */
  read: number;
  /** Cases whose bytes broke the protocol. */
  refused: number;
}

/** A case that showed a fault. */
export class Finding extends Error {
  override readonly name = "Finding";
  readonly index: number;
  readonly found: Case;

  constructor(index: number, found: Case, cause: unknown) {
    super(`Case ${index} (${found.kind}): ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.index = index;
    this.found = found;
  }
}

/** How often all is closed, to see that nothing stays in use. */
const CLOSE_EVERY = 4096;

/** Runs cases through one core, and their results past the models. */
export class Fuzzer {
  readonly counts: Counts = {
    cases: 0,
    kinds: { vector: 0, header: 0, records: 0, answers: 0, garbage: 0, lz4: 0, commands: 0 },
    walked: 0,
    records: 0,
    longSums: 0,
    frames: 0,
    read: 0,
    refused: 0,
  };
  readonly #seed: number;
  readonly #vectors: VectorFrames;
  readonly #core = new Core(coreModule, 16);
  readonly #summing = new Core(coreModule, 16, (bytes) => {
    this.counts.longSums++;
    return crc32(bytes);
  });
  readonly #commands = new CommandFuzzer();
  readonly #answers: AnswerFuzzer;
  readonly #start = this.#core.bytesInUse;
  #closed = -1;
  #connection = this.#core.openConnection();
  #queue = this.#core.openQueue();

  constructor(seed: number, vectors: VectorFrames) {
    this.#seed = seed;
    this.#vectors = vectors;
    this.#answers = new AnswerFuzzer(vectors.answers);
  }

  /** Throws a `Finding`. */
  run(index: number): void {
    const one = caseOf(this.#seed, index, this.#vectors);
    this.counts.cases++;
    this.counts.kinds[one.kind]++;
    try {
      if (one.kind === "commands") this.#commands.run(one.random);
      else if (one.kind === "answers") this.#answers.run(one.random);
      else if (one.kind === "lz4") checkLz4(this.#core, one.random);
      else this.#feed(one);
      if (this.counts.cases % CLOSE_EVERY === 0) this.checkBytesInUse();
    } catch (cause) {
      throw new Finding(index, one, cause);
    }
  }

  /** How many headers were nearly like right answers, and how many of them a learned shape has read. */
  get near(): Readonly<NearCounts> {
    return this.#answers.counts;
  }

  /** Bytes in use with everything closed: at the start, and when last looked at. */
  get bytesInUse(): readonly [start: number, now: number] {
    return [this.#start, this.#closed];
  }

  /** Closes everything, looks at what is in use then, and opens it again. */
  checkBytesInUse(): void {
    const core = this.#core;
    core.closeConnection(this.#connection);
    core.closeQueue(this.#queue);
    this.#closed = core.bytesInUse;
    if (this.#closed !== this.#start) {
      throw new Error(`${this.#closed} bytes are in use with everything closed, ${this.#start} at the start`);
    }
    this.#connection = core.openConnection();
    this.#queue = core.openQueue();
  }

  #feed(one: Case): void {
    const { bytes, random } = one, core = this.#core, counts = this.counts;
    let delivered = 0, records = 0;
    const twice = random.once(8), checkCrc = !random.once(8);
    const sink = (frame: Frame) => {
      delivered += 8 + frame.headerLength + frame.bodyLength;
      counts.frames++;
      if (frame.fields & abi.FIELD_READ) counts.read++;
      checkHeader(frame, twice);
      if (frame.bodyLength === 0) return;
      records += checkWalk(core, frame, this.#queue, checkCrc, twice);
      if (!twice) return;
      const body = frame.source.subarray(frame.bodyPtr, frame.bodyPtr + frame.bodyLength);
      checkLongSums(this.#summing, body);
      this.#commands.walkAtEnd(body);
    };
    try {
      for (let at = 0; at < bytes.length;) {
        const room = core.room(this.#connection);
        const piece = Math.min(one.pieces || bytes.length, bytes.length - at, room.length);
        room.set(bytes.subarray(at, at + piece));
        core.feed(this.#connection, piece, sink);
        at += piece;
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      counts.refused++;
    }
    if (records > 0) counts.walked++;
    counts.records += records;
    if (delivered > bytes.length) throw new Error(`${delivered} bytes came out of ${bytes.length}`);
    if (delivered === bytes.length) return;
    // Half a frame, or a refusal: the next case begins on a connection of its own.
    core.closeConnection(this.#connection);
    this.#connection = core.openConnection();
  }
}
