// The one place where the benchmark calls the core's process queue.
import { Core } from "../../client/core.ts";
import { coreModule } from "./core_module.ts";

/** A process queue with the offset tree below it. */
export class OffsetTree {
  readonly #core = new Core(coreModule, 64);
  readonly #queue = this.#core.openQueue();
  #sizes: readonly number[] = [];

  put(offsets: readonly number[], size: number): void {
    if (this.#sizes.length !== offsets.length || this.#sizes[0] !== size) this.#sizes = offsets.map(() => size);
    this.#core.putOffsets(this.#queue, offsets, this.#sizes);
  }

  /** The offset to commit: the lowest that is left. */
  remove(offsets: readonly number[]): number {
    return Number(this.#core.removeOffsets(this.#queue, offsets));
  }

  get count(): number {
    return this.#core.queueState(this.#queue).count;
  }

  get bytes(): number {
    return this.#core.queueState(this.#queue).bytes;
  }
}
