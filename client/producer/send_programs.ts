import type { Core } from "../core.ts";
import { OverloadError } from "../errors.ts";
import { sendProgram, type SendTarget } from "../protocol/send.ts";

/** Programs of one producer that are kept; further targets go the cold way. Each takes at least 4 KiB of the arena. */
const PROGRAMS_MAX = 1_024;

/** The compiled headers of one producer: one per topic and broker. */
export class SendPrograms {
  readonly #core: Core;
  readonly #serializeType: "JSON" | "ROCKETMQ";
  readonly #programs = new Map<string, number>();

  constructor(core: Core, serializeType: "JSON" | "ROCKETMQ") {
    this.#core = core;
    this.#serializeType = serializeType;
  }

  /** 0 when there is no room for another one. */
  of(target: SendTarget): number {
    const key = `${target.topic}\n${target.brokerName}`;
    const known = this.#programs.get(key);
    if (known !== undefined) return known;
    if (this.#programs.size >= PROGRAMS_MAX) return 0;
    try {
      const program = this.#core.program(sendProgram(target, this.#serializeType), this.#serializeType);
      this.#programs.set(key, program);
      return program;
    } catch (error) {
      if (error instanceof OverloadError) return 0;
      throw error;
    }
  }

  close(): void {
    for (const program of this.#programs.values()) this.#core.freeProgram(program);
    this.#programs.clear();
  }
}
