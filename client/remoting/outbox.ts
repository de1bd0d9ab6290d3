import { type Core, NEW_ID } from "../core.ts";
import { ArgumentError, OverloadError, type RocketMQError } from "../errors.ts";
import type { Host, Socket } from "../host.ts";
import { encodeCommand } from "../protocol/command.ts";
import type { ColdPrograms } from "./cold_programs.ts";
import { bodyLength, type FieldRequest, type Outgoing, type ProgramRequest } from "./outgoing.ts";

/** Bodies that may wait to be encoded, per connection. */
export const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** Bodies written as parts of their own in one run, unless a single one is larger. */
const APART_BYTES_MAX = 1024 * 1024;
/** A body that leaves less than this for its header is not copied into a segment. */
const HEADER_ROOM = 4096;
/** Withdrawn requests that may stand in the list before it is swept. */
const WITHDRAWN_MAX = 1024;

type Done = (error?: RocketMQError) => void;

export interface OutboxOptions {
  readonly core: Core;
  readonly host: Pick<Host, "defer" | "separateBodyAbove">;
  readonly serializeType: "JSON" | "ROCKETMQ";
  /** For requests that are given field by field. */
  readonly cold: ColdPrograms;
  /** A request that waited cannot be encoded. */
  readonly onUnsent: (opaque: number, error: RocketMQError) => void;
  /** A write failed. Answers with the error for those whose bytes were in it. */
  readonly onLost: (cause: Error) => RocketMQError;
  /** The last write of a closed outbox has ended: everything may be freed. */
  readonly onEnded: () => void;
}

/** A request, or a ready frame, that found no room yet. */
export interface Waiting {
  readonly opaque: number;
  outgoing: Outgoing | Uint8Array | undefined;
  readonly bytes: number;
  readonly done: Done | undefined;
}

/**
 * What one connection sends. Frames are encoded into the open segment while the socket writes the other one, so at most
 * one write is in flight: a lone frame leaves when its turn ends, under load the runs grow. What finds no room waits,
 * first in, first out, as a message and not as bytes.
 */
export class Outbox {
  bytesOut = 0;
  readonly #options: OutboxOptions;
  #socket: Socket | undefined;
  #closed = false;
  #scheduled = false;
  /** Longer bodies are parts of their own. */
  #mostInside = 0;
  /** Segments; 0: none. */
  #open = 0;
  #spare = 0;
  /** The segment the socket is writing. */
  #sealed = 0;
  /** Parts of their own in the open segment, and the positions behind which they go. */
  #apart: Uint8Array[] = [];
  #apartAt: number[] = [];
  #apartBytes = 0;
  /** To be told when the open segment has been written; those of the sealed one. */
  #dones: Done[] = [];
  #sealedDones: Done[] = [];
  readonly #waiting: Waiting[] = [];
  #waitingFirst = 0;
  #waitingBytes = 0;
  #withdrawn = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Bytes belong to the socket: nothing may be freed. */
  get isWriting(): boolean {
    return this.#sealed !== 0;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** From here on frames leave. */
  attach(socket: Socket): void {
    this.#socket = socket;
    this.#encodeWaiting();
    this.#flush();
  }

  /**
   * Encodes a request, or returns it as one that waits: for the socket, or for room. Throws `OverloadError` when too much
   * waits already, `ArgumentError` when the frame can never be sent. `done` comes when the socket has written it.
   */
  send(opaque: number, outgoing: Outgoing | Uint8Array, done?: Done): Waiting | undefined {
    const first = this.#waitingFirst === this.#waiting.length;
    if (first && this.#socket && this.#encode(opaque, outgoing, done)) {
      this.#schedule();
      return undefined;
    }
    return this.#wait({ opaque, outgoing, bytes: bodyLength(outgoing), done });
  }

  /** Takes back what waits. */
  withdraw(waiting: Waiting): void {
    if (waiting.outgoing === undefined) return;
    waiting.outgoing = undefined;
    this.#waitingBytes -= waiting.bytes;
    if (++this.#withdrawn > WITHDRAWN_MAX && this.#withdrawn > this.#waiting.length / 2) this.#sweep();
  }

  /** Nothing is sent any more. Whoever waits for `done` gets the error. */
  close(error: RocketMQError): void {
    this.#closed = true;
    const waiting = this.#waiting.splice(0);
    const first = this.#waitingFirst;
    this.#waitingFirst = 0;
    this.#waitingBytes = 0;
    const dones = this.#dones.splice(0);
    for (const done of dones) done(error);
    for (let at = first; at < waiting.length; at++) {
      if (waiting[at]!.outgoing !== undefined) waiting[at]!.done?.(error);
    }
  }

  /** Frees the segments; only when nothing is being written. */
  free(): void {
    for (const segment of [this.#open, this.#spare]) if (segment) this.#options.core.freeSegment(segment);
    this.#open = this.#spare = 0;
  }

  #wait(waiting: Waiting): Waiting {
    if (this.#waitingBytes + waiting.bytes > WAITING_BYTES_MAX) {
      throw new OverloadError(`Cannot send: ${this.#waitingBytes} bytes wait for this connection already`);
    }
    this.#waitingBytes += waiting.bytes;
    this.#waiting.push(waiting);
    return waiting;
  }

  #sweep(): void {
    const kept = this.#waiting.slice(this.#waitingFirst).filter((waiting) => waiting.outgoing !== undefined);
    this.#waiting.length = 0;
    for (const waiting of kept) this.#waiting.push(waiting);
    this.#waitingFirst = 0;
    this.#withdrawn = 0;
  }

  #encodeWaiting(): void {
    while (this.#waitingFirst < this.#waiting.length && !this.#closed) {
      const waiting = this.#waiting[this.#waitingFirst]!;
      const { opaque, outgoing, done } = waiting;
      if (outgoing !== undefined) {
        try {
          if (!this.#encode(opaque, outgoing, done)) return;
        } catch (error) {
          this.#refuse(waiting, error);
          continue;
        }
        this.#waitingBytes -= waiting.bytes;
        waiting.outgoing = undefined;
      } else {
        this.#withdrawn--;
      }
      this.#advance();
    }
  }

  /** Skips the first of the list, and drops the part of it that is behind us now and then. */
  #advance(): void {
    this.#waitingFirst++;
    if (this.#waitingFirst === this.#waiting.length) {
      this.#waiting.length = this.#waitingFirst = 0;
    } else if (this.#waitingFirst > WITHDRAWN_MAX && this.#waitingFirst > this.#waiting.length / 2) {
      this.#waiting.splice(0, this.#waitingFirst);
      this.#waitingFirst = 0;
    }
  }

  #refuse(waiting: Waiting, error: unknown): void {
    this.#waitingBytes -= waiting.bytes;
    waiting.outgoing = undefined;
    this.#advance();
    if (waiting.done) waiting.done(error as RocketMQError);
    else this.#options.onUnsent(waiting.opaque, error as RocketMQError);
  }

  /** False when there is no room now; a frame is never half encoded. */
  #encode(opaque: number, outgoing: Outgoing | Uint8Array, done: Done | undefined): boolean {
    if (!this.#hasOpen()) return false;
    const encoded = outgoing instanceof Uint8Array
      ? this.#put(outgoing)
      : "program" in outgoing
      ? this.#run(opaque, outgoing)
      : this.#runCold(opaque, outgoing);
    if (encoded && done) this.#dones.push(done);
    return encoded;
  }

  #hasOpen(): boolean {
    if (this.#open) return true;
    this.#open = this.#spare || this.#options.core.openSegment();
    this.#spare = 0;
    if (this.#open) {
      const { core, host } = this.#options;
      this.#mostInside = Math.min(host.separateBodyAbove, core.segmentCapacity(this.#open) - HEADER_ROOM);
      return true;
    }
    // A callback will give the sealed one back.
    if (this.#sealed) return false;
    throw new OverloadError("Cannot send: no room for a segment in the core's memory");
  }

  #run(opaque: number, outgoing: ProgramRequest): boolean {
    const { body } = outgoing;
    const length = body === undefined ? 0 : body.length;
    if (length <= this.#mostInside) {
      if (this.#encodeProgram(opaque, outgoing, false)) return true;
      if (!this.#isEmpty()) return false;
    }
    if (!this.#takesApart(length)) return false;
    if (!this.#encodeProgram(opaque, outgoing, true)) {
      if (!this.#isEmpty()) return false;
      const capacity = this.#options.core.segmentCapacity(this.#open);
      throw new ArgumentError(`Cannot encode a header: it may need more than ${capacity} bytes`);
    }
    if (length > 0) this.#addApart(body!);
    return true;
  }

  /** A request that has its unique id keeps it. */
  #encodeProgram(opaque: number, outgoing: ProgramRequest, apart: boolean): boolean {
    const { core } = this.#options;
    const { program, value, args, body, uniqueId } = outgoing;
    if (uniqueId === undefined) return core.encode(program, this.#open, opaque, value, args, body, apart);
    if (!core.encode(program, this.#open, opaque, value, args, body, apart, uniqueId)) return false;
    if (uniqueId === NEW_ID) outgoing.uniqueId = core.uniqueId;
    return true;
  }

  /** A header that is too long for a program is encoded here. */
  #runCold(opaque: number, request: FieldRequest): boolean {
    const { cold, serializeType } = this.#options;
    const outgoing = cold.request(request);
    if (outgoing) return this.#run(opaque, outgoing);
    return this.#put(encodeCommand({ ...request, opaque, flag: request.flag ?? 0, serializeType }));
  }

  /** A ready frame. */
  #put(frame: Uint8Array): boolean {
    const { core } = this.#options;
    if (frame.length <= this.#mostInside) {
      if (core.append(this.#open, frame)) return true;
      if (!this.#isEmpty()) return false;
    }
    if (!this.#takesApart(frame.length)) return false;
    this.#addApart(frame);
    return true;
  }

  #takesApart(length: number): boolean {
    return this.#apart.length === 0 || this.#apartBytes + length <= APART_BYTES_MAX;
  }

  #addApart(bytes: Uint8Array): void {
    this.#apart.push(bytes);
    this.#apartAt.push(this.#options.core.segmentLength(this.#open));
    this.#apartBytes += bytes.length;
  }

  #isEmpty(): boolean {
    return this.#apart.length === 0 && this.#options.core.segmentLength(this.#open) === 0;
  }

  #schedule(): void {
    if (this.#scheduled || this.#sealed) return;
    this.#scheduled = true;
    this.#options.host.defer(this.#flushDeferred);
  }

  readonly #flushDeferred = (): void => {
    this.#scheduled = false;
    this.#flush();
  };

  /** Writes what the open segment holds. While the other one is being written it goes on collecting. */
  #flush(): void {
    if (this.#closed || this.#sealed || !this.#socket || !this.#open || this.#isEmpty()) return;
    const parts = this.#parts();
    for (const part of parts) this.bytesOut += part.length;
    this.#sealed = this.#open;
    this.#sealedDones = this.#dones;
    this.#open = this.#spare;
    this.#spare = 0;
    this.#dones = [];
    try {
      this.#socket.write(parts, this.#written);
    } catch (error) {
      return this.#written(error instanceof Error ? error : new Error(String(error)));
    }
    this.#encodeWaiting();
  }

  #parts(): Uint8Array[] {
    const segment = this.#options.core.segmentBytes(this.#open);
    if (this.#apart.length === 0) return [segment];
    const parts: Uint8Array[] = [];
    let from = 0;
    for (let i = 0; i < this.#apart.length; i++) {
      const at = this.#apartAt[i]!;
      if (at > from) parts.push(segment.subarray(from, at));
      parts.push(this.#apart[i]!);
      from = at;
    }
    if (from < segment.length) parts.push(segment.subarray(from));
    this.#apart = [];
    this.#apartAt = [];
    this.#apartBytes = 0;
    return parts;
  }

  readonly #written = (cause?: Error): void => {
    // A socket that threw may still call back.
    if (!this.#sealed) return;
    const segment = this.#sealed, dones = this.#sealedDones;
    this.#sealed = 0;
    this.#sealedDones = [];
    this.#options.core.resetSegment(segment);
    if (this.#open) this.#spare = segment;
    else this.#open = segment;
    const error = cause === undefined ? undefined : this.#options.onLost(cause);
    for (const done of dones) done(error);
    if (this.#closed) return this.#options.onEnded();
    this.#encodeWaiting();
    this.#flush();
  };
}
