import { type CodecOptions, createCodecWith, type RemotingCodec } from "../client/codec.ts";
import { host } from "./host.ts";

export * from "../client/codec_names.ts";

/** Creates a codec on this runtime: the wire format without a client. */
export function createCodec(options: CodecOptions = {}): RemotingCodec {
  return createCodecWith(host, options);
}
