import { ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand, Request } from "../client/protocol/command.ts";

/** What a server answers; `undefined` is nothing, or not now. */
export type Answer = Request | undefined;

/** Who asked, and how to answer later or to ask back. */
export interface Caller {
  /** "ip:port" of the other end. */
  readonly addr: string;
  readonly isClosed: boolean;
  /** Answers a request that was not answered at once. */
  answer(request: RemotingCommand, answer: Request): void;
  /** Sends a request that wants no answer. */
  tell(request: Request): void;
}

/** One server's work. */
export type Handler = (request: RemotingCommand, caller: Caller) => Answer;

/** A request that fails for a reason RocketMQ has a code for. */
export class Refusal extends Error {
  readonly responseCode: number;

  constructor(responseCode: number, remark: string) {
    super(remark);
    this.responseCode = responseCode;
  }
}

export const success = (extFields: Readonly<Record<string, string>> = {}, body?: Uint8Array): Request => ({
  code: ResponseCode.SUCCESS,
  extFields,
  ...(body && { body }),
});
