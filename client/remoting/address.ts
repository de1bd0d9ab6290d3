import { ArgumentError } from "../errors.ts";
import type { Endpoint } from "../host.ts";

/**
 * address = [ scheme "://" ] host ":" port [ "/" ]
 * host    = name | IPv4 | "[" IPv6 [ "%25" zone ] "]" | IPv6
 * Without brackets the last colon divides. What cannot be split is an `ArgumentError`, never another host.
 */
export function parseAddress(address: string): Endpoint {
  const text = stripScheme(address.trim());
  const parts = BRACKETED.exec(text) ?? PLAIN.exec(text);
  if (!parts) throw new ArgumentError(`Cannot read the address "${address}": it must be host:port`, { addr: address });
  const host = parts[1]!.replace("%25", "%");
  const port = Number(parts[2]);
  const valid = host.includes(":") ? isIPv6(host) : text[0] !== "[" && NAME.test(host);
  if (!valid) throw new ArgumentError(`Cannot read the address "${address}": "${host}" is no host`, { addr: address });
  if (port < 1 || port > 65_535) {
    throw new ArgumentError(`Cannot read the address "${address}": the port must be 1..65535`, { addr: address });
  }
  return { host, port };
}

/** `host:port`, with brackets around an IPv6 host. */
export function formatAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The address without `http://` or the like, and without the slash behind it. */
export function stripScheme(address: string): string {
  return address.replace(SCHEME, "").replace(/\/$/, "");
}

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;
const BRACKETED = /^\[([^\]]+)\]:(\d{1,5})$/;
const PLAIN = /^([^[\]]+):(\d{1,5})$/;
const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\.?$/;

function isIPv6(host: string): boolean {
  const [address, zone] = host.split("%", 2);
  if (zone === "") return false;
  return URL.canParse(`http://[${address}]/`);
}
