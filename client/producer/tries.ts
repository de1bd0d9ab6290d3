import { copyOf, type RocketMQError } from "../errors.ts";
import type { MessageQueue, SendResult } from "../message.ts";

/**
 * What only some sends have, from the start or from their first failure on: options, errors that were met, more than one try.
 * Most sends are stored at once and never need it.
 */
export class Tries {
  /** After the present one. */
  left: number;
  readonly signal: AbortSignal | undefined;
  readonly fixedQueue: MessageQueue | undefined;
  /** A result that is not as good as SEND_OK, while another broker is tried. */
  fallback: SendResult | undefined;
  readonly #errors: RocketMQError[] = [];

  constructor(retries: number, signal?: AbortSignal, fixedQueue?: MessageQueue) {
    this.left = fixedQueue ? 0 : retries;
    this.signal = signal;
    this.fixedQueue = fixedQueue;
  }

  /** There will be another try after this error. */
  failed(error: RocketMQError): void {
    this.left--;
    this.#errors.push(error);
  }

  /** The last error, with all of them in order as its cause. */
  withEarlier(last: RocketMQError): RocketMQError {
    if (this.#errors.length === 0) return last;
    const errors = [...this.#errors, last];
    return copyOf(last, last.message, { cause: new AggregateError(errors, `${errors.length} tries failed`) });
  }
}
