import { ConnectError, isRocketMQError, type RocketMQError } from "../errors.ts";

/** A failed connect, as an error whose `cause` is an AggregateError with one error per address that was tried. */
export function connectError(addr: string, cause: unknown): RocketMQError {
  if (isRocketMQError(cause)) return cause;
  return new ConnectError(`Cannot connect to ${addr}: ${reasons(cause)}`, { cause: aggregate(cause), addr });
}

/** The same for a connection that was there. */
export function lostError(addr: string, cause?: unknown): RocketMQError {
  if (isRocketMQError(cause)) return cause;
  if (cause === undefined) return new ConnectError(`The connection to ${addr} was closed by its peer`, { addr });
  return new ConnectError(`The connection to ${addr} was lost: ${reasons(cause)}`, { cause, addr });
}

function aggregate(cause: unknown): AggregateError {
  if (cause instanceof AggregateError) return cause;
  return new AggregateError([cause], reasons(cause));
}

function reasons(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0) return cause.errors.map(reasons).join("; ");
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
