import { type CodecOptions, createCodecWith, type RemotingCodec } from "../client/codec.ts";
import { CORE_MEMORY_DEFAULT_EDGE, host } from "./host.ts";

export * from "../client/codec_names.ts";

/**
 * Creates a codec with nothing but what all runtimes share: the wire format without a client. Where bytes may not be
 * compiled (workerd, a page without `wasm-unsafe-eval`), `core` must be given: without it `UnsupportedError`. Reading a body
 * compressed with ZLIB or ZSTD throws `UnsupportedError` too; LZ4 is read.
 */
export function createCodec(options: CodecOptions = {}): RemotingCodec {
  return createCodecWith(host, options, CORE_MEMORY_DEFAULT_EDGE);
}
