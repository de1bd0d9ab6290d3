import type { Request } from "../protocol/command.ts";

/** A hot request: a header program of this client's core, and what fills its holes. */
export interface ProgramRequest {
  /** Compiled by `core.program()`. */
  readonly program: number;
  /** Fills HOLE_VALUE, for example the queue id. */
  readonly value: number;
  readonly args: readonly string[];
  /** Must not change before the call has ended: large bodies are written where they lie. */
  readonly body?: Uint8Array;
}

/** What goes out: a header program of this client, or a cold request. */
export type Outgoing = ProgramRequest | Request;

/** Bytes that wait for this request to be encoded. */
export function bodyLength(outgoing: Outgoing | Uint8Array): number {
  if (outgoing instanceof Uint8Array) return outgoing.length;
  return outgoing.body === undefined ? 0 : outgoing.body.length;
}
