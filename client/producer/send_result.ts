import type { MessageQueue, SendResult, SendStatus } from "../message.ts";
import { ResponseCode } from "../protocol/codes.ts";

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

export class StoredMessage implements SendResult {
  readonly sendStatus: SendStatus;
  readonly msgId: string;
  readonly offsetMsgId: string;
  readonly queue: MessageQueue;
  readonly queueOffset: bigint;

  constructor(sendStatus: SendStatus, msgId: string, offsetMsgId: string, queue: MessageQueue, queueOffset: bigint) {
    this.sendStatus = sendStatus;
    this.msgId = msgId;
    this.offsetMsgId = offsetMsgId;
    this.queue = queue;
    this.queueOffset = queueOffset;
  }

  toJSON(): Record<string, unknown> {
    const { sendStatus, msgId, offsetMsgId, queue, queueOffset } = this;
    return { sendStatus, msgId, offsetMsgId, queue, queueOffset: String(queueOffset) };
  }
}
