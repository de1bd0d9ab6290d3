import type { Frame } from "../core.ts";
import type { RocketMQError } from "../errors.ts";
import type { Request } from "../protocol/command.ts";

/** A hot request: a header program of this client's core, and what fills its holes. */
export interface ProgramRequest {
  /** Compiled by `core.program()`. */
  readonly program: number;
  /** Fills HOLE_VALUE, for example the queue id. */
  readonly value: number;
  readonly args: readonly (string | Uint8Array)[];
  /** Must not change before the call has ended: large bodies are written where they lie. */
  readonly body?: Uint8Array;
  /** Of programs with a hole for it: NEW_ID before the request is first encoded, then its id. */
  uniqueId?: number;
}

/** A cold request: any fields. All of them go out through one header program. */
export interface FieldRequest extends Request {
  /** Bits of the header's flag; 0 unless given. */
  readonly flag?: number;
}

/** What goes out. */
export type Outgoing = ProgramRequest | FieldRequest;

/** What waits for an answer. Exactly one of `settle` and `fail` is called. */
export interface Call {
  /** The request, never its bytes: it may have to be encoded again. */
  readonly outgoing: Outgoing;
  /** The answer, of any code, lent for this call. What it throws fails the call. */
  settle(frame: Frame): void;
  fail(error: RocketMQError): void;
}

/** Bytes that wait for this request to be encoded. */
export function bodyLength(outgoing: Outgoing | Uint8Array): number {
  if (outgoing instanceof Uint8Array) return outgoing.length;
  return outgoing.body === undefined ? 0 : outgoing.body.length;
}
