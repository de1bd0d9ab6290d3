// The message that the send benchmarks encode: a SEND_MESSAGE_V2 frame as the client writes it, with the properties that every
// message has (UNIQ_KEY, WAIT), a constant tag, and a key that differs from message to message.

/** Everything that a frame says besides its opaque, queue, key and unique id. */
export const sendInput = {
  producerGroup: "please_rename_unique_group_name",
  topic: "TopicTest",
  brokerName: "broker-a",
  defaultTopic: "TBW102",
  defaultTopicQueueNums: 4,
  queues: 8,
  tags: "TagA",
  keys: Array.from({ length: 4096 }, (_, index) => `order-${100_000 + index * 7}`) as readonly string[],
  /** Address, process and loader of a unique id. */
  uniquePrefix: "AC1100011F4418B4AAC2",
  /** Its milliseconds. */
  uniqueTime: "12345678",
  bornTimestamp: 1_796_006_371_685,
  language: "NODE_JS",
  languageNumber: 13,
  version: 513,
} as const;

export type SendInput = typeof sendInput;

/** A body of printable bytes. */
export const bodyOf = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => 97 + index * 7 % 26);
