// The one place where the benchmark calls what the client consumes with: from bytes in the inbox to the user's handler and the
// offset to commit.
import { text } from "../../client/body_codec.ts";
import { Intake, type IntakeContext } from "../../client/consumer/intake.ts";
import { ProcessQueue } from "../../client/consumer/process_queue.ts";
import { Core, type Frame } from "../../client/core.ts";
import { Lease } from "../../client/lease.ts";
import { Slabs } from "../../client/message_batch.ts";
import { readPullAnswer } from "../../client/protocol/pull.ts";
import { buildSubscription } from "../../client/protocol/subscription.ts";
import { readingWith } from "../../client/reading.ts";
// Only on Node and Bun.
import { allocate } from "../../host-node/memory.ts";
// The same on every runtime.
import { readAscii, readText } from "../../host-node/text.ts";
import { FIRST_OFFSET } from "../inputs/records.ts";
import { coreModule } from "./core_module.ts";
import { hostCrc32 } from "./host_crc32.ts";

export type Handler = (body: string, tags: string) => void;

/** A consumer that reads one pull answer again and again, each time with offsets of its own. */
export function consumer(frame: Uint8Array, isLeased: boolean): (handle: Handler) => void {
  const own = new Consumer(frame, isLeased);
  return (handle) => own.consume(handle);
}

class Consumer {
  readonly #core = new Core(coreModule, 16, hostCrc32);
  readonly #connection = this.#core.openConnection();
  readonly #inbox: DataView;
  readonly #length: number;
  readonly #offsetsAt: readonly number[];
  readonly #isLeased: boolean;
  readonly #queue = new ProcessQueue<string>(
    this.#core,
    { topic: "TopicTest", brokerName: "broker-a", queueId: 3 },
    FIRST_OFFSET,
  );
  readonly #intake = new Intake<string>(
    contextOf(this.#core),
    this.#queue,
    buildSubscription("TopicTest", "*", 0),
  );
  #next = FIRST_OFFSET;
  #handle: Handler = () => {};
  #leases = 0;
  readonly #consumed: { settle(): void }[] = [];

  constructor(frame: Uint8Array, isLeased: boolean) {
    const room = this.#core.room(this.#connection);
    room.set(frame);
    this.#inbox = new DataView(room.buffer, room.byteOffset, frame.length);
    this.#length = frame.length;
    this.#offsetsAt = offsetPlaces(this.#inbox);
    this.#isLeased = isLeased;
  }

  consume(handle: Handler): void {
    for (const at of this.#offsetsAt) this.#inbox.setUint32(at, this.#next++);
    this.#handle = handle;
    this.#core.room(this.#connection);
    this.#core.feed(this.#connection, this.#length, this.#settled);
    if (this.#leases !== 0) throw new Error("A lease has not ended");
  }

  readonly #settled = (frame: Frame): void => {
    const queue = this.#queue;
    const lease = this.#isLeased ? new Lease(this.#core, this.#ended) : undefined;
    if (lease) this.#leases++;
    this.#intake.take(frame, readPullAnswer(frame), lease);
    lease?.grant();
    for (let message = queue.take(); message; message = queue.take()) {
      this.#handle(message.body, message.tags ?? "");
      queue.finish(message.offset);
      this.#consumed.push(message);
    }
    // As the client does at the end of a turn for all handlers that ended in it.
    queue.removeFinished();
    for (const message of this.#consumed) message.settle();
    this.#consumed.length = 0;
  };

  readonly #ended = (): void => {
    this.#leases--;
  };
}

/** What an intake uses of a client: its core, and what it reports to. */
function contextOf(core: Core): IntakeContext<string> {
  const reading = readingWith({ host: { inflate: fail, readText, readAscii }, core }, text);
  return {
    instance: { core, report: fail },
    options: { checkCrc: true },
    slabs: new Slabs("Deno" in globalThis ? {} : { allocate }),
    reading,
  } as unknown as IntakeContext<string>;
}

function fail(error?: unknown): never {
  throw error instanceof Error ? error : new Error("Nothing here is compressed");
}

/** Where the low half of each record's queue offset is. */
function offsetPlaces(frame: DataView): number[] {
  const places: number[] = [];
  for (let at = 8 + (frame.getInt32(4) & 0xffffff); at < frame.byteLength; at += frame.getInt32(at)) {
    places.push(at + 24);
  }
  return places;
}
