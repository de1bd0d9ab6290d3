import { Buffer } from "node:buffer";
import net from "node:net";
import process from "node:process";
import type { SendTarget, SendWriter } from "../../baselines/send_frame.ts";
import { type BaselineClient, QUEUES, type SendResult, type Waiting } from "./client.ts";

/** Reads one header between two places of the inbox. */
export interface AnswerReader {
  /** Returns its opaque. */
  read(from: number, end: number): number;
  /** What the last header said. */
  result(): SendResult;
}

const INBOX_BYTES = 1 << 18;
/** A slot for each opaque: more calls than this are never in flight here. */
const SLOTS = 1 << 16;

/**
 * What the tuned clients have in common: frames of a turn are gathered in one of two buffers and written once, the socket reads
 * into a buffer that stays, and calls wait in slots. A frame that is larger than the inbox would end it: none is.
 */
export async function pipelinedClient(
  port: number,
  to: SendTarget,
  newWriter: (to: SendTarget) => SendWriter,
  newReader: (inbox: Buffer) => AnswerReader,
): Promise<BaselineClient> {
  const inbox = Buffer.allocUnsafeSlow(INBOX_BYTES), reader = newReader(inbox);
  const slots = new Array<Waiting | undefined>(SLOTS);
  let opaque = 0, length = 0;

  const received = (bytes: number): boolean => {
    length += bytes;
    let at = 0;
    while (length - at >= 8) {
      const end = at + 4 + (inbox[at]! << 24 | inbox[at + 1]! << 16 | inbox[at + 2]! << 8 | inbox[at + 3]!);
      if (end > length) break;
      const headerLength = inbox[at + 5]! << 16 | inbox[at + 6]! << 8 | inbox[at + 7]!;
      const slot = reader.read(at + 8, at + 8 + headerLength) % SLOTS, call = slots[slot];
      slots[slot] = undefined;
      call?.resolve(reader.result());
      at = end;
    }
    if (at < length) inbox.copyWithin(0, at, length);
    length -= at;
    return true;
  };
  const onread = { buffer: () => inbox.subarray(length), callback: received };
  const socket = net.connect({ port, host: "127.0.0.1", noDelay: true, onread });
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));

  let open = newWriter(to), isEmpty = true, isScheduled = false;
  // Its ids have a time of their own, or both would write the same.
  let spare: SendWriter | undefined = newWriter({ ...to, uniqueTime: to.uniqueTime.replace(/.$/, "9") });
  const flush = (): void => {
    isScheduled = false;
    if (isEmpty || !spare) return;
    const sealed = open;
    open = spare;
    spare = undefined;
    isEmpty = true;
    socket.write(sealed.written(), () => {
      sealed.reset();
      spare = sealed;
      flush();
    });
  };
  return {
    send: (keys, body) =>
      new Promise((resolve, reject) => {
        opaque = (opaque + 1) % SLOTS;
        open.write(opaque, opaque % QUEUES, keys, body);
        isEmpty = false;
        slots[opaque] = { resolve, reject };
        if (isScheduled) return;
        isScheduled = true;
        process.nextTick(flush);
      }),
    close: () => socket.destroy(),
  };
}
