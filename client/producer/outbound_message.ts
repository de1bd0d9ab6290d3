import type { Codec } from "../body_codec.ts";
import { ArgumentError, CodecError, isRocketMQError, UnsupportedError } from "../errors.ts";
import type { Message } from "../message.ts";
import { checkSendTopic, checkTopic } from "../protocol/names.ts";
import { encodeProperties, PROPERTIES_MAX } from "../protocol/properties.ts";
import * as names from "../protocol/property_names.ts";
import { textLength } from "../protocol/text.ts";

/** A checked message, ready to be encoded: it is the same for every try. */
export interface OutboundMessage {
  readonly topic: string;
  readonly body: Uint8Array;
  readonly properties: string;
  /** UNIQ_KEY */
  readonly msgId: string;
  readonly sysFlag: number;
}

const LATER = ["deliverAt", "shardingKey"] as const;
const KNOWN: ReadonlySet<string> = new Set([
  "topic",
  "body",
  "tags",
  "keys",
  "properties",
  "delayTimeLevel",
  "waitStoreMsgOK",
]);

/** Checks a message. Throws `ArgumentError`, `UnsupportedError` or `CodecError`; nothing has been sent then. */
export function toOutbound<T>(
  message: Message<T>,
  codec: Codec<T>,
  maxMessageSize: number,
  nextId: () => string,
): OutboundMessage {
  if (message === null || typeof message !== "object") {
    throw new ArgumentError("Cannot send: the message must be an object");
  }
  const { topic } = message;
  checkTopic(topic);
  checkSendTopic(topic);
  for (const field of LATER) {
    if (message[field] !== undefined) {
      throw new UnsupportedError(`Cannot send to topic "${topic}": ${field} is not supported yet`, { topic });
    }
  }
  for (const field in message) {
    if (!KNOWN.has(field) && !LATER.includes(field as typeof LATER[number])) {
      throw new ArgumentError(`Cannot send to topic "${topic}": a message has no field ${JSON.stringify(field)}`, {
        topic,
      });
    }
  }
  const body = encodeBody(message, codec, maxMessageSize);
  const msgId = nextId();
  return { topic, body, properties: toProperties(message, msgId), msgId, sysFlag: 0 };
}

function encodeBody<T>({ topic, body: value }: Message<T>, codec: Codec<T>, maxMessageSize: number): Uint8Array {
  let body: Uint8Array;
  try {
    body = codec.encode(value, topic);
  } catch (cause) {
    if (isRocketMQError(cause)) throw cause;
    throw new CodecError(`Cannot encode the body of a message to topic "${topic}"`, { cause, topic });
  }
  if (!(body instanceof Uint8Array)) {
    throw new ArgumentError(`Cannot send to topic "${topic}": the body must be a Uint8Array, got ${typeName(body)}`, {
      topic,
    });
  }
  if (body.length === 0) throw new ArgumentError(`Cannot send to topic "${topic}": the body is empty`, { topic });
  if (body.length > maxMessageSize) {
    throw new ArgumentError(
      `Cannot send to topic "${topic}": the body has ${body.length} bytes, more than maxMessageSize ${maxMessageSize}`,
      { topic },
    );
  }
  return body;
}

function toProperties(message: Message<unknown>, msgId: string): string {
  const { topic, tags, keys, properties, delayTimeLevel, waitStoreMsgOK = true } = message;
  const all: Record<string, string> = Object.create(null);
  for (const name in properties) {
    const value = properties[name];
    if (typeof value !== "string" || name === "" || value === "") {
      throw illegal(topic, `property ${JSON.stringify(name)} must be a text that is not empty`);
    }
    if (names.RESERVED_PROPERTIES.has(name)) throw illegal(topic, `property ${name} belongs to RocketMQ`);
    all[name] = value;
  }
  const keyText = keysText(topic, keys);
  if (keyText !== "") all[names.KEYS] = keyText;
  if (tags !== undefined && tags !== "") {
    if (typeof tags !== "string" || tags.includes("||")) {
      throw illegal(topic, `tags must be one tag, got ${JSON.stringify(tags)}`);
    }
    all[names.TAGS] = tags;
  }
  if (delayTimeLevel !== undefined) {
    if (!Number.isInteger(delayTimeLevel) || delayTimeLevel < 1 || delayTimeLevel > names.DELAY_LEVEL_MAX) {
      throw illegal(topic, `delayTimeLevel must be 1..${names.DELAY_LEVEL_MAX}, got ${String(delayTimeLevel)}`);
    }
    all[names.DELAY] = String(delayTimeLevel);
  }
  all[names.WAIT] = String(waitStoreMsgOK !== false);
  all[names.UNIQ_KEY] = msgId;
  const text = encodeProperties(all);
  if (text.length * 3 > PROPERTIES_MAX) {
    const length = textLength(text);
    if (length > PROPERTIES_MAX) {
      throw illegal(topic, `the properties have ${length} bytes, at most ${PROPERTIES_MAX} are allowed`);
    }
  }
  return text;
}

function keysText(topic: string, keys: Message["keys"]): string {
  if (keys === undefined) return "";
  const list = typeof keys === "string" ? [keys] : keys;
  if (!Array.isArray(list) || !list.every((key) => typeof key === "string")) throw illegal(topic, "keys must be texts");
  return list.filter((key) => key !== "").join(names.KEY_SEPARATOR);
}

const illegal = (topic: string, why: string): ArgumentError =>
  new ArgumentError(`Cannot send to topic "${topic}": ${why}`, { topic });

const typeName = (value: unknown): string => value === null ? "null" : typeof value;
