import { FRAME_MAX } from "../../core-as/abi.ts";
import { ArgumentError, FrameError } from "../errors.ts";

/** Length word and header word: no frame is shorter. */
const FRAME_MIN = 8;
const LENGTH_BYTES = 4;

/**
 * Cuts a byte stream into whole frames, without the core: chunks of any size go in, copies of frames come out, each as soon
 * as its last byte is there.
 */
export class FrameStream {
  readonly #maxFrameBytes: number;
  /** A frame of which more has to come: its bytes so far, the length word first. Grows as they arrive. */
  #frame = new Uint8Array(LENGTH_BYTES);
  #filled = 0;
  /** Bytes to wait for: the length word, then the whole frame. */
  #total = LENGTH_BYTES;
  #failure: FrameError | undefined;

  /** Frames of more than `maxFrameBytes`, the length word included, are an error as soon as their length is known. */
  constructor(maxFrameBytes: number = FRAME_MAX) {
    if (!Number.isInteger(maxFrameBytes) || maxFrameBytes < FRAME_MIN || maxFrameBytes > FRAME_MAX) {
      throw new ArgumentError(`maxFrameBytes must be ${FRAME_MIN}..${FRAME_MAX}, got ${maxFrameBytes}`);
    }
    this.#maxFrameBytes = maxFrameBytes;
  }

  /**
   * Hands every whole frame to `sink`. A length that makes no sense is a `FrameError`, after the frames before it, and of
   * every later call too: nobody knows where the next frame would start.
   */
  feed(chunk: Uint8Array, sink: (frame: Uint8Array) => void): void {
    if (this.#failure) throw this.#failure;
    for (let at = 0; at < chunk.length;) {
      const part = chunk.subarray(at, at + this.#total - this.#filled);
      this.#grow(this.#filled + part.length);
      this.#frame.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < this.#total) return;
      if (this.#total === LENGTH_BYTES) this.#open();
      else this.#close(sink);
    }
  }

  /** The length word is whole. Nobody's word is taken for room: that comes with the bytes. */
  #open(): void {
    const length = new DataView(this.#frame.buffer).getInt32(0) + LENGTH_BYTES;
    if (length < FRAME_MIN || length > this.#maxFrameBytes) {
      this.#failure = new FrameError(
        `A frame says it is ${length} bytes long: ${FRAME_MIN} to ${this.#maxFrameBytes} are possible`,
      );
      throw this.#failure;
    }
    this.#total = length;
  }

  #grow(needed: number): void {
    if (needed <= this.#frame.length) return;
    const grown = new Uint8Array(Math.min(this.#total, Math.max(needed, this.#frame.length * 2)));
    grown.set(this.#frame);
    this.#frame = grown;
  }

  #close(sink: (frame: Uint8Array) => void): void {
    const frame = this.#frame;
    this.#frame = new Uint8Array(LENGTH_BYTES);
    this.#filled = 0;
    this.#total = LENGTH_BYTES;
    sink(frame);
  }
}
