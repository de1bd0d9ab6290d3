// The one place where the benchmark calls what the client encodes sends with.
import { Core } from "../../client/core.ts";
import { encodeProperties } from "../../client/protocol/properties.ts";
import { UniqueIds } from "../../client/protocol/ids.ts";
import { sendProgram } from "../../client/protocol/send.ts";
import type { SendInput } from "../inputs/send.ts";
import { coreModule } from "./core_module.ts";

/** Frames as a producer writes them: through a header program, into a segment. */
export class SendFrames {
  readonly core: Core;
  readonly segment: number;
  readonly #program: number;
  readonly #ids = new UniqueIds(Date.now);
  readonly #tags: string;

  constructor(input: SendInput, serializeType: "JSON" | "ROCKETMQ") {
    this.core = new Core(coreModule, 16);
    this.core.clock(input.bornTimestamp);
    this.segment = this.core.openSegment();
    this.#program = this.core.program(sendProgram(input, serializeType), serializeType);
    this.#tags = input.tags;
  }

  write(opaque: number, queueId: number, key: string, body: Uint8Array): boolean {
    const properties = encodeProperties({ KEYS: key, TAGS: this.#tags, WAIT: "true", UNIQ_KEY: this.#ids.next() });
    return this.core.encode(this.#program, this.segment, opaque, queueId, ["0", properties], body);
  }

  reset(): void {
    this.core.resetSegment(this.segment);
  }

  written(): Uint8Array {
    return this.core.segmentBytes(this.segment).slice();
  }
}
