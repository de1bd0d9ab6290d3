// Answers as a 5.5.0 broker writes them, byte for byte but for the numbers and ids that differ from answer to answer
// (test/vectors/frames-550-550-json.jsonl and -bin.jsonl; test/bench/inputs.test.ts compares).

/** The answer to SEND_MESSAGE_V2 as JSON: number `index` of many. `version` is 513 in what was captured. */
export const sendAnswerJson = (index: number, version = 513): string =>
  `{"code":0,"extFields":{"queueId":"${index & 7}","transactionId":"${uniqueId(index)}","msgId":"${offsetId(index)}",` +
  `"TRACE_ON":"true","MSG_REGION":"DefaultRegion","queueOffset":"${1_234_567 + index}"},"flag":1,"language":"JAVA",` +
  `"opaque":${100_000 + index},"serializeTypeCurrentRPC":"JSON","version":${version}}`;

/** The answer to a pull that found messages. */
export const pullAnswerJson = (index: number): string =>
  `{"code":0,"extFields":{"suggestWhichBrokerId":"0","groupSysFlag":"0","nextBeginOffset":"${1_234_567 + index}",` +
  `"maxOffset":"${2_345_678 + index}","minOffset":"0","topicSysFlag":"0"},"flag":1,"language":"JAVA",` +
  `"opaque":${100_000 + index},"remark":"FOUND","serializeTypeCurrentRPC":"JSON","version":513}`;

export const sendAnswerBinary = (index: number): Uint8Array =>
  binaryHeader(100_000 + index, "", [
    ["msgId", offsetId(index)],
    ["queueId", String(index & 7)],
    ["queueOffset", String(1_234_567 + index)],
    ["transactionId", uniqueId(index)],
    ["TRACE_ON", "true"],
    ["MSG_REGION", "DefaultRegion"],
  ]);

export const pullAnswerBinary = (index: number): Uint8Array =>
  binaryHeader(100_000 + index, "FOUND", [
    ["suggestWhichBrokerId", "0"],
    ["nextBeginOffset", String(1_234_567 + index)],
    ["minOffset", "0"],
    ["maxOffset", String(2_345_678 + index)],
    ["topicSysFlag", "0"],
    ["groupSysFlag", "0"],
  ]);

/** A whole frame: length, header kind and length, header, body. */
export function frameOf(header: Uint8Array | string, body: Uint8Array = new Uint8Array(0)): Uint8Array {
  const bytes = typeof header === "string" ? encoder.encode(header) : header;
  const frame = new Uint8Array(8 + bytes.length + body.length), view = new DataView(frame.buffer);
  view.setInt32(0, 4 + bytes.length + body.length);
  view.setInt32(4, (typeof header === "string" ? 0 : 1) << 24 | bytes.length);
  frame.set(bytes, 8);
  frame.set(body, 8 + bytes.length);
  return frame;
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const encoder = new TextEncoder();
const JAVA = 0;
const RESPONSE = 1;

const offsetId = (index: number): string => `7F0000020000759F00000000000${hex(0x10_000 + index, 5)}`;
const uniqueId = (index: number): string => `C00002027CAA5FFD2B2795EA7965${hex(index & 0xffff, 4)}`;
const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, "0");

function binaryHeader(opaque: number, remark: string, fields: readonly (readonly [string, string])[]): Uint8Array {
  const entries = concat(fields.flatMap(([name, value]) => {
    const entry = new Uint8Array(6 + name.length + value.length), view = new DataView(entry.buffer);
    view.setInt16(0, name.length);
    entry.set(encoder.encode(name), 2);
    view.setInt32(2 + name.length, value.length);
    entry.set(encoder.encode(value), 6 + name.length);
    return [entry];
  }));
  const head = new Uint8Array(21 + remark.length), view = new DataView(head.buffer);
  view.setInt16(0, 0);
  view.setInt8(2, JAVA);
  view.setInt16(3, 513);
  view.setInt32(5, opaque);
  view.setInt32(9, RESPONSE);
  view.setInt32(13, remark.length);
  head.set(encoder.encode(remark), 17);
  view.setInt32(17 + remark.length, entries.length);
  return concat([head, entries]);
}
