import type { Core } from "../client/core.ts";
import { ResponseCode } from "../client/protocol/codes.ts";
import type { SerializeType } from "../client/protocol/command.ts";
import { answerProgram, ARGUMENT, type ProgramField, TEXT_ARGUMENT, VALUE } from "../client/protocol/program.ts";
import type { ProgramRequest } from "../client/remoting/outgoing.ts";

/** The two answers a broker gives all the time, as header programs of its core. */
export class AnswerPrograms {
  readonly #sent: Readonly<Record<SerializeType, number>>;
  readonly #found: Readonly<Record<SerializeType, number>>;

  constructor(core: Core) {
    const both = (remark: string, fields: readonly ProgramField[]): Record<SerializeType, number> => ({
      JSON: core.program(answerProgram(ResponseCode.SUCCESS, remark, fields, "JSON"), "JSON"),
      ROCKETMQ: core.program(answerProgram(ResponseCode.SUCCESS, remark, fields, "ROCKETMQ"), "ROCKETMQ"),
    });
    this.#sent = both("", SENT);
    this.#found = both(FOUND, PULLED);
  }

  /** A stored message; `uniqKey` is its transaction id. */
  sent(kind: SerializeType, queueId: number, msgId: string, queueOffset: number, uniqKey: string): ProgramRequest {
    return { program: this.#sent[kind], value: queueId, args: [msgId, String(queueOffset), uniqKey] };
  }

  /** Messages. */
  found(kind: SerializeType, next: number, min: number, max: number, body: Uint8Array): ProgramRequest {
    return { program: this.#found[kind], value: next, args: [String(min), String(max)], body };
  }
}

/** The name of the state that has messages. */
export const FOUND = "FOUND";

const SENT: readonly ProgramField[] = [
  ["msgId", ARGUMENT],
  ["queueId", VALUE],
  ["queueOffset", ARGUMENT],
  ["transactionId", TEXT_ARGUMENT],
  ["MSG_REGION", "DefaultRegion"],
  ["TRACE_ON", "true"],
];

const PULLED: readonly ProgramField[] = [
  ["suggestWhichBrokerId", "0"],
  ["nextBeginOffset", VALUE],
  ["minOffset", ARGUMENT],
  ["maxOffset", ARGUMENT],
  ["topicSysFlag", "0"],
  ["groupSysFlag", "0"],
];
