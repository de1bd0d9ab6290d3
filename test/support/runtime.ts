import type { Host, Listener } from "../../client/host.ts";

export const isDeno = "Deno" in globalThis;
export const isBun = "Bun" in globalThis;

/** The real host of the runtime that runs the tests. */
export const host: Host = isDeno
  ? (await import("../../host-deno/host.ts")).host
  : (await import("../../host-node/host.ts")).host;

export const listener: Listener = isDeno
  ? (await import("../../host-deno/listener.ts")).listener
  : (await import("../../host-node/listener.ts")).listener;

/** `connectSocket` is what `host.connect` is, with a lookup of the test's choice; `TcpSocket` is what comes of it. */
export const { connectSocket, TcpSocket } = isDeno
  ? await import("../../host-deno/socket.ts")
  : await import("../../host-node/socket.ts");
