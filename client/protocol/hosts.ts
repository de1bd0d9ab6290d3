import { ArgumentError } from "../errors.ts";

/** An address and a port as records carry them: 4 or 16 bytes, then the port as an int32. */
export interface HostBytes {
  readonly ip: Uint8Array;
  readonly port: number;
}

/** "10.0.0.1:10911", or "[fe80:0:0:0:0:0:0:1]:10911". */
export function hostText(bytes: Uint8Array, at: number, v6: boolean): string {
  const end = at + (v6 ? 16 : 4);
  const port = bytes[end]! << 24 | bytes[end + 1]! << 16 | bytes[end + 2]! << 8 | bytes[end + 3]!;
  return v6 ? `[${ipText(bytes, at, 16)}]:${port}` : `${ipText(bytes, at, 4)}:${port}`;
}

/** Dotted for 4 bytes; eight groups, as Java prints them, for 16. */
export function ipText(bytes: Uint8Array, at = 0, length = bytes.length): string {
  if (length === 4) return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
  const groups: string[] = [];
  for (let i = at; i < at + 16; i += 2) groups.push((bytes[i]! << 8 | bytes[i + 1]!).toString(16));
  return groups.join(":");
}

/** The inverse of `hostText`; a leading "/", as Java prints socket addresses, is ignored. Throws `ArgumentError`. */
export function parseHost(text: string): HostBytes {
  const split = text.lastIndexOf(":"), digits = text.slice(split + 1);
  const port = PORT.test(digits) ? Number(digits) : NaN;
  if (split < 1 || port !== (port | 0)) throw wrong(text);
  return { ip: parseIp(text.slice(text.startsWith("/") ? 1 : 0, split)), port };
}

/** 4 or 16 bytes. Throws `ArgumentError` for anything but a numeric address. */
export function parseIp(text: string): Uint8Array {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  const ip = bare.includes(":") ? parseV6(bare) : parseV4(bare);
  if (!ip) throw wrong(text);
  return ip;
}

const PORT = /^-?\d{1,10}$/;

/** Four decimal numbers of one to three digits. */
function parseV4(text: string): Uint8Array | undefined {
  const ip = new Uint8Array(4);
  let part = 0, number = 0, digits = 0;
  for (let i = 0; i <= text.length; i++) {
    const digit = i < text.length ? text.charCodeAt(i) - 48 : DOT;
    if (digit >= 0 && digit <= 9) {
      number = number * 10 + digit;
      if (++digits > 3) return undefined;
      continue;
    }
    if (digit !== DOT || digits === 0 || number > 255 || part === 4) return undefined;
    ip[part++] = number;
    number = digits = 0;
  }
  return part === 4 ? ip : undefined;
}

/** "." as a digit. */
const DOT = 46 - 48;

function parseV6(text: string): Uint8Array | undefined {
  const zone = text.indexOf("%");
  let address = zone < 0 ? text : text.slice(0, zone);
  const dotted = address.slice(address.lastIndexOf(":") + 1);
  if (dotted.includes(".")) {
    const tail = parseV4(dotted);
    if (!tail) return undefined;
    address = address.slice(0, -dotted.length) +
      `${(tail[0]! << 8 | tail[1]!).toString(16)}:${(tail[2]! << 8 | tail[3]!).toString(16)}`;
  }
  const halves = address.split("::");
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => half === "" ? [] : half.split(":"));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array<string>(missing).fill("0"), ...tail];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return Uint8Array.from(
    groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]),
  );
}

const wrong = (text: string): ArgumentError => new ArgumentError(`Not a numeric address: ${JSON.stringify(text)}`);
