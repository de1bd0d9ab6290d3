import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { FileStore } from "../client/host.ts";

/** Files by `node:fs`, with `--allow-read` and `--allow-write`. Folders are made when something is written into them. */
export const files: FileStore = {
  async read(path) {
    try {
      return new Uint8Array(await readFile(path));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  },

  /** Whoever reads meanwhile, or after a crash, finds the old bytes or the new ones. */
  async replaceAtomically(path, bytes) {
    const next = `${path}.${crypto.randomUUID()}.tmp`;
    await mkdir(dirname(path), { recursive: true });
    try {
      await writeWhole(next, "w", bytes, true);
      await rename(next, path);
    } catch (error) {
      await rm(next, { force: true });
      throw error;
    }
  },

  async append(path, bytes, sync) {
    await mkdir(dirname(path), { recursive: true });
    await writeWhole(path, "a", bytes, sync);
  },

  async list(folder) {
    try {
      return (await readdir(folder)).sort();
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  },

  async remove(path) {
    await rm(path, { force: true });
  },
};

async function writeWhole(path: string, flag: "w" | "a", bytes: Uint8Array, sync: boolean): Promise<void> {
  const file = await open(path, flag);
  try {
    await file.writeFile(bytes);
    if (sync) await file.sync();
  } finally {
    await file.close();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
