/**
 * Where records lie, one behind the other, by commit-log offset. In memory here; files may stand behind it one day. What is
 * stored is what goes over the wire. A record is written in place: `open`, fill in `bytes` from `at` on, `close`.
 */
export interface CommitLog {
  /** Makes room for a record of at most `size` bytes and says which commit-log offset it will have. */
  open(size: number): number;
  /** Where the open record goes. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly at: number;
  /** The open record is complete, with `size` bytes. One that is not closed was never there. */
  close(size: number): void;
  /** A view, good until the store is dropped; undefined when nothing was stored there. */
  read(offset: number, size: number): Uint8Array | undefined;
}

/** One chunk of memory; no record crosses two. */
export const CHUNK_BYTES = 8_388_608;

export class MemoryCommitLog implements CommitLog {
  readonly #chunks: Uint8Array[] = [];
  #end = 0;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  /** Commit-log offset of the chunk that is being filled. */
  #start = 0;

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get view(): DataView {
    return this.#view;
  }

  get at(): number {
    return this.#end - this.#start;
  }

  open(size: number): number {
    if (size > CHUNK_BYTES) throw new RangeError(`A record of ${size} bytes does not fit a chunk of ${CHUNK_BYTES}`);
    if (this.#end - this.#start + size > this.#bytes.length) this.#nextChunk();
    return this.#end;
  }

  close(size: number): void {
    this.#end += size;
  }

  read(offset: number, size: number): Uint8Array | undefined {
    if (offset < 0 || size < 0 || offset + size > this.#end) return undefined;
    const index = Math.floor(offset / CHUNK_BYTES), at = offset - index * CHUNK_BYTES;
    return at + size > CHUNK_BYTES ? undefined : this.#chunks[index]!.subarray(at, at + size);
  }

  #nextChunk(): void {
    this.#end = this.#start = this.#chunks.length * CHUNK_BYTES;
    this.#bytes = new Uint8Array(CHUNK_BYTES);
    this.#view = new DataView(this.#bytes.buffer);
    this.#chunks.push(this.#bytes);
  }
}
