import * as abi from "../core-as/abi.ts";
import { allocateQueues, type AllocateStrategy } from "./allocate.ts";
import { bytes as plainBytes } from "./body_codec.ts";
import { checkArray, checkBytes, checkObject, checkSeed } from "./codec_arguments.ts";
import { Core, CORE_MEMORY_DEFAULT, CORE_MEMORY_MAX, CORE_MEMORY_MIN } from "./core.ts";
import { ArgumentError, CoreError, FrameError, isRocketMQError, UnsupportedError } from "./errors.ts";
import type { Host } from "./host.ts";
import type { Message, MessageExt, MessageQueue } from "./message.ts";
import { checkNames } from "./option_names.ts";
import { type BatchElement, encodeBatch } from "./protocol/batch.ts";
import { type Command, decodeCommand, encodeCommand, type RemotingCommand } from "./protocol/command.ts";
import { FrameStream } from "./protocol/frame_stream.ts";
import { isRetryTopic } from "./protocol/names.ts";
import { encodeProperties } from "./protocol/properties.ts";
import { KEY_SEPARATOR, KEYS, SHARDING_KEY, TAGS, WAIT } from "./protocol/property_names.ts";
import { QUEUE_ID_AT } from "./protocol/record_layout.ts";
import { walkRecords } from "./protocol/record_walk.ts";
import { COMPRESSED } from "./protocol/sys_flag.ts";
import { concat } from "./protocol/text.ts";
import { elementsOf, outerRecord } from "./inner_messages.ts";
import { batchOf, type MessageBatch } from "./message_batch.ts";
import { PulledMessage } from "./pulled_message.ts";
import { inflateBody, type Reading, readingWith } from "./reading.ts";

/** The wire format without a client: no sockets, no timers. */
export interface RemotingCodec {
  /**
   * One whole frame. `language` and `version` are this client's unless given, the header is JSON, and there need be no fields
   * and no body. A code above 32767 always gets a JSON header.
   */
  encode(command: Command): Uint8Array;
  /** One whole frame. Throws `FrameError` on anything that breaks the protocol. */
  decode(frame: Uint8Array): RemotingCommand;
  /** A decoder for a byte stream: chunks of any size go in, whole commands come out. `maxFrameBytes` is 16 MiB unless given. */
  stream(options?: { maxFrameBytes?: number }): CommandStream;
  /**
   * The messages of a pull body; elements of inner batches are messages of their own. A compressed body is inflated when it
   * is first read. Throws `FrameError` when a record is broken or, unless `checkCrc` is false, does not match its checksum.
   */
  decodeMessages(body: Uint8Array, options?: { checkCrc?: boolean }): MessageExt[];
  /**
   * The body of a batch. All messages have one topic and one `waitStoreMsgOK`, and no delay. They get no unique ids: the
   * broker adds them, or set the property UNIQ_KEY.
   */
  encodeBatch(messages: readonly Message[]): Uint8Array;
  /** CRC-32, as an unsigned number; `seed` is that of the bytes before. */
  crc32(bytes: Uint8Array, seed?: number): number;
  /** The queues that are `clientId`'s; both lists are sorted. */
  allocate(
    strategy: AllocateStrategy,
    group: string,
    clientId: string,
    queues: readonly MessageQueue[],
    clientIds: readonly string[],
  ): readonly MessageQueue[];
}

export interface CommandStream {
  /**
   * The commands that are whole with this chunk. A broken frame is a `FrameError`: of this call when nothing came before it,
   * otherwise of the next; after it the stream is over.
   */
  feed(chunk: Uint8Array): RemotingCommand[];
}

export interface CodecOptions {
  /**
   * Memory of the codec's core, in MiB of address space: 1 to 1024. 128 unless given on Node, Deno and Bun, 16 elsewhere. What
   * does not fit is done without it.
   */
  coreMemory?: number;
  /**
   * The module of "rocketmq-wasm/core.wasm". Needed only where a runtime cannot compile bytes; it also saves compiling them
   * again for every codec outside Node, Deno and Bun.
   */
  core?: WebAssembly.Module;
}

/** A codec on a host, of which it needs inflating, and the core unless that is among the options. */
export function createCodecWith(
  host: Pick<Host, "core" | "inflate" | "crc32">,
  options: CodecOptions = {},
  coreMemoryDefault = CORE_MEMORY_DEFAULT,
): RemotingCodec {
  checkNames(options, ["coreMemory", "core"]);
  const { coreMemory = coreMemoryDefault, core = host.core } = options;
  if (!Number.isInteger(coreMemory) || coreMemory < CORE_MEMORY_MIN || coreMemory > CORE_MEMORY_MAX) {
    throw new ArgumentError(`coreMemory must be ${CORE_MEMORY_MIN}..${CORE_MEMORY_MAX} MiB, got ${coreMemory}`);
  }
  return new CoreCodec(host, openCore(core, coreMemory, host.crc32));
}

/** A module of somebody else's has other imports or exports, or none. */
function openCore(module: WebAssembly.Module, coreMemory: number, crc32: Host["crc32"]): Core {
  try {
    return new Core(module, coreMemory, crc32);
  } catch (cause) {
    if (isRocketMQError(cause)) throw cause;
    throw new CoreError("Cannot use this module as core: it is not rocketmq-wasm/core.wasm", { cause });
  }
}

class CoreCodec implements RemotingCodec {
  readonly #host: Pick<Host, "inflate" | "crc32">;
  readonly #core: Core;
  readonly #reading: Reading<Uint8Array>;

  constructor(host: Pick<Host, "inflate" | "crc32">, core: Core) {
    this.#host = host;
    this.#core = core;
    this.#reading = readingWith({ host, core }, plainBytes);
  }

  encode(command: Command): Uint8Array {
    checkObject("A command", command);
    const { body } = command;
    if (body !== undefined) checkBytes("The body of a command", body);
    return encodeCommand(command);
  }

  decode(frame: Uint8Array): RemotingCommand {
    checkBytes("A frame", frame);
    return decodeCommand(frame);
  }

  stream(options: { maxFrameBytes?: number } = {}): CommandStream {
    checkNames(options, ["maxFrameBytes"]);
    return new Commands(new FrameStream(options.maxFrameBytes));
  }

  decodeMessages(body: Uint8Array, options: { checkCrc?: boolean } = {}): MessageExt[] {
    checkNames(options, ["checkCrc"]);
    checkBytes("The body of a pull", body);
    const { checkCrc = true } = options;
    // The messages read from a copy: the caller's bytes stay the caller's.
    const batch = batchOf(body, this.#walk(body, checkCrc));
    const messages: MessageExt[] = [];
    for (let row = 0; row < batch.count; row++) {
      checkStatus(batch, row);
      if (batch.kind(row) === abi.ROW_BATCH) {
        const inner = this.#unwrap(batch, row);
        for (let element = 0; element < inner.count; element++) {
          checkStatus(inner, element);
          messages.push(this.#message(inner, element));
        }
      } else messages.push(this.#message(batch, row));
    }
    return messages;
  }

  encodeBatch(messages: readonly Message[]): Uint8Array {
    checkBatch(messages);
    return encodeBatch(messages.map((message): BatchElement => ({
      flag: 0,
      body: message.body,
      properties: encodeProperties(propertiesOf(message)),
    })));
  }

  crc32(bytes: Uint8Array, seed = 0): number {
    checkBytes("What is summed", bytes);
    checkSeed(seed);
    return seed === 0 && this.#host.crc32 ? this.#host.crc32(bytes) : this.#core.crc32(bytes, seed);
  }

  allocate(
    strategy: AllocateStrategy,
    group: string,
    clientId: string,
    queues: readonly MessageQueue[],
    clientIds: readonly string[],
  ): readonly MessageQueue[] {
    checkArray("queues", queues);
    checkArray("clientIds", clientIds);
    return allocateQueues(this.#core, strategy, group, clientId, queues, clientIds);
  }

  /** All rows of a body, from the core when it has a block for it. */
  #walk(body: Uint8Array, checkCrc: boolean): Uint8Array {
    const core = this.#core;
    const block = body.length === 0 ? 0 : core.allocateBlock(body.length);
    if (block === 0) return walkRecords(body, checkCrc);
    try {
      core.write(block, body);
      return this.#walkBlock(block, body.length, checkCrc);
    } finally {
      core.freeBlock(block);
    }
  }

  /** The core fills a table of rows at a time. */
  #walkBlock(block: number, length: number, checkCrc: boolean): Uint8Array {
    const core = this.#core, tables: Uint8Array[] = [];
    for (let from = 0; from < length; from = core.walkedTo) {
      const count = core.walkAt(block, length, from, checkCrc);
      const table = new Uint8Array(count * abi.ROW_SIZE);
      core.copyRows(count, table, 0);
      tables.push(table);
    }
    return concat(tables);
  }

  #message(batch: MessageBatch, row: number): MessageExt {
    const topic = batch.topic(row);
    const queueId = batch.view.getInt32(batch.records + batch.u32(row, abi.ROW_RECORD) + QUEUE_ID_AT);
    // A record does not say which broker it came from.
    const queue: MessageQueue = { topic, brokerName: "", queueId };
    return new PulledMessage(batch, row, queue, this.#reading);
  }

  /** The messages of an inner batch that the walk left whole: compressed, or with very many elements. */
  #unwrap(batch: MessageBatch, row: number): MessageBatch {
    const outer = outerRecord(batch, row);
    return elementsOf(outer, this.#inflated(outer.sysFlag, outer.body));
  }

  #inflated(sysFlag: number, body: Uint8Array): Uint8Array {
    if ((sysFlag & COMPRESSED) === 0) return body;
    const inflated = inflateBody(this.#reading, sysFlag, body, false);
    if (inflated instanceof Uint8Array) return inflated;
    throw new UnsupportedError("Cannot read a compressed inner batch here: this runtime inflates only asynchronously");
  }
}

class Commands implements CommandStream {
  readonly #frames: FrameStream;
  /** Found behind commands that had to be handed out first. */
  #failure: unknown;

  constructor(frames: FrameStream) {
    this.#frames = frames;
  }

  feed(chunk: Uint8Array): RemotingCommand[] {
    if (this.#failure !== undefined) throw this.#failure;
    checkBytes("A chunk", chunk);
    const commands: RemotingCommand[] = [];
    try {
      this.#frames.feed(chunk, (frame) => commands.push(decodeCommand(frame)));
    } catch (error) {
      this.#failure = error;
      if (commands.length === 0) throw error;
    }
    return commands;
  }
}

const STATUS: Readonly<Record<number, string>> = {
  [abi.ROW_BAD_CRC]: "does not match its checksum",
  [abi.ROW_BAD_RECORD]: "contradicts itself in its magic or its lengths",
  [abi.ROW_BAD_REST]: "has a size that makes no sense",
};

function checkStatus(batch: MessageBatch, row: number): void {
  const wrong = STATUS[batch.status(row)];
  if (wrong) throw new FrameError(`The record at ${batch.u32(row, abi.ROW_RECORD)} of a pull body ${wrong}`);
}

function checkBatch(messages: readonly Message[]): void {
  checkArray("The messages of a batch", messages);
  for (const message of messages) {
    checkObject("A message", message);
    if (typeof message.topic !== "string") throw new ArgumentError("A message must have a topic");
    checkBytes("The body of a message in a batch", message.body);
  }
  const first = messages[0];
  if (!first) throw new ArgumentError("Cannot encode a batch of no messages");
  const { topic } = first;
  if (isRetryTopic(topic)) throw new ArgumentError(`Cannot encode a batch for retry topic "${topic}"`, { topic });
  for (const message of messages) {
    if (message.topic !== topic) {
      throw new ArgumentError(`Cannot encode a batch for topics "${topic}" and "${message.topic}": it has one`, {
        topic,
      });
    }
    if ((message.waitStoreMsgOK ?? true) !== (first.waitStoreMsgOK ?? true)) {
      throw new ArgumentError("Cannot encode a batch of messages that differ in waitStoreMsgOK", { topic });
    }
    if (message.delayTimeLevel || message.deliverAt) {
      throw new ArgumentError("Cannot encode a batch with a delayed message", { topic });
    }
  }
}

/** What a message says about itself, as properties. */
function propertiesOf(message: Message): Record<string, string> {
  const { tags, keys, shardingKey, waitStoreMsgOK = true } = message;
  const joined = typeof keys === "string" ? keys : keys?.join(KEY_SEPARATOR);
  return {
    ...message.properties,
    ...(joined ? { [KEYS]: joined } : {}),
    ...(tags ? { [TAGS]: tags } : {}),
    ...(shardingKey ? { [SHARDING_KEY]: shardingKey } : {}),
    [WAIT]: String(waitStoreMsgOK),
  };
}
