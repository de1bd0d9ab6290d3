import type { Buffer } from "node:buffer";
import { eagerMessages } from "./eager_messages.ts";

export type Handler = (body: string, tags: string) => void;

/** `typical JS`: `JSON.parse`, eager messages that are views of what was read, their offsets in a `Map`, no checksum. */
export function typicalConsumer(frame: Buffer): (handle: Handler) => void {
  const queue = new Map<number, object>();
  return (handle) => {
    const headerEnd = 8 + (frame.readInt32BE(4) & 0xffffff);
    const { extFields } = JSON.parse(frame.toString("utf8", 8, headerEnd)) as { extFields: Record<string, string> };
    if (Number(extFields["nextBeginOffset"]) < 0) throw new Error("The next offset is below zero");
    const messages = eagerMessages(frame.subarray(headerEnd));
    for (const message of messages) queue.set(message.queueOffset, message);
    for (const { body, properties } of messages) handle(body.toString("utf8"), properties["TAGS"]!);
    for (const { queueOffset } of messages) queue.delete(queueOffset);
  };
}
