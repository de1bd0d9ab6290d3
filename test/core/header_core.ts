import * as abi from "../../core-as/abi.ts";
import { type Answer, TinyDriver } from "../support/core.ts";
import { concat, frameBytes, JSON_KIND } from "../support/frames.ts";

/** What one frame became: its completion, bit for bit, and whether a learned shape has filled it. */
export interface ReadHeader {
  readonly completion: Uint8Array;
  readonly fields: number;
  readonly isHit: boolean;
}

/** A core that reads one frame at a time, always at the same place: completions of two of them can be compared. */
export class HeaderCore {
  readonly #driver = new TinyDriver({ pages: 64 });
  readonly #connection = this.#driver.run({ opcode: abi.OP_CONNECTION_OPEN }).handle;

  /** Headers that learned shapes have read. */
  get hits(): number {
    return this.#driver.index(abi.SHAPE_HITS);
  }

  read(header: string | Uint8Array, kind = JSON_KIND, body?: Uint8Array): ReadHeader {
    return this.readFrame(frameBytes(header, body, kind));
  }

  /** The frame must be a whole one. */
  readFrame(frame: Uint8Array): ReadHeader {
    const driver = this.#driver, hits = this.hits;
    this.feed(frame);
    const head = driver.index(abi.CQ_HEAD), at = driver.completion(head - 1);
    if (head - driver.index(abi.CQ_TAIL) !== 1) throw new Error("one frame did not become one completion");
    driver.setIndex(abi.CQ_TAIL, head);
    const completion = driver.bytes.slice(at, at + abi.COMPLETION_SIZE);
    return { completion, fields: driver.view.getUint32(at + abi.COMPLETION_FIELDS, true), isHit: this.hits !== hits };
  }

  /** Feeds frames that nobody looks at. */
  pass(frames: readonly Uint8Array[]): void {
    this.feed(concat(frames));
    this.#driver.setIndex(abi.CQ_TAIL, this.#driver.index(abi.CQ_HEAD));
  }

  protected feed(bytes: Uint8Array): Answer {
    const driver = this.#driver, handle = this.#connection;
    const room = driver.run({ opcode: abi.OP_ROOM, handle });
    driver.bytes.set(bytes, room.ptr);
    const answer = driver.run({ opcode: abi.OP_FEED, handle, len: bytes.length });
    if (answer.result !== abi.FEED_DONE) throw new Error(`feeding gives ${answer.result}`);
    return answer;
  }
}

/** After a run of misses the scanner works alone for so many headers. */
export const REST = 512;
/** So many misses at the start make such a run, and so many after a rest. */
export const MISSES_AT_START = 9;
export const MISSES_AFTER_REST = 5;

let strangers = 0;

/** A header that no header was like before. */
export const stranger = (): Uint8Array => frameBytes(`{"stranger${strangers++}":1}`);

/** A core whose scanner always works alone: it is kept in the rest after a run of misses. */
export class ScannerCore extends HeaderCore {
  #resting = 0;
  #misses = MISSES_AT_START;

  override readFrame(frame: Uint8Array): ReadHeader {
    if (this.#resting === 0) {
      for (let misses = this.#misses; misses > 0; misses--) this.pass([stranger()]);
      this.#misses = MISSES_AFTER_REST;
      this.#resting = REST;
    }
    this.#resting--;
    const read = super.readFrame(frame);
    if (read.isHit) throw new Error("the scanner did not work alone");
    return read;
  }
}
