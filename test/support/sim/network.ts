import type { AcceptedSocket, Inbox, Listener, Socket } from "../../../client/host.ts";
import { ConnectError } from "../../../client/errors.ts";
import { formatAddress } from "../../../client/remoting/address.ts";
import { connectError } from "../../../client/remoting/connect_error.ts";
import type { Events } from "./events.ts";
import type { Random } from "./random.ts";

/** What may go wrong. All chances are per write; times are in ms. */
export interface Faults {
  /** Chance that a write arrives in pieces, cut at random places. */
  split: number;
  /** Longest time under way; the shortest is 0.05. */
  delay: number;
  /** Longest time until a write's callback. */
  lateWrite: number;
  /** Chance that the connection is reset, somewhere in the middle of the write. */
  cut: number;
  /** Chance that the connection goes silent: nothing arrives any more and nobody is told. */
  drop: number;
  /** Chance that a connect is refused. */
  refuse: number;
}

export const NO_FAULTS: Faults = { split: 0, delay: 0.5, lateWrite: 0.5, cut: 0, drop: 0, refuse: 0 };

/** How often each fault has happened. */
export interface FaultCounts {
  connects: number;
  writes: number;
  splits: number;
  cuts: number;
  drops: number;
  refusals: number;
  /** Segments whose bytes were overwritten when their write was done. */
  overwrites: number;
}

/** What a silent peer's kernel still takes before callbacks stay away. */
const KERNEL_BYTES = 262_144;
const SHORTEST_DELAY = 0.05;
/** Overwrites what was given back. */
const SCRIBBLE = 0xdb;

/** In-memory connections between simulated hosts. */
export class Network {
  faults: Faults;
  readonly counts: FaultCounts = { connects: 0, writes: 0, splits: 0, cuts: 0, drops: 0, refusals: 0, overwrites: 0 };
  /** Those that have not ended, oldest first. */
  readonly connections = new Set<SimulatedConnection>();
  readonly events: Events;
  readonly random: Random;
  readonly #listeners = new Map<string, (socket: AcceptedSocket) => Inbox>();
  readonly #swallowed = new Set<string>();
  #port = 40_000;

  constructor(events: Events, random: Random, faults: Faults) {
    this.events = events;
    this.random = random;
    this.faults = faults;
  }

  delay(): number {
    return SHORTEST_DELAY + this.random.next() * this.faults.delay;
  }

  /** Connects to `addr` are neither accepted nor refused, until `swallow(addr, false)`. */
  swallow(addr: string, isSwallowed = true): void {
    if (isSwallowed) this.#swallowed.add(addr);
    else this.#swallowed.delete(addr);
  }

  /** Resets all connections; those to or from one address if it is given. */
  cut(addr?: string): void {
    for (const connection of [...this.connections]) if (connection.isOf(addr)) connection.cut();
  }

  /** Makes all connections silent: half open. */
  drop(addr?: string): void {
    for (const connection of this.connections) if (connection.isOf(addr)) connection.drop();
  }

  connect(ip: string, host: string, port: number, inbox: Inbox, signal: AbortSignal): Promise<Socket> {
    const addr = formatAddress(host, port);
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const aborted = () => {
        arrival.cancel();
        reject(signal.reason);
      };
      signal.addEventListener("abort", aborted);
      const arrival = this.events.after(this.delay(), () => {
        if (this.#swallowed.has(addr)) return;
        signal.removeEventListener("abort", aborted);
        const accept = this.#listeners.get(addr) ?? this.#listeners.get(formatAddress("0.0.0.0", port));
        if (!accept || this.random.chance(this.faults.refuse)) {
          this.counts.refusals++;
          return reject(connectError(addr, new Error(`connect ECONNREFUSED ${addr}`)));
        }
        this.counts.connects++;
        resolve(new SimulatedConnection(this, ip, addr, formatAddress(ip, ++this.#port), inbox, accept).client);
      });
    });
  }

  readonly listener: Listener = {
    listen: (host, port, accept) => {
      const chosen = port === 0 ? ++this.#port : port;
      const addr = formatAddress(host, chosen);
      if (this.#listeners.has(addr)) {
        return Promise.reject(new ConnectError(`Cannot listen on ${addr}: EADDRINUSE`, { addr }));
      }
      const accepted = new Set<SimulatedConnection>();
      this.#listeners.set(addr, (socket) => {
        accepted.add((socket as SimulatedSocket).connection);
        return accept(socket);
      });
      const close = () => {
        this.#listeners.delete(addr);
        for (const connection of accepted) connection.server.close();
        return Promise.resolve();
      };
      return Promise.resolve({ port: chosen, close });
    },
  };
}

/** One connection: two sockets, and what is under way between them. */
export class SimulatedConnection {
  readonly client: SimulatedSocket;
  readonly server: SimulatedSocket;
  readonly network: Network;
  readonly #addr: string;
  readonly #from: string;
  #isSilent = false;

  constructor(
    network: Network,
    ip: string,
    addr: string,
    from: string,
    inbox: Inbox,
    accept: (socket: AcceptedSocket) => Inbox,
  ) {
    this.network = network;
    this.#addr = addr;
    this.#from = from;
    this.client = new SimulatedSocket(this, ip, addr);
    this.server = new SimulatedSocket(this, addr.slice(0, addr.lastIndexOf(":")), from);
    this.client.inbox = inbox;
    network.connections.add(this);
    this.server.inbox = accept(this.server);
  }

  get isSilent(): boolean {
    return this.#isSilent;
  }

  isOf(addr: string | undefined): boolean {
    return addr === undefined || addr === this.#addr || this.#from.startsWith(`${addr}:`);
  }

  peer(socket: SimulatedSocket): SimulatedSocket {
    return socket === this.client ? this.server : this.client;
  }

  /** Reset: both ends are told. */
  cut(): void {
    if (this.#isSilent || !this.network.connections.has(this)) return;
    this.network.counts.cuts++;
    for (const socket of [this.client, this.server]) socket.end(new Error("read ECONNRESET"));
  }

  /** From here on nothing arrives, and nobody is told. */
  drop(): void {
    if (this.#isSilent) return;
    this.network.counts.drops++;
    this.#isSilent = true;
  }

  ended(): void {
    if (this.client.isEnded && this.server.isEnded) this.network.connections.delete(this);
  }
}

interface Write {
  readonly parts: readonly Uint8Array[];
  readonly length: number;
  readonly done: (error?: Error) => void;
}

export class SimulatedSocket implements AcceptedSocket {
  readonly connection: SimulatedConnection;
  readonly localAddress: string;
  readonly remoteAddress: string;
  inbox: Inbox | undefined;
  isEnded = false;
  /** Bytes that were written but not looked at yet: they are this socket's. */
  readonly #writes = new Set<Write>();
  /** When the last piece leaves: writes do not overtake each other. */
  #departure = 0;
  /** When the last piece arrives at the other end: nothing overtakes it. */
  #arrival = 0;
  #silentBytes = 0;
  /** The memory this end reads into; what it writes from there is a segment. */
  #arena: ArrayBufferLike | undefined;

  constructor(connection: SimulatedConnection, localAddress: string, remoteAddress: string) {
    this.connection = connection;
    this.localAddress = localAddress;
    this.remoteAddress = remoteAddress;
  }

  /** Each piece is looked at when it leaves and not before: bytes that are changed meanwhile arrive changed. */
  write(parts: readonly Uint8Array[], done: (error?: Error) => void): void {
    const { events, faults, random, counts } = this.connection.network;
    this.#arena ??= this.inbox?.room().buffer;
    const write: Write = { parts, length: parts.reduce((sum, part) => sum + part.length, 0), done };
    this.#writes.add(write);
    counts.writes++;
    if (this.isEnded) return void events.after(SHORTEST_DELAY, () => this.#finish(write, new Error("write EPIPE")));
    if (random.chance(faults.drop)) this.connection.drop();
    if (random.chance(faults.cut)) events.after(random.next() * faults.lateWrite, () => this.connection.cut());
    const cuts = this.#cuts(write.length);
    let leaves = Math.max(events.now, this.#departure);
    for (let i = 1; i < cuts.length; i++) {
      const from = cuts[i - 1]!, to = cuts[i]!, isLast = i === cuts.length - 1;
      leaves += random.next() * faults.lateWrite / (cuts.length - 1);
      events.after(leaves - events.now, () => this.#leave(write, from, to, isLast));
    }
    this.#departure = leaves;
  }

  close(): void {
    if (this.isEnded) return;
    const { network } = this.connection, { events } = network;
    const peer = this.connection.peer(this);
    // What has left still arrives, then the end of the stream.
    this.#arrival = Math.max(this.#arrival, events.now + network.delay());
    events.after(this.#arrival - events.now, () => {
      if (!this.connection.isSilent) peer.end();
    });
    this.end();
  }

  /** This end is over: writes that are under way fail, then the inbox is told. */
  end(error?: Error): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.connection.network.events.after(0, () => {
      for (const write of this.#writes) this.#finish(write, error ?? new Error("write ECANCELED"));
      this.inbox?.closed(error);
      this.connection.ended();
    });
  }

  #cuts(length: number): number[] {
    const { faults, random, counts } = this.connection.network;
    if (length < 2 || !random.chance(faults.split)) return [0, length];
    counts.splits++;
    const cuts = Array.from({ length: 1 + random.below(4) }, () => 1 + random.below(length - 1));
    return [0, ...new Set(cuts.sort((one, other) => one - other)), length];
  }

  #leave(write: Write, from: number, to: number, isLast: boolean): void {
    if (!this.#writes.has(write) || this.isEnded) return;
    const { network } = this.connection;
    if (this.connection.isSilent) {
      this.#silentBytes += to - from;
      if (this.#silentBytes > KERNEL_BYTES) return;
    } else {
      const piece = copy(write.parts, from, to);
      this.#arrival = Math.max(this.#arrival, network.events.now + network.delay());
      network.events.after(this.#arrival - network.events.now, () => this.connection.peer(this).#arrive(piece));
    }
    if (isLast) this.#finish(write);
  }

  #arrive(bytes: Uint8Array): void {
    const { inbox } = this;
    if (!inbox || this.connection.isSilent) return;
    for (let from = 0; from < bytes.length && !this.isEnded;) {
      const room = inbox.room();
      const length = Math.min(room.length, bytes.length - from);
      room.set(bytes.subarray(from, from + length));
      inbox.received(length);
      from += length;
    }
  }

  #finish(write: Write, error?: Error): void {
    if (!this.#writes.delete(write)) return;
    this.#overwrite(write.parts);
    write.done(error);
  }

  /** Whoever still reads a segment that was given back shall notice. Bodies that are the caller's own are left alone. */
  #overwrite(parts: readonly Uint8Array[]): void {
    for (const part of parts) {
      if (part.buffer !== this.#arena) continue;
      part.fill(SCRIBBLE);
      this.connection.network.counts.overwrites++;
    }
  }
}

function copy(parts: readonly Uint8Array[], from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(to - from);
  let at = 0;
  for (const part of parts) {
    const start = Math.max(from - at, 0), end = Math.min(to - at, part.length);
    if (start < end) bytes.set(part.subarray(start, end), at + start - from);
    at += part.length;
  }
  return bytes;
}
