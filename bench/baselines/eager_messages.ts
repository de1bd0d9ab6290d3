import type { Buffer } from "node:buffer";

export interface EagerMessage {
  queueId: number;
  flag: number;
  queueOffset: number;
  commitLogOffset: number;
  sysFlag: number;
  bornTimestamp: number;
  storeTimestamp: number;
  body: Buffer;
  topic: string;
  properties: Record<string, string>;
}

/** `typical JS`: an object for every message, with all its fields and properties; no checksum is looked at. */
export function eagerMessages(body: Buffer): EagerMessage[] {
  const messages: EagerMessage[] = [];
  for (let at = 0; at < body.length;) {
    const size = body.readInt32BE(at), bodyLength = body.readInt32BE(at + 84), bodyEnd = at + 88 + bodyLength;
    const topicLength = body[bodyEnd]!, topicEnd = bodyEnd + 1 + topicLength;
    const propertiesLength = body.readInt16BE(topicEnd);
    const properties: Record<string, string> = {};
    for (const pair of body.toString("utf8", topicEnd + 2, topicEnd + 2 + propertiesLength).split("\u0002")) {
      const separator = pair.indexOf("\u0001");
      if (separator > 0) properties[pair.slice(0, separator)] = pair.slice(separator + 1);
    }
    messages.push({
      queueId: body.readInt32BE(at + 12),
      flag: body.readInt32BE(at + 16),
      queueOffset: Number(body.readBigInt64BE(at + 20)),
      commitLogOffset: Number(body.readBigInt64BE(at + 28)),
      sysFlag: body.readInt32BE(at + 36),
      bornTimestamp: Number(body.readBigInt64BE(at + 40)),
      storeTimestamp: Number(body.readBigInt64BE(at + 56)),
      body: body.subarray(at + 88, bodyEnd),
      topic: body.toString("utf8", bodyEnd + 1, topicEnd),
      properties,
    });
    at += size;
  }
  return messages;
}
