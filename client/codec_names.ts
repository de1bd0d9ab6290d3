// The public names of the codec, whatever the host.
export type { AllocateStrategy } from "./allocate.ts";
export type { CodecOptions, CommandStream, RemotingCodec } from "./codec.ts";
export {
  ArgumentError,
  CoreError,
  type ErrorCode,
  FrameError,
  isRocketMQError,
  RocketMQError,
  UnsupportedError,
} from "./errors.ts";
export type { Message, MessageExt, MessageQueue } from "./message.ts";
export type { Command, RemotingCommand } from "./protocol/command.ts";
