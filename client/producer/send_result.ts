import type { Frame } from "../core.ts";
import type { MessageQueue, SendResult, SendStatus } from "../message.ts";
import { ResponseCode } from "../protocol/codes.ts";
import type { UniqueIds } from "../protocol/ids.ts";
import { readOffsetMsgId } from "../protocol/send.ts";
import { encodeText } from "../protocol/text.ts";

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

/** Digits of an offset id, unless the broker has an IPv6 address. */
const DIGITS = 32;
/** Those of the address, the port and the offset's high half. */
const COMMON_DIGITS = 24;
const COMMON = /^[0-9A-F]{24}/;

/** What the ids of several results have in common. */
export interface CommonIds {
  readonly uniqueIds: UniqueIds;
  readonly offsetId: string;
  /** Whether that is all of it; otherwise it lacks the last eight digits. */
  readonly isWhole: boolean;
}

/**
 * The ids in the answers of one broker. They have all but eight digits in common, until 4 GiB more have been stored: a result
 * keeps those eight as two words, and no text.
 */
export class StoredIds {
  readonly #uniqueIds: UniqueIds;
  /** The common digits as numbers: for digits they are equal exactly when the bytes are. At first they equal nothing. */
  readonly #words = new Float64Array(COMMON_DIGITS / 8).fill(NaN);
  #common: CommonIds;

  constructor(uniqueIds: UniqueIds) {
    this.#uniqueIds = uniqueIds;
    this.#common = this.whole("");
  }

  /** Of an answer that the core has read. */
  result(status: SendStatus, queue: MessageQueue, frame: Frame, uniqueId: number): StoredMessage {
    if (frame.textLength !== DIGITS) {
      return storedMessage(status, queue, frame.a, uniqueId, this.whole(readOffsetMsgId(frame)));
    }
    const ids = frame.textBegins(this.#words) ? this.#common : this.#learn(frame);
    const digits = frame.textWord(COMMON_DIGITS / 4), last = frame.textWord(COMMON_DIGITS / 4 + 1);
    return storedMessage(status, queue, frame.a, uniqueId, ids, digits, last);
  }

  /** For an id that is kept as it is. */
  whole(offsetId: string): CommonIds {
    return { uniqueIds: this.#uniqueIds, offsetId, isWhole: true };
  }

  #learn(frame: Frame): CommonIds {
    const text = readOffsetMsgId(frame), offsetId = text.slice(0, COMMON_DIGITS);
    const common: CommonIds = { uniqueIds: this.#uniqueIds, offsetId, isWhole: false };
    if (COMMON.test(text)) {
      new Uint8Array(this.#words.buffer).set(encodeText(offsetId));
      this.#common = common;
    }
    return common;
  }
}

/** `digits` and `lastDigits` are what `ids` lacks, four in each. */
export const storedMessage = (
  status: SendStatus,
  queue: MessageQueue,
  queueOffset: number | bigint,
  uniqueId: number,
  ids: CommonIds,
  digits = 0,
  lastDigits = 0,
): StoredMessage =>
  status === "SEND_OK"
    ? new StoredMessage(queue, queueOffset, uniqueId, ids, digits, lastDigits)
    : new UnsafeMessage(status, queue, queueOffset, uniqueId, ids, digits, lastDigits);

/** Small, because there is one for each message: its ids are texts when they are read, which most programs never do. */
class StoredMessage implements SendResult {
  readonly queue: MessageQueue;
  readonly #queueOffset: number | bigint;
  readonly #uniqueId: number;
  readonly #ids: CommonIds;
  readonly #digits: number;
  readonly #lastDigits: number;

  constructor(
    queue: MessageQueue,
    queueOffset: number | bigint,
    uniqueId: number,
    ids: CommonIds,
    digits: number,
    lastDigits: number,
  ) {
    this.queue = queue;
    this.#queueOffset = queueOffset;
    this.#uniqueId = uniqueId;
    this.#ids = ids;
    this.#digits = digits;
    this.#lastDigits = lastDigits;
  }

  get sendStatus(): SendStatus {
    return "SEND_OK";
  }

  get msgId(): string {
    return this.#ids.uniqueIds.text(this.#uniqueId);
  }

  get offsetMsgId(): string {
    const { offsetId, isWhole } = this.#ids;
    return isWhole ? offsetId : offsetId + wordText(this.#digits) + wordText(this.#lastDigits);
  }

  get queueOffset(): bigint {
    return BigInt(this.#queueOffset);
  }

  toJSON(): Record<string, unknown> {
    return { ...allOf(this), queueOffset: String(this.#queueOffset) };
  }

  /** What a console shows. */
  [Symbol.for("nodejs.util.inspect.custom")](): Record<string, unknown> {
    return allOf(this);
  }

  [Symbol.for("Deno.customInspect")](
    inspect: (value: unknown, options: unknown) => string,
    options: unknown,
  ): string {
    return inspect(allOf(this), options);
  }
}

/** Stored, but perhaps not for good. */
class UnsafeMessage extends StoredMessage {
  readonly #status: SendStatus;

  constructor(status: SendStatus, ...stored: ConstructorParameters<typeof StoredMessage>) {
    super(...stored);
    this.#status = status;
  }

  override get sendStatus(): SendStatus {
    return this.#status;
  }
}

function allOf({ sendStatus, msgId, offsetMsgId, queue, queueOffset }: SendResult): Record<string, unknown> {
  return { sendStatus, msgId, offsetMsgId, queue, queueOffset };
}

/** Four characters, the first one in the lowest byte. */
const wordText = (word: number): string =>
  String.fromCharCode(word & 0xff, word >>> 8 & 0xff, word >>> 16 & 0xff, word >>> 24);
