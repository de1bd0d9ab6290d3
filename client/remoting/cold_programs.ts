import * as abi from "../../core-as/abi.ts";
import type { Core, Step } from "../core.ts";
import { type HeaderParts, headerParts, type SerializeType } from "../protocol/command.ts";
import { textLength } from "../protocol/text.ts";
import type { FieldRequest, ProgramRequest } from "./outgoing.ts";

/**
 * The header programs of requests that are rare: all of a header but its opaque is two arguments. One for each header kind,
 * because a code above 32767 has a JSON header always.
 */
export class ColdPrograms {
  readonly #core: Core;
  readonly #serializeType: SerializeType;
  readonly #programs: Record<SerializeType, number> = { JSON: 0, ROCKETMQ: 0 };

  constructor(core: Core, serializeType: SerializeType) {
    this.#core = core;
    this.#serializeType = serializeType;
  }

  /**
   * The request that carries these fields; undefined when its header is too long for a program. Throws `ArgumentError` when
   * it has no header at all, and `OverloadError` without room for a program.
   */
  request(request: FieldRequest): ProgramRequest | undefined {
    const { flag = 0, body } = request;
    const { serializeType, head, tail } = headerParts({ ...request, flag, serializeType: this.#serializeType });
    if (!isShort(head, tail)) return undefined;
    const program = this.#programs[serializeType] ||= this.#core.program(STEPS[serializeType], serializeType);
    return { program, value: 0, args: [head, tail], ...(body && { body }) };
  }

  close(): void {
    for (const program of Object.values(this.#programs)) if (program) this.#core.freeProgram(program);
    this.#programs.JSON = this.#programs.ROCKETMQ = 0;
  }
}

const STEPS: Readonly<Record<SerializeType, readonly Step[]>> = {
  JSON: [["", abi.HOLE_ARGUMENT], ["", abi.HOLE_OPAQUE], ["", abi.HOLE_ARGUMENT], ["", abi.HOLE_END]],
  ROCKETMQ: [["", abi.HOLE_ARGUMENT], ["", abi.HOLE_OPAQUE32], ["", abi.HOLE_ARGUMENT], ["", abi.HOLE_END]],
};

const isShort = (...parts: HeaderParts["head"][]): boolean =>
  parts.reduce((sum, part) => sum + (typeof part === "string" ? textLength(part) : part.length), 0) <=
    abi.ARGUMENT_BYTES;
