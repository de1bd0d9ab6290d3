import { type CodecOptions, createCodecWith, type RemotingCodec } from "../client/codec.ts";
import { host } from "./host.ts";

export type { AllocateStrategy } from "../client/allocate.ts";
export type { CodecOptions, CommandStream, RemotingCodec } from "../client/codec.ts";
export {
  ArgumentError,
  CoreError,
  type ErrorCode,
  FrameError,
  isRocketMQError,
  RocketMQError,
  UnsupportedError,
} from "../client/errors.ts";
export type { Message, MessageExt, MessageQueue } from "../client/message.ts";
export type { RemotingCommand } from "../client/protocol/command.ts";

/** Creates a codec on this runtime: the wire format without a client. */
export function createCodec(options: CodecOptions = {}): RemotingCodec {
  return createCodecWith(host, options);
}
