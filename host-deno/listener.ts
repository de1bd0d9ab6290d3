import { createServer, type Server, type Socket as NetSocket } from "node:net";
import { ConnectError } from "../client/errors.ts";
import type { AcceptedSocket, Inbox, Listener } from "../client/host.ts";
import { formatAddress } from "../client/remoting/address.ts";
import { mayListen } from "./permission.ts";
import { plainAddress, TcpSocket } from "./socket.ts";

/** Listens with `node:net`. Closing a listener ends the connections it has accepted. */
export const listener: Listener = {
  async listen(host, port, accept) {
    await mayListen(host, port);
    const sockets = new Set<NetSocket>();
    const server = createServer({ noDelay: true }, (net) => {
      sockets.add(net);
      net.on("close", () => sockets.delete(net));
      serve(net, accept);
    });
    await listening(server, host, port);
    // A connection that could not be accepted is its peer's matter; the next one may be.
    server.on("error", () => {});
    const address = server.address();
    return {
      port: typeof address === "object" && address !== null ? address.port : port,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          for (const net of sockets) net.destroy();
        }),
    };
  },
};

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (cause: Error) => {
      const addr = formatAddress(host, port);
      reject(new ConnectError(`Cannot listen on ${addr}: ${cause.message}`, { cause, addr }));
    };
    server.once("error", failed);
    server.listen(port, host, () => {
      server.off("error", failed);
      resolve();
    });
  });
}

/** No runtime lets an accepted socket read into a buffer of ours, so there is one copy. */
function serve(net: NetSocket, accept: (socket: AcceptedSocket) => Inbox): void {
  let problem: Error | undefined;
  net.on("error", (error) => problem ??= error);
  net.on("end", () => net.destroy());
  // Reset before we looked: nobody is there to be told.
  if (net.destroyed || net.remoteAddress === undefined) return void net.destroy();
  const socket = new TcpAcceptedSocket(net);
  const inbox = accept(socket);
  net.on("data", (bytes) => fill(inbox, bytes));
  net.on("close", () => {
    socket.ended(problem);
    inbox.closed(problem);
  });
}

class TcpAcceptedSocket extends TcpSocket implements AcceptedSocket {
  readonly remoteAddress: string;

  constructor(net: NetSocket) {
    super(net);
    this.remoteAddress = formatAddress(plainAddress(net.remoteAddress), net.remotePort ?? 0);
  }
}

function fill(inbox: Inbox, bytes: Uint8Array): void {
  for (let from = 0; from < bytes.length;) {
    const room = inbox.room();
    const length = Math.min(room.length, bytes.length - from);
    room.set(bytes.subarray(from, from + length));
    inbox.received(length);
    from += length;
  }
}
