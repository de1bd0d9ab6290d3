import { canBorrow, type Codec, type TextReader, textReader } from "./body_codec.ts";
import type { Core } from "./core.ts";
import { FrameError } from "./errors.ts";
import type { Host } from "./host.ts";
import * as sysFlags from "./protocol/sys_flag.ts";

/** What a message needs of its consumer to read itself. */
export interface Reading<T> {
  readonly host: Pick<Host, "inflate" | "readText" | "readAscii">;
  /** Reads LZ4; hosts do the rest. */
  readonly core: Pick<Core, "inflateLz4">;
  readonly codec: Codec<T>;
  /** The codec keeps nothing of the bytes it reads: it needs no copy of its own. */
  readonly lendsBodies: boolean;
  /** The codec's way to read bodies that are ASCII or short from where they lie. */
  readonly readText: TextReader<T> | undefined;
  /** Longest body after decompression, in bytes: bombs end here. */
  readonly maxBodyBytes: number;
}

export const readingWith = <T>({ host, core }: Pick<Reading<T>, "host" | "core">, codec: Codec<T>): Reading<T> => ({
  host,
  core,
  codec,
  lendsBodies: canBorrow(codec),
  readText: textReader(codec, host),
  maxBodyBytes: BODY_MAX,
});

/** Four times the largest message. */
export const BODY_MAX = 16_777_216;

/**
 * A compressed body, as `Host.inflate` gives it, or the core: LZ4 is never waited for. Throws `FrameError` for bits that mean
 * nothing, and for LZ4 that is damaged or too long.
 */
export function inflateBody(
  { host, core, maxBodyBytes }: Pick<Reading<unknown>, "host" | "core" | "maxBodyBytes">,
  sysFlag: number,
  body: Uint8Array,
  mayWait: boolean,
): Uint8Array | Promise<Uint8Array> {
  const type = sysFlags.compressionOf(sysFlag);
  if (type === "LZ4") return core.inflateLz4(body, maxBodyBytes);
  if (type === undefined) throw new FrameError(`A body is compressed in an unknown way: sysFlag ${sysFlag}`);
  return host.inflate(type, body, maxBodyBytes, mayWait);
}
