import { connect, type LookupFunction, type Socket as NetSocket } from "node:net";
import type { Endpoint, Inbox, Socket } from "../client/host.ts";
import { UnsupportedError } from "../client/errors.ts";
import { formatAddress } from "../client/remoting/address.ts";
import { connectError } from "../client/remoting/connect_error.ts";
import { permissionError } from "./permission.ts";

/** How long one address of a name may take before the next one is tried; the last may take all the time there is. */
const ATTEMPT_TIMEOUT = 1_000;

/**
 * Connects by the system's own lookup, to one address after the other. The socket reads straight into the inbox: that
 * takes less CPU than `Deno.connect` and its reads, and short writes are the runtime's to finish. Fails with
 * `ConnectError` or `PermissionError`; an aborted attempt with the signal's reason. Tests give a `lookup` of their own.
 */
export function connectSocket(
  endpoint: Endpoint,
  inbox: Inbox,
  signal: AbortSignal,
  lookup?: LookupFunction,
): Promise<Socket> {
  const { host, port, tls } = endpoint;
  const addr = formatAddress(host, port);
  if (tls) return Promise.reject(new UnsupportedError(`Cannot connect to ${addr}: TLS is not built yet`, { addr }));
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onread = {
      buffer: () => inbox.room(),
      callback: (length: number) => {
        inbox.received(length);
        return true;
      },
    };
    const net = connect({
      host,
      port,
      ...(lookup ? { lookup } : {}),
      noDelay: true,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT,
      // Its declaration asks for a Buffer; the documentation and all runtimes take any Uint8Array.
      onread: onread as NonNullable<Parameters<typeof connect>[0] & { onread: never }>["onread"],
    });
    const failures: Error[] = [];
    let socket: TcpSocket | undefined;
    let problem: Error | undefined;
    const aborted = () => {
      reject(failures.length === 0 ? signal.reason : new AggregateError([...failures, signal.reason]));
      net.destroy();
    };
    signal.addEventListener("abort", aborted);
    net.on("connectionAttemptFailed", (_ip, _port, _family, error) => failures.push(error));
    net.on("connectionAttemptTimeout", (ip, port) => {
      failures.push(new Error(`${formatAddress(ip, port)}: no connection within ${ATTEMPT_TIMEOUT} ms`));
    });
    // Listens for as long as there is a socket: an error that nobody listens to ends the process.
    net.on("error", (error) => problem ??= error);
    net.on("end", () => net.destroy());
    net.on("close", () => {
      signal.removeEventListener("abort", aborted);
      if (!socket) {
        const cause = problem ?? new Error("the socket was closed");
        return reject(permissionError(host, port, cause) ?? connectError(addr, cause));
      }
      socket.ended(problem);
      inbox.closed(problem);
    });
    net.once("connect", () => {
      signal.removeEventListener("abort", aborted);
      resolve(socket = new TcpSocket(net));
    });
  });
}

/** A connected socket of `node:net`. */
export class TcpSocket implements Socket {
  readonly localAddress: string;
  readonly #net: NetSocket;
  /** Writes whose callback has not come. */
  readonly #pending: ((error?: Error) => void)[] = [];

  constructor(net: NetSocket) {
    this.#net = net;
    this.localAddress = plainAddress(net.localAddress);
  }

  write(parts: readonly Uint8Array[], done: (error?: Error) => void): void {
    const last = parts.length - 1;
    if (last > 0) this.#net.cork();
    try {
      for (let i = 0; i < last; i++) this.#net.write(parts[i]!);
      this.#net.write(parts[last]!, this.#written);
      // Not before: whoever is told by an exception is not called back.
      this.#pending.push(done);
    } finally {
      if (last > 0) this.#net.uncork();
    }
  }

  close(): void {
    this.#net.destroy();
  }

  /** The socket is gone: a write whose callback the runtime forgot has failed. */
  ended(error: Error | undefined): void {
    for (const done of this.#pending.splice(0)) done(error ?? new Error("the socket was closed"));
  }

  readonly #written = (error?: Error | null): void => {
    this.#pending.shift()?.(error ?? undefined);
  };
}

/** An IPv4 address that comes in the clothes of IPv6 is shown as what it is. */
export function plainAddress(address: string | undefined): string {
  return (address ?? "").replace(/^::ffff:(?=\d+\.)/i, "");
}
