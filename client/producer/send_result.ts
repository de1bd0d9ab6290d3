import type { Frame } from "../core.ts";
import type { MessageQueue, SendResult, SendStatus } from "../message.ts";
import { ResponseCode } from "../protocol/codes.ts";
import type { UniqueIds } from "../protocol/ids.ts";
import { readOffsetMsgId } from "../protocol/send.ts";
import { decodeAscii } from "../protocol/text.ts";

/** What a broker's answer to a send means; undefined when it is a failure. */
export function sendStatusOf(code: number): SendStatus | undefined {
  switch (code) {
    case ResponseCode.SUCCESS:
      return "SEND_OK";
    case ResponseCode.FLUSH_DISK_TIMEOUT:
      return "FLUSH_DISK_TIMEOUT";
    case ResponseCode.FLUSH_SLAVE_TIMEOUT:
      return "FLUSH_SLAVE_TIMEOUT";
    case ResponseCode.SLAVE_NOT_AVAILABLE:
      return "SLAVE_NOT_AVAILABLE";
    default:
      return undefined;
  }
}

/** Offset ids of so many results share one array: a result that is kept keeps no more than that. */
const IDS_TOGETHER = 64;
const WORDS = 8;

/** Offset ids of 32 digits, as bytes, until somebody asks for their texts. */
export class OffsetIds {
  #words = new Int32Array(0);
  #next = 0;

  /** The place of a lent frame's id, for `StoredMessage`; the text itself when it has another length. */
  keep(frame: Frame): string | Int32Array {
    if (this.#next === this.#words.length) {
      this.#words = new Int32Array(IDS_TOGETHER * WORDS);
      this.#next = 0;
    }
    if (!frame.copyText32(this.#words, this.#next)) return readOffsetMsgId(frame);
    this.#next += WORDS;
    return this.#words;
  }

  /** Where the id that was kept last begins. */
  get at(): number {
    return this.#next - WORDS;
  }
}

/** The ids are texts when they are first read: most programs never look at them. */
export class StoredMessage implements SendResult {
  readonly sendStatus: SendStatus;
  readonly queue: MessageQueue;
  readonly #offsetId: string | Int32Array;
  readonly #offsetIdAt: number;
  readonly #uniqueIds: UniqueIds;
  readonly #uniqueId: number;
  readonly #queueOffset: number | bigint;

  constructor(
    sendStatus: SendStatus,
    queue: MessageQueue,
    queueOffset: number | bigint,
    offsetId: string | Int32Array,
    offsetIdAt: number,
    uniqueIds: UniqueIds,
    uniqueId: number,
  ) {
    this.sendStatus = sendStatus;
    this.queue = queue;
    this.#offsetId = offsetId;
    this.#offsetIdAt = offsetIdAt;
    this.#queueOffset = queueOffset;
    this.#uniqueIds = uniqueIds;
    this.#uniqueId = uniqueId;
  }

  get msgId(): string {
    return this.#uniqueIds.text(this.#uniqueId);
  }

  get offsetMsgId(): string {
    const id = this.#offsetId;
    if (typeof id === "string") return id;
    return decodeAscii(new Uint8Array(id.buffer, this.#offsetIdAt * 4, WORDS * 4), 0, WORDS * 4);
  }

  get queueOffset(): bigint {
    return BigInt(this.#queueOffset);
  }

  toJSON(): Record<string, unknown> {
    return { ...this.#all(), queueOffset: String(this.#queueOffset) };
  }

  /** What a console shows. */
  [Symbol.for("nodejs.util.inspect.custom")](): Record<string, unknown> {
    return this.#all();
  }

  [Symbol.for("Deno.customInspect")](
    inspect: (value: unknown, options: unknown) => string,
    options: unknown,
  ): string {
    return inspect(this.#all(), options);
  }

  #all(): Record<string, unknown> {
    const { sendStatus, msgId, offsetMsgId, queue, queueOffset } = this;
    return { sendStatus, msgId, offsetMsgId, queue, queueOffset };
  }
}
