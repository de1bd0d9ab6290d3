// The one place where the benchmark calls the core's checksum.
import { Core } from "../../client/core.ts";
import { coreModule } from "./core_module.ts";

/** CRC-32 of bytes that lie in the arena, where the record walk finds them. */
export function crc32InArena(bytes: Uint8Array): () => number {
  const core = new Core(coreModule, 16);
  const block = core.allocateBlock(bytes.length), { length } = bytes;
  core.write(block, bytes);
  return () => core.crc32At(block, length);
}

/** CRC-32 of any bytes, which are copied into the arena first: what a codec offers. */
export function crc32OfBytes(bytes: Uint8Array): () => number {
  const core = new Core(coreModule, 16);
  return () => core.crc32(bytes);
}
