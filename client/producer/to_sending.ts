import type { Codec } from "../body_codec.ts";
import { ArgumentError, CodecError, isRocketMQError, UnsupportedError } from "../errors.ts";
import type { Message } from "../message.ts";
import { checkSendTopic, checkTopic } from "../protocol/names.ts";
import { PROPERTIES_MAX } from "../protocol/properties.ts";
import * as names from "../protocol/property_names.ts";
import { textLength } from "../protocol/text.ts";
import { PulledMessage } from "../pulled_message.ts";
import { checkTags, checkValue, type ProducerKind, type SendKinds } from "./send_kinds.ts";
import { type SendContext, Sending } from "./sending.ts";

/** Longer arguments may not fit a segment when all of them are escaped. */
const LONG = 8_192;

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
export function toSending<T>(
  message: Message<T>,
  codec: Codec<T>,
  context: SendContext,
  kinds: SendKinds,
): Sending {
  if (message === null || typeof message !== "object") {
    throw new ArgumentError("Cannot send: the message must be an object");
  }
  const { topic, tags, keys, properties, delayTimeLevel, waitStoreMsgOK } = message;
  if (!context.targets.knows(topic)) {
    checkTopic(topic);
    checkSendTopic(topic);
  }
  let fields = 2;
  if (tags !== undefined) fields++;
  if (keys !== undefined) fields++;
  if (properties !== undefined) fields++;
  if (delayTimeLevel !== undefined) fields++;
  if (waitStoreMsgOK !== undefined) fields++;
  // As many fields as we know and have values: there are no others, and no names need to be compared.
  for (const _ in message) fields--;
  if (fields !== 0) {
    if (message instanceof PulledMessage) return toSending(sentOn(message as PulledMessage<T>), codec, context, kinds);
    checkFields(message);
  }
  const body = encodeBody(message, codec, context.options.maxMessageSize);
  const keyText = keys === undefined ? "" : keysText(topic, keys);
  const tag = tags === "" ? undefined : tags;
  let kind: ProducerKind;
  let args: string[];
  try {
    kind = kinds.of(tag, waitStoreMsgOK !== false, keyText !== "", delayTimeLevel !== undefined, properties);
    if (keyText !== "") {
      checkValue(names.KEYS, keyText);
      args = [keyText];
    } else args = [];
    if (kind.hasTagArgument) {
      checkTags(tag!);
      args.push(tag!);
    }
  } catch (error) {
    throw inTopic(error, topic);
  }
  if (delayTimeLevel !== undefined) args.push(delayText(topic, delayTimeLevel));
  if (properties !== undefined) pushOwn(topic, properties, args);
  // Without an index there is no program.
  if (lengthOf(topic, kind, args) > LONG) kind = kind.at(-1);
  return new Sending(context, topic, kind, args, body);
}

/** A consumed message as a new one: without what brokers and clients had written into its properties. */
function sentOn<T>(message: PulledMessage<T>): Message<T> {
  const { topic, body, tags, keys, delayTimeLevel, deliverAt, shardingKey, waitStoreMsgOK } = message;
  const properties: Record<string, string> = {};
  for (const name in message.properties) {
    if (!names.RESERVED_PROPERTIES.has(name)) properties[name] = message.properties[name]!;
  }
  return { topic, body, tags, keys, properties, delayTimeLevel, deliverAt, shardingKey, waitStoreMsgOK };
}

function checkFields(message: Message<unknown>): void {
  const { topic } = message;
  for (const field of LATER) {
    if (message[field] !== undefined) {
      throw new UnsupportedError(`Cannot send to topic "${topic}": ${field} is not supported yet`, { topic });
    }
  }
  for (const field in message) {
    if (!KNOWN.has(field) && !LATER.includes(field as typeof LATER[number])) {
      throw illegal(topic, `a message has no field ${JSON.stringify(field)}`);
    }
  }
}

function encodeBody<T>({ topic, body: value }: Message<T>, codec: Codec<T>, maxMessageSize: number): Uint8Array {
  let body: Uint8Array;
  try {
    body = codec.encode(value, topic);
  } catch (cause) {
    if (isRocketMQError(cause)) throw cause;
    throw new CodecError(`Cannot encode the body of a message to topic "${topic}"`, { cause, topic });
  }
  if (!(body instanceof Uint8Array)) throw illegal(topic, `the body must be a Uint8Array, got ${typeName(body)}`);
  const { length } = body;
  if (length === 0) throw illegal(topic, "the body is empty");
  if (length > maxMessageSize) {
    throw illegal(topic, `the body has ${length} bytes, more than maxMessageSize ${maxMessageSize}`);
  }
  return body;
}

function keysText(topic: string, keys: NonNullable<Message["keys"]>): string {
  if (typeof keys === "string") return keys;
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === "string")) throw illegal(topic, "keys must be texts");
  return keys.filter((key) => key !== "").join(names.KEY_SEPARATOR);
}

function delayText(topic: string, delayTimeLevel: number): string {
  if (!Number.isInteger(delayTimeLevel) || delayTimeLevel < 1 || delayTimeLevel > names.DELAY_LEVEL_MAX) {
    throw illegal(topic, `delayTimeLevel must be 1..${names.DELAY_LEVEL_MAX}, got ${String(delayTimeLevel)}`);
  }
  return String(delayTimeLevel);
}

function pushOwn(topic: string, properties: Readonly<Record<string, string>>, args: string[]): void {
  for (const name in properties) {
    const value = properties[name]!;
    if (typeof value !== "string" || value === "") {
      throw illegal(topic, `property ${JSON.stringify(name)} must be a text that is not empty`);
    }
    if (value.indexOf("\u0002") >= 0) {
      throw illegal(topic, `property ${JSON.stringify(name)} holds a separator, U+0002`);
    }
    args.push(value);
  }
}

/** Characters of all arguments. */
function lengthOf(topic: string, kind: ProducerKind, args: readonly string[]): number {
  let units = 0;
  for (let at = 0; at < args.length; at++) units += args[at]!.length;
  if (kind.bytes + units * 3 <= PROPERTIES_MAX) return units;
  const length = args.reduce((sum, arg) => sum + textLength(arg), kind.bytes);
  if (length <= PROPERTIES_MAX) return units;
  throw illegal(topic, `the properties have ${length} bytes, at most ${PROPERTIES_MAX} are allowed`);
}

const inTopic = (error: unknown, topic: string): unknown =>
  error instanceof ArgumentError ? illegal(topic, error.message) : error;

const illegal = (topic: string, why: string): ArgumentError =>
  new ArgumentError(`Cannot send to topic "${topic}": ${why}`, { topic });

const typeName = (value: unknown): string => value === null ? "null" : typeof value;
