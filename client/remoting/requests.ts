import { ConnectError, InternalError, isRocketMQError, type RocketMQError } from "../errors.ts";
import { ONEWAY_FLAG, RESPONSE_FLAG, ResponseCode } from "../protocol/codes.ts";
import type { RemotingCommand, Request } from "../protocol/command.ts";
import { reasonOf } from "../show.ts";
import type { Connection } from "./connection.ts";

/** Answers a request of the peer; `undefined` is no answer. */
export type RequestHandler = (
  request: RemotingCommand,
  addr: string,
) => Request | undefined | Promise<Request | undefined>;

/** Requests of one connection whose answers have not left. */
const OWED_MAX = 1_024;

/** Requests from the other end of our connections, by code. */
export class Requests {
  readonly #report: (error: RocketMQError) => void;
  readonly #handlers = new Map<number, RequestHandler>();

  constructor(report: (error: RocketMQError) => void) {
    this.#report = report;
  }

  handle(code: number, handler: RequestHandler): void {
    this.#handlers.set(code, handler);
  }

  /**
   * Answers in a later turn, if the connection is still there. Never throws. A peer that asks on and on and takes no answers
   * loses its connection.
   */
  serve(connection: Connection, request: RemotingCommand): void {
    if (connection.answersOwed >= OWED_MAX) {
      const { addr } = connection;
      return connection.close(
        new ConnectError(`${addr} does not take the answers to its ${OWED_MAX} requests`, { addr }),
      );
    }
    this.#answer(connection, request).catch((error: unknown) => this.#report(wrap(error, request.code)));
  }

  async #answer(connection: Connection, request: RemotingCommand): Promise<void> {
    connection.answersOwed++;
    const answer = await this.#ask(connection, request);
    connection.answersOwed--;
    if (answer === undefined || (request.flag & ONEWAY_FLAG) !== 0 || connection.isClosed) return;
    connection.answer(request.opaque, { ...answer, flag: RESPONSE_FLAG });
  }

  async #ask(connection: Connection, request: RemotingCommand): Promise<Request | undefined> {
    const handler = this.#handlers.get(request.code);
    if (!handler) {
      const remark = `request type ${request.code} not supported`;
      return { code: ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark };
    }
    try {
      return await handler(request, connection.addr);
    } catch (error) {
      this.#report(wrap(error, request.code));
      return { code: ResponseCode.SYSTEM_ERROR, remark: reasonOf(error) };
    }
  }
}

function wrap(error: unknown, code: number): RocketMQError {
  if (isRocketMQError(error)) return error;
  return new InternalError(`Cannot answer the peer's request ${code}: ${reasonOf(error)}`, { cause: error });
}
