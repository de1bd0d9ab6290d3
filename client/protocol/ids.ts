import { ArgumentError } from "../errors.ts";
import { ipText, parseIp } from "./hosts.ts";

const HEX: readonly string[] = Array.from(
  { length: 256 },
  (_, byte) => byte.toString(16).toUpperCase().padStart(2, "0"),
);

/** Upper-case hexadecimal. */
export function hexText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/** Where a message lies: offset id = address (4 or 16 bytes), port int32, commit-log offset int64, in hexadecimal. */
export function createOffsetMsgId(host: Uint8Array | string, port: number, offset: bigint): string {
  const ip = typeof host === "string" ? parseIp(host) : host;
  const bytes = new Uint8Array(ip.length + 12);
  bytes.set(ip);
  const view = new DataView(bytes.buffer);
  view.setInt32(ip.length, port);
  view.setBigInt64(ip.length + 4, offset);
  return hexText(bytes);
}

/** Throws `ArgumentError` unless the id is 32 or 56 hexadecimal digits. */
export function decodeOffsetMsgId(
  id: string,
): { readonly host: string; readonly port: number; readonly offset: bigint } {
  if ((id.length !== 32 && id.length !== 56) || !/^[0-9a-fA-F]+$/.test(id)) {
    throw new ArgumentError(
      `Not an offset message id, which is 32 or 56 hexadecimal digits: ${JSON.stringify(id.slice(0, 80))}`,
    );
  }
  const bytes = new Uint8Array(id.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(id.slice(i * 2, i * 2 + 2), 16);
  const view = new DataView(bytes.buffer);
  const at = bytes.length - 12;
  return { host: ipText(bytes, 0, at), port: view.getInt32(at), offset: view.getBigInt64(at + 4) };
}

/**
 * The texts of UNIQ_KEYs: address 4 bytes, process 2 bytes, loader 4 bytes, milliseconds since the month began in local time
 * int32, counter int16; 32 hexadecimal digits. The core makes time and counter, as one number: `core.uniqueId`. What stands
 * before them is one client's own. Nothing asks for the machine's address: the low bytes of the time stand in for it, as in
 * Java without an address, and random numbers for the process.
 */
export class UniqueIds {
  /** The first 20 digits of every id. */
  readonly prefix: string;
  #monthStart = 0;
  #nextMonth = 0;

  /** `now` is the time in ms. */
  constructor(now: number) {
    const bytes = crypto.getRandomValues(new Uint8Array(10));
    new DataView(bytes.buffer).setUint32(0, now % 0x100000000);
    this.prefix = hexText(bytes);
  }

  /** Milliseconds from the start of the month, which never goes back, to `now`. */
  sinceMonth(now: number): number {
    if (now >= this.#nextMonth) this.#startMonth(now);
    return Math.max(0, now - this.#monthStart);
  }

  /** The id that the core calls `id`. */
  text(id: number): string {
    const time = Math.floor(id / 0x10000), counter = id % 0x10000;
    return this.prefix + HEX[time >>> 24] + HEX[(time >>> 16) & 0xff] + HEX[(time >>> 8) & 0xff] + HEX[time & 0xff] +
      HEX[counter >> 8] + HEX[counter & 0xff];
  }

  #startMonth(now: number): void {
    const date = new Date(now);
    this.#monthStart = new Date(date.getFullYear(), date.getMonth(), 1).getTime();
    this.#nextMonth = new Date(date.getFullYear(), date.getMonth() + 1, 1).getTime();
  }
}
