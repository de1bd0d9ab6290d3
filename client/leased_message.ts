import type { MessageBatch } from "./message_batch.ts";
import type { MessageQueue } from "./message.ts";
import { PulledMessage, type Reading } from "./pulled_message.ts";

/** The fields that read from the batch. What is made of properties and body stays readable as these do. */
const FIELDS = [
  "storedTopic",
  "queueOffset",
  "commitLogOffset",
  "flag",
  "sysFlag",
  "bornTimestamp",
  "bornHost",
  "storeTimestamp",
  "storeHost",
  "reconsumeTimes",
  "preparedTransactionOffset",
  "offsetMsgId",
  "msgId",
  "keys",
  "storedBodyLength",
] as const;

/** A message whose bytes lie in a lease. What has been read of it stays readable when it is settled. */
export class LeasedMessage<T> extends PulledMessage<T> {
  /** By the field's place in FIELDS. */
  #kept: unknown[] | undefined;
  /** Apart: nearly everybody reads them. */
  #tags: string | undefined;
  #rawBody: Uint8Array | undefined;

  constructor(batch: MessageBatch, row: number, queue: MessageQueue, reading: Reading<T>) {
    super(batch, row, queue, reading);
    batch.lease?.add();
  }

  static {
    for (const [place, name] of FIELDS.entries()) {
      const read = Object.getOwnPropertyDescriptor(PulledMessage.prototype, name)?.get as (this: unknown) => unknown;
      Object.defineProperty(LeasedMessage.prototype, name, {
        configurable: true,
        get(this: LeasedMessage<unknown>) {
          const kept = this.#kept ??= [];
          return kept[place] ??= read.call(this);
        },
      });
    }
  }

  override get tags(): string {
    return this.#tags ??= super.tags;
  }

  override rawBody(): Uint8Array {
    this.#rawBody ??= super.rawBody();
    return this.#rawBody.slice();
  }

  override failedLocally(): void {
    super.failedLocally();
    if (this.#kept) this.#kept[FIELDS.indexOf("reconsumeTimes")] = undefined;
  }
}
