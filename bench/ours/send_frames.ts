// The one place where the benchmark calls what the client encodes sends with.
import { Core } from "../../client/core.ts";
import { ProducerKind } from "../../client/producer/send_kinds.ts";
import { UniqueIds } from "../../client/protocol/ids.ts";
import { sendProgram } from "../../client/protocol/send.ts";
import type { SendInput } from "../inputs/send.ts";
import { coreModule } from "./core_module.ts";

/** Frames as a producer writes them: through the header program of their kind, into a segment. */
export class SendFrames {
  readonly core: Core;
  readonly segment: number;
  readonly #program: number;

  constructor(input: SendInput, serializeType: "JSON" | "ROCKETMQ") {
    const now = input.bornTimestamp, ids = new UniqueIds(now);
    const properties = { tags: input.tags, isWaiting: true, isKeyed: true, isDelayed: false, own: undefined };
    const kind = new ProducerKind(0, properties, false, false);
    this.core = new Core(coreModule, 16);
    this.core.clock(now, ids.sinceMonth(now));
    this.segment = this.core.openSegment();
    this.#program = this.core.program(sendProgram(input, kind, ids.prefix, serializeType), serializeType);
  }

  write(opaque: number, queueId: number, key: string, body: Uint8Array): boolean {
    return this.core.encode(this.#program, this.segment, opaque, queueId, [key], body);
  }

  reset(): void {
    this.core.resetSegment(this.segment);
  }

  written(): Uint8Array {
    return this.core.segmentBytes(this.segment).slice();
  }
}
