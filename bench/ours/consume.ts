// The one place where the benchmark calls what the client consumes with: from bytes in the inbox to the user's handler and the
// offset to commit.
import { Core, type Frame } from "../../client/core.ts";
import { text } from "../../client/body_codec.ts";
import { ProcessQueue } from "../../client/consumer/process_queue.ts";
import { copyBatch, PulledMessage, type Reading, Slabs } from "../../client/pulled_message.ts";
import { FIRST_OFFSET } from "../inputs/records.ts";
import { coreModule } from "./core_module.ts";

export type Handler = (body: string, tags: string) => void;

/** Whether `consumer` can lease. */
export const CAN_LEASE = false;

/** A consumer that reads one pull answer again and again, each time with offsets of its own. */
export function consumer(frame: Uint8Array, lease: boolean): (handle: Handler) => void {
  if (lease) throw new Error("Messages cannot be leased yet");
  const owned = new OwnedConsumer(frame);
  return (handle) => owned.consume(handle);
}

const NOBODY: Reading<string>["host"] = {
  inflate() {
    throw new Error("Nothing here is compressed");
  },
};

class OwnedConsumer {
  readonly #core = new Core(coreModule, 16);
  readonly #connection = this.#core.openConnection();
  readonly #inbox: DataView;
  readonly #length: number;
  readonly #offsetsAt: readonly number[];
  readonly #slabs = new Slabs();
  readonly #queue = new ProcessQueue<string>(
    this.#core,
    { topic: "TopicTest", brokerName: "broker-a", queueId: 3 },
    FIRST_OFFSET,
  );
  readonly #reading: Reading<string> = { host: NOBODY, codec: text, maxBodyBytes: 1 << 24 };
  #next = FIRST_OFFSET;
  #handle: Handler = () => {};

  constructor(frame: Uint8Array) {
    const room = this.#core.room(this.#connection);
    room.set(frame);
    this.#inbox = new DataView(room.buffer, room.byteOffset, frame.length);
    this.#length = frame.length;
    this.#offsetsAt = offsetPlaces(this.#inbox);
  }

  consume(handle: Handler): void {
    for (const at of this.#offsetsAt) this.#inbox.setUint32(at, this.#next++);
    this.#handle = handle;
    this.#core.room(this.#connection);
    this.#core.feed(this.#connection, this.#length, this.#settled);
  }

  readonly #settled = (frame: Frame): void => {
    const queue = this.#queue;
    const batch = copyBatch(this.#core, frame, true, this.#slabs);
    const messages: PulledMessage<string>[] = [];
    for (let row = 0; row < batch.count; row++) {
      if (batch.status(row) !== 0) throw new Error("A record is not sound");
      messages.push(new PulledMessage(batch, row, queue.queue, this.#reading));
    }
    queue.put(
      messages,
      messages.map((message) => Number(message.queueOffset)),
      messages.map((message) => message.storedLength),
    );
    for (let message = queue.take(); message; message = queue.take()) {
      this.#handle(message.body, message.tags);
      queue.remove(Number(message.queueOffset));
    }
  };
}

/** Where the low half of each record's queue offset is. */
function offsetPlaces(frame: DataView): number[] {
  const places: number[] = [];
  for (let at = 8 + (frame.getInt32(4) & 0xffffff); at < frame.byteLength; at += frame.getInt32(at)) {
    places.push(at + 24);
  }
  return places;
}
