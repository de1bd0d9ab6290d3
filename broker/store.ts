/** Where records lie, one behind the other, by commit-log offset. In memory here; files may stand behind it one day. */
export interface CommitLog {
  /** Commit-log offset the next record will have. */
  readonly end: number;
  /** Where a record of `size` bytes will lie: at `end`, or at the start of the next chunk. */
  place(size: number): number;
  append(record: Uint8Array): number;
  /** A view, good until the store is dropped; undefined when nothing was stored there. */
  read(offset: number, size: number): Uint8Array | undefined;
}

/** One chunk of memory; no record crosses two. */
const CHUNK_BYTES = 8_388_608;

export class MemoryCommitLog implements CommitLog {
  readonly #chunks: Uint8Array[] = [];
  #end = 0;

  get end(): number {
    return this.#end;
  }

  place(size: number): number {
    const used = this.#end % CHUNK_BYTES;
    return used + size > CHUNK_BYTES ? this.#end + CHUNK_BYTES - used : this.#end;
  }

  append(record: Uint8Array): number {
    const at = this.place(record.length);
    const index = Math.floor(at / CHUNK_BYTES);
    const chunk = this.#chunks[index] ??= new Uint8Array(CHUNK_BYTES);
    chunk.set(record, at % CHUNK_BYTES);
    this.#end = at + record.length;
    return at;
  }

  read(offset: number, size: number): Uint8Array | undefined {
    const chunk = this.#chunks[Math.floor(offset / CHUNK_BYTES)];
    const at = offset % CHUNK_BYTES;
    if (!chunk || offset < 0 || size < 0 || offset + size > this.#end || at + size > CHUNK_BYTES) return undefined;
    return chunk.subarray(at, at + size);
  }
}
