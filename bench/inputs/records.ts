// A pull body as a 5.5.0 broker stores it, with the properties that a tagged message with a key has there, in their order
// (test/vectors/frames-550-550-json.jsonl, 550-550-json-097).
import { crc32 } from "./crc32.ts";
import { concat } from "./responses.ts";

export const FIRST_OFFSET = 1_000;

/** `count` records one behind the other; bodies differ and are printable. */
export const pullBody = (count: number, bodyBytes: number): Uint8Array =>
  concat(Array.from({ length: count }, (_, index) => record(index, bodyBytes)));

const MAGIC = 0xdaa320a7;
const HEAD = 88;
const TOPIC = "TopicTest";
const encoder = new TextEncoder();

const propertiesOf = (index: number): string =>
  [
    ["MSG_REGION", "DefaultRegion"],
    ["UNIQ_KEY", `AC1100011F4418B4AAC27D8E1A2B${(index & 0xffff).toString(16).toUpperCase().padStart(4, "0")}`],
    ["CLUSTER", "DefaultCluster"],
    ["TAGS", "TagA"],
    ["KEYS", `order-${1_000 + index}`],
    ["WAIT", "true"],
    ["TRACE_ON", "true"],
  ].map(([name, value]) => `${name}\u0001${value}\u0002`).join("");

function record(index: number, bodyBytes: number): Uint8Array {
  const topic = encoder.encode(TOPIC), properties = encoder.encode(propertiesOf(index));
  const bytes = new Uint8Array(HEAD + bodyBytes + 1 + topic.length + 2 + properties.length);
  const view = new DataView(bytes.buffer);
  const body = bytes.subarray(HEAD, HEAD + bodyBytes);
  for (let at = 0; at < bodyBytes; at++) body[at] = 97 + (at * 7 + index) % 26;
  view.setInt32(0, bytes.length);
  view.setUint32(4, MAGIC);
  view.setInt32(8, crc32(body) & 0x7fffffff);
  view.setInt32(12, 3); // queueId
  view.setBigInt64(20, BigInt(FIRST_OFFSET + index)); // queueOffset
  view.setBigInt64(28, BigInt(123_456 + index * 400)); // commit log offset
  view.setBigInt64(40, 1_796_006_370_909n); // born
  view.setUint32(48, 0x7f000001);
  view.setInt32(52, 40_000);
  view.setBigInt64(56, 1_796_006_370_911n); // stored
  view.setUint32(64, 0x7f000002);
  view.setInt32(68, 30_111);
  view.setInt32(84, bodyBytes);
  view.setUint8(HEAD + bodyBytes, topic.length);
  bytes.set(topic, HEAD + bodyBytes + 1);
  view.setInt16(HEAD + bodyBytes + 1 + topic.length, properties.length);
  bytes.set(properties, HEAD + bodyBytes + 1 + topic.length + 2);
  return bytes;
}
