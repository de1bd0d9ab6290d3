import { PulledMessage } from "./pulled_message.ts";

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

/** Where the raw body is kept, behind the fields. */
const RAW_BODY = FIELDS.length;

/** In the place of tags that have not been read. */
const UNREAD: unique symbol = Symbol("unread");

/** A message whose bytes lie in a lease. What has been read of it stays readable when it is settled. */
export class LeasedMessage<T> extends PulledMessage<T> {
  /** By the field's place in FIELDS; most messages keep none. */
  #kept: unknown[] | undefined;
  /** Apart: nearly everybody reads them. */
  #tags: string | undefined | typeof UNREAD = UNREAD;

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

  override get tags(): string | undefined {
    return this.#tags === UNREAD ? this.#tags = super.tags : this.#tags;
  }

  override rawBody(): Uint8Array {
    const kept = this.#kept ??= [];
    return ((kept[RAW_BODY] ??= super.rawBody()) as Uint8Array).slice();
  }

  override failedLocally(): void {
    super.failedLocally();
    if (this.#kept) this.#kept[FIELDS.indexOf("reconsumeTimes")] = undefined;
  }
}
