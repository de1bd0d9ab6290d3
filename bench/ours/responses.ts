// The one place where the benchmark calls what the client reads answers with.
import { Core, type Frame } from "../../client/core.ts";
import { coreModule } from "./core_module.ts";

/**
 * Frames that lie in the inbox of a connection, where a socket would have put them. They are read in place and stay there: a
 * connection that has been read to its end begins again at the front.
 */
export class Answers {
  readonly #core = new Core(coreModule, 16);
  readonly #connection = this.#core.openConnection();
  readonly #length: number;
  readonly #at: number;
  #sum = 0;

  constructor(bytes: Uint8Array) {
    const room = this.#core.room(this.#connection);
    room.set(bytes);
    this.#length = bytes.length;
    this.#at = room.byteOffset;
  }

  readAll(): number {
    if (this.#core.room(this.#connection).byteOffset !== this.#at) throw new Error("The inbox does not begin again");
    this.#sum = 0;
    this.#core.feed(this.#connection, this.#length, this.#add);
    return this.#sum;
  }

  readonly #add = (frame: Frame): void => {
    this.#sum += frame.opaque + frame.code + frame.a + frame.b + frame.c + frame.brokerId + frame.textLength;
  };
}
