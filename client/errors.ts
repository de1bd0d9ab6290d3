import { jsonOf, show } from "./show.ts";

/** Stable: programs compare it. */
export type ErrorCode =
  | "ROCKETMQ_ARGUMENT"
  | "ROCKETMQ_CLOSED"
  | "ROCKETMQ_CONNECT"
  | "ROCKETMQ_PERMISSION"
  | "ROCKETMQ_TIMEOUT"
  | "ROCKETMQ_ROUTE"
  | "ROCKETMQ_BROKER"
  | "ROCKETMQ_FRAME"
  | "ROCKETMQ_OVERLOAD"
  | "ROCKETMQ_CODEC"
  | "ROCKETMQ_HANDLER"
  | "ROCKETMQ_UNSUPPORTED"
  | "ROCKETMQ_CORE"
  | "ROCKETMQ_INTERNAL";

/** Where an error came from, as far as it is known. */
export interface ErrorDetail {
  readonly cause?: unknown;
  readonly addr?: string;
  readonly topic?: string;
}

const MARK = Symbol.for("rocketmq-wasm.error");

/** One class per thing a caller can do something about; messages are for people, `code` is for programs. */
export abstract class RocketMQError extends Error {
  abstract readonly code: ErrorCode;
  /** Whether the same call may succeed if tried again. */
  abstract readonly retryable: boolean;
  declare readonly addr?: string;
  declare readonly topic?: string;

  constructor(message: string, { cause, addr, topic }: ErrorDetail = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    Object.defineProperty(this, MARK, { value: true });
    if (addr !== undefined) this.addr = addr;
    if (topic !== undefined) this.topic = topic;
  }

  /** Everything a log line needs; the stack is left out. */
  toJSON(): Record<string, unknown> {
    const { name, message, code, retryable, addr, topic, cause } = this;
    return {
      name,
      code,
      message,
      retryable,
      ...(addr === undefined ? {} : { addr }),
      ...(topic === undefined ? {} : { topic }),
      ...(cause === undefined ? {} : { cause: causeToJSON(cause) }),
    };
  }
}

function causeToJSON(cause: unknown): unknown {
  if (isRocketMQError(cause)) return cause.toJSON();
  if (cause instanceof AggregateError) {
    return { name: cause.name, message: cause.message, errors: cause.errors.map(causeToJSON) };
  }
  if (cause instanceof Error) return { name: cause.name, message: cause.message };
  return jsonOf(cause) === undefined && cause !== undefined ? show(cause) : cause;
}

/** True for errors of any copy of this library. */
export function isRocketMQError(value: unknown): value is RocketMQError {
  return value instanceof Error && MARK in value;
}

/** An error like this one, which others may hold too, with another message or detail. */
export function copyOf<E extends RocketMQError>(error: E, message: string, detail: ErrorDetail): E {
  const copy = new (error.constructor as new (message: string, detail: ErrorDetail) => E)(message, {
    ...error,
    cause: error.cause,
    ...detail,
  });
  if (error.stack !== undefined) copy.stack = error.stack;
  return copy;
}

/** The call makes no sense; nothing was sent. */
export class ArgumentError extends RocketMQError {
  readonly code = "ROCKETMQ_ARGUMENT";
  readonly retryable = false;
}

/** The client was closed. */
export class ClosedError extends RocketMQError {
  readonly code = "ROCKETMQ_CLOSED";
  readonly retryable = false;
}

/** No connection, or it was lost. */
export class ConnectError extends RocketMQError {
  readonly code = "ROCKETMQ_CONNECT";
  readonly retryable = true;
}

/** The runtime forbids it; the message names the flag to add. */
export class PermissionError extends RocketMQError {
  readonly code = "ROCKETMQ_PERMISSION";
  readonly retryable = false;
}

/** No answer in time. */
export class TimeoutError extends RocketMQError {
  readonly code = "ROCKETMQ_TIMEOUT";
  readonly retryable = true;
}

/** No name server knows a queue for the topic. */
export class RouteError extends RocketMQError {
  readonly code = "ROCKETMQ_ROUTE";
  readonly retryable = true;
}

/** Response codes that are worth another broker (`DefaultMQProducer#retryResponseCodes`). */
export const RETRY_RESPONSE_CODES: readonly number[] = [17, 14, 1, 2, 16, 204, 205, 1500];

/** The broker answered with a failure; its code says whether a retry may help. */
export class BrokerError extends RocketMQError {
  readonly code = "ROCKETMQ_BROKER";
  readonly retryable: boolean;
  readonly responseCode: number;
  readonly remark: string;
  /** Of the queue the request was about, if it was about one. */
  readonly brokerName?: string;

  constructor(
    message: string,
    { responseCode, remark, brokerName, ...detail }: ErrorDetail & {
      responseCode: number;
      remark: string;
      brokerName?: string;
    },
  ) {
    super(message, detail);
    if (brokerName !== undefined) this.brokerName = brokerName;
    this.responseCode = responseCode;
    this.remark = remark;
    this.retryable = RETRY_RESPONSE_CODES.includes(responseCode);
  }

  override toJSON(): Record<string, unknown> {
    const { responseCode, remark, brokerName } = this;
    return { ...super.toJSON(), responseCode, remark, ...(brokerName === undefined ? {} : { brokerName }) };
  }
}

/** Bytes that break the protocol. */
export class FrameError extends RocketMQError {
  readonly code = "ROCKETMQ_FRAME";
  readonly retryable = true;
}

/** Too many calls in flight, or no room to encode one. */
export class OverloadError extends RocketMQError {
  readonly code = "ROCKETMQ_OVERLOAD";
  readonly retryable = true;
}

/** The user's handler failed; what it threw is the `cause`. */
export class HandlerError extends RocketMQError {
  readonly code = "ROCKETMQ_HANDLER";
  readonly retryable = false;
}

/** The user's codec threw; its error is the `cause`. */
export class CodecError extends RocketMQError {
  readonly code = "ROCKETMQ_CODEC";
  readonly retryable = false;
}

/** This broker, runtime or state does not offer it. */
export class UnsupportedError extends RocketMQError {
  readonly code = "ROCKETMQ_UNSUPPORTED";
  readonly retryable = false;
}

/** The core panicked, is another version, or got no memory. */
export class CoreError extends RocketMQError {
  readonly code = "ROCKETMQ_CORE";
  readonly retryable = false;
}

/** A fault of this library, in a place where nothing should be able to fail; what was thrown is the `cause`. */
export class InternalError extends RocketMQError {
  readonly code = "ROCKETMQ_INTERNAL";
  readonly retryable = false;
}
