import { PermissionError } from "../client/errors.ts";
import { formatAddress } from "../client/remoting/address.ts";

/** What we use of Deno's own API; a module's declaration, so that every compiler knows it. */
declare const Deno: {
  readonly permissions: {
    request(permission: { name: "net"; host: string }): Promise<{ readonly state: string }>;
  };
};

/** Where Deno forbids a connect or a listen: an error that names the flag which would allow it. */
export function permissionError(host: string, port: number, cause: Error): PermissionError | undefined {
  return isForbidden(cause) ? forbidden(formatAddress(host, port), cause) : undefined;
}

/**
 * Asks before `node:net` listens, because what Deno forbids there is thrown past every handler and ends the process. On a
 * terminal the user is asked. A free port is not known before, so it takes the permission for all ports of the host.
 */
export async function mayListen(host: string, port: number): Promise<void> {
  const withPort = formatAddress(host, port);
  const addr = port === 0 ? withPort.slice(0, withPort.lastIndexOf(":")) : withPort;
  const { state } = await Deno.permissions.request({ name: "net", host: addr });
  if (state !== "granted") throw forbidden(addr);
}

const forbidden = (addr: string, cause?: Error): PermissionError =>
  new PermissionError(`Cannot use ${addr}: run Deno with --allow-net=${addr}`, { cause, addr });

/** `Deno.errors.NotCapable`; a name that may not be looked up comes as the EPERM of getaddrinfo. */
function isForbidden(cause: Error): boolean {
  return cause.name === "NotCapable" || "code" in cause && cause.code === "EPERM";
}
