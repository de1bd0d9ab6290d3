/** What a runtime must supply. A host has no protocol in it. */
export interface Host {
  /** The compiled core; each runtime has its own way to load it. */
  readonly core: WebAssembly.Module;
  readonly clock: Clock;
  /** Bodies longer than this are written as a part of their own: 32 KiB on Node and Deno; on Bun only what does not fit a segment. */
  readonly separateBodyAbove: number;
  /** Fails with `ConnectError` (or `PermissionError`); `signal` ends the attempt and rejects with its reason. */
  connect(endpoint: Endpoint, inbox: Inbox, signal: AbortSignal): Promise<Socket>;
  /** Runs `task` when the current turn and its microtasks are over, before the next event. */
  defer(task: () => void): void;
  /**
   * Synchronous, whatever the size, unless `mayWait`: then bodies over 64 KiB leave the event loop. Without a synchronous
   * way always a promise. More than `maxLength` bytes is an error: bombs end here.
   */
  inflate(
    type: CompressionType,
    bytes: Uint8Array,
    maxLength: number,
    mayWait: boolean,
  ): Uint8Array | Promise<Uint8Array>;
  deflate(type: CompressionType, bytes: Uint8Array, level: number): Uint8Array | Promise<Uint8Array>;
  hmacSha1(key: Uint8Array, bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /** A CRC-32 that is faster than the core's, an unsigned number, where the runtime has one: Deno and Bun. */
  crc32?(bytes: Uint8Array): number;
  /**
   * The text of some bytes as a `TextDecoder` that ignores byte order marks reads it, where the runtime has a way that is
   * quicker for short texts: one without an array for each.
   */
  readText?(bytes: Uint8Array, from: number, to: number): string;
  /** The same for bytes below 128, of any number, where that is quicker still. */
  readAscii?(bytes: Uint8Array, from: number, to: number): string;
  /** Memory of its own that need not be cleared first, where the runtime has such: what nobody has written, nobody reads. */
  allocate?(length: number): Uint8Array;
  /** Absent where there is no file system. */
  readonly files?: FileStore;
}

/** What hosts compress; LZ4 is the core's. */
export type CompressionType = "ZLIB" | "ZSTD";

export interface TlsOptions {
  ca?: string;
  cert?: string;
  key?: string;
  serverName?: string;
  rejectUnauthorized?: boolean;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsOptions;
}

/** Milliseconds. `monotonic` never goes back; deadlines use it, timestamps on the wire use `now`. */
export interface Clock {
  now(): number;
  monotonic(): number;
  setTimer(delay: number, task: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Where the bytes of one connection go. */
export interface Inbox {
  /** The place for the next bytes; asked again after every `received`. */
  room(): Uint8Array;
  received(length: number): void;
  /** Once, after the last byte; also after `Socket.close`. */
  closed(error?: Error): void;
}

export interface Socket {
  /** Our own address: part of the client id. */
  readonly localAddress: string;
  /** Sends the parts as one run. `done` comes once, never during the call: then the bytes may be reused. */
  write(parts: readonly Uint8Array[], done: (error?: Error) => void): void;
  close(): void;
}

/** What a listener hands out: `Socket`, and who is at the other end. */
export interface AcceptedSocket extends Socket {
  /** `ip:port` of the peer. */
  readonly remoteAddress: string;
}

/** Apart from `Host`, because only the embedded broker listens. Port 0 chooses a free one. */
export interface Listener {
  listen(
    host: string,
    port: number,
    accept: (socket: AcceptedSocket) => Inbox,
  ): Promise<{ readonly port: number; close(): Promise<void> }>;
}

/** Whole small files for a local offset store; append-only ones for the embedded broker. */
export interface FileStore {
  read(path: string): Promise<Uint8Array | undefined>;
  replaceAtomically(path: string, bytes: Uint8Array): Promise<void>;
  append(path: string, bytes: Uint8Array, sync: boolean): Promise<void>;
  list(folder: string): Promise<readonly string[]>;
  remove(path: string): Promise<void>;
}
