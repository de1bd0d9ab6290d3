import * as abi from "../../core-as/abi.ts";
import { type Core, Frame, type FrameSink } from "../../client/core.ts";
import { encodeCommand, type SerializeType } from "../../client/protocol/command.ts";
import type { Step } from "../../client/core.ts";
import type { SendKind } from "../../client/protocol/send.ts";
import { openCore } from "../support/core.ts";

/** Puts bytes into a connection as a socket would, as much at a time as there is room. */
export function feed(core: Core, connection: number, bytes: Uint8Array, sink: FrameSink): void {
  for (let at = 0; at < bytes.length;) {
    const room = core.room(connection);
    const part = bytes.subarray(at, at + room.length);
    room.set(part);
    core.feed(connection, part.length, sink);
    at += part.length;
  }
}

const shared = openCore();
const connection = shared.openConnection();

/** What `read` makes of a lent frame that holds these bytes. */
export function lend<T>(bytes: Uint8Array, read: (frame: Frame) => T): T {
  const results: T[] = [];
  feed(shared, connection, bytes, (frame) => results.push(read(frame)));
  if (results.length !== 1) throw new Error(`${results.length} frames`);
  return results[0]!;
}

/** The same when the core has understood nothing of the header. */
export const lendUnread = <T>(bytes: Uint8Array, read: (frame: Frame) => T): T =>
  lend(bytes, (frame) => {
    const entry = new Int32Array(abi.COMPLETION_SIZE >> 2);
    entry[abi.COMPLETION_HEADER_WORD >> 2] = frame.serializeType << 24 | frame.headerLength;
    entry[abi.COMPLETION_HEADER_PTR >> 2] = frame.headerPtr;
    entry[abi.COMPLETION_BODY_PTR >> 2] = frame.bodyPtr;
    entry[abi.COMPLETION_BODY_LEN >> 2] = frame.bodyLength;
    return read(new Frame(frame.source, entry.buffer));
  });

/** An answer as a broker writes it. */
export const answer = (
  code: number,
  extFields: Readonly<Record<string, string>>,
  serializeType: SerializeType = "JSON",
): Uint8Array => encodeCommand({ code, opaque: 7, flag: 1, extFields, serializeType, language: "JAVA" });

/** A kind of message all of whose properties, but for UNIQ_KEY, are arguments. */
export const kindOf = (properties: Readonly<Record<string, string>>): SendKind => ({
  constants: "",
  names: Object.keys(properties),
  isFlagged: true,
});

/** Runs a header program once and returns its frame. */
export function runProgram(
  steps: readonly Step[],
  serializeType: SerializeType,
  call: { opaque: number; value: number; now: number; args: readonly string[]; body?: Uint8Array; id?: number },
): Uint8Array {
  const program = shared.program(steps, serializeType), segment = shared.openSegment();
  shared.clock(call.now);
  if (!shared.encode(program, segment, call.opaque, call.value, call.args, call.body, false, call.id)) {
    throw new Error("no room");
  }
  const frame = shared.segmentBytes(segment).slice();
  shared.freeSegment(segment);
  shared.freeProgram(program);
  return frame;
}
