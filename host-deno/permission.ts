import { PermissionError } from "../client/errors.ts";
import { formatAddress } from "../client/remoting/address.ts";

/** Where Deno forbids a connect or a listen: an error that names the flag which would allow it. */
export function permissionError(host: string, port: number, cause: Error): PermissionError | undefined {
  if (!isForbidden(cause)) return undefined;
  const addr = formatAddress(host, port);
  return new PermissionError(`Cannot use ${addr}: run Deno with --allow-net=${addr}`, { cause, addr });
}

/** `Deno.errors.NotCapable`; a name that may not be looked up comes as the EPERM of getaddrinfo. */
function isForbidden(cause: Error): boolean {
  return cause.name === "NotCapable" || "code" in cause && cause.code === "EPERM";
}
