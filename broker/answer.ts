import { ResponseCode } from "../client/protocol/codes.ts";
import type { RemotingCommand, Request } from "../client/protocol/command.ts";
import { parseHost } from "../client/protocol/hosts.ts";
import type { Outgoing } from "../client/remoting/outgoing.ts";

/** What a server answers, field by field or with a header program; `undefined` is nothing, or not now. */
export type Answer = Outgoing | undefined;

/** Of a request: what its answer needs. */
export type Asked = Pick<RemotingCommand, "opaque" | "flag" | "serializeType">;

/** Who asked, and how to answer later or to ask back. */
export interface Caller {
  /** "ip:port" of the other end. */
  readonly addr: string;
  /** The same as records carry it. */
  readonly hostBytes: Uint8Array;
  readonly isClosed: boolean;
  /** Answers a request, now or later; in the request's own header kind. Oneway requests have no answer. */
  answer(request: Asked, answer: Outgoing): void;
  /** Sends a request that wants no answer. */
  tell(request: Request): void;
  close(): void;
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

/** As a 5.x server says it, the space in front included. */
export const unsupported = ({ code }: RemotingCommand): Request => ({
  code: ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
  remark: ` request type ${code} not supported`,
});

/** "ip:port" as records carry it: 4 or 16 bytes, then the port as an int32. */
export function hostBytes(addr: string): Uint8Array {
  const { ip, port } = parseHost(addr);
  const bytes = new Uint8Array(ip.length + 4);
  bytes.set(ip);
  new DataView(bytes.buffer).setInt32(ip.length, port);
  return bytes;
}
