import type { MessageExt } from "../../host-node/mod.ts";
import { BODY_BYTES, checksum, CRC_PROPERTY, indexOf, isBodyOf } from "./payload.ts";

/** Counts by key at the consumer, and the way each message took in milliseconds. */
export class Tally {
  readonly #times: Uint8Array;
  readonly #sentAt: Float64Array;
  readonly #latencies: number[] = [];
  readonly #scratch = new Uint32Array(BODY_BYTES / 4);
  /** Deliveries, of whatever kind. */
  consumed = 0;
  /** Different messages that have arrived. */
  distinct = 0;
  duplicate = 0;
  /** Unknown key, another body than was sent, or a checksum that does not fit. */
  bad = 0;
  checksumsVerified = 0;

  constructor(messages: number) {
    this.#times = new Uint8Array(messages);
    this.#sentAt = new Float64Array(messages);
  }

  sending(index: number): void {
    this.#sentAt[index] = performance.now();
  }

  received(message: MessageExt): void {
    this.consumed++;
    const index = indexOf(message.keys[0], this.#times.length);
    if (index < 0) {
      this.bad++;
      return;
    }
    if (message.properties[CRC_PROPERTY] === checksum(message.body)) this.checksumsVerified++;
    else this.bad++;
    if (!isBodyOf(index, message.body, this.#scratch)) this.bad++;
    const before = this.#times[index] ?? 0;
    this.#times[index] = Math.min(before + 1, 255);
    if (before > 0) {
      this.duplicate++;
      return;
    }
    this.distinct++;
    this.#latencies.push(performance.now() - (this.#sentAt[index] ?? 0));
  }

  /** Sent and never seen: asked when nothing more is to come. */
  get lost(): number {
    return this.#times.length - this.distinct;
  }

  /** The `share` quantile of the latencies, from the call of `send` to the handler. */
  latency(share: number): number {
    return quantile(this.#latencies, share);
  }
}

/** The value below which `share` of all lie; 0 where there is none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
