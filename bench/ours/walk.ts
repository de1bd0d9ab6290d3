// The one place where the benchmark calls the record walk alone.
import { Core } from "../../client/core.ts";
import { coreModule } from "./core_module.ts";
import { hostCrc32 } from "./host_crc32.ts";

/** Walks a pull body that lies in the arena; returns how many messages there are, -1 when one is not sound. */
export function recordWalk(body: Uint8Array, checkCrc: boolean): () => number {
  const core = new Core(coreModule, 16, hostCrc32);
  const block = core.allocateBlock(body.length), { length } = body;
  core.write(block, body);
  const walk = (): number => core.walkAt(block, length, 0, checkCrc);
  const count = walk();
  for (let row = 0; row < count; row++) if (core.rowStatus(row) !== 0) return () => -1;
  return walk;
}
