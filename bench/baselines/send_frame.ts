// What the writers of send frames have in common.

/** What every frame of one producer says. */
export interface SendTarget {
  readonly producerGroup: string;
  readonly topic: string;
  readonly brokerName: string;
  readonly defaultTopic: string;
  readonly defaultTopicQueueNums: number;
  readonly tags: string;
  /** Twenty hexadecimal digits. */
  readonly uniquePrefix: string;
  /** Eight. */
  readonly uniqueTime: string;
  readonly bornTimestamp: number;
  readonly language: string;
  readonly languageNumber: number;
  readonly version: number;
}

/** Writes frames one behind the other. */
export interface SendWriter {
  write(opaque: number, queueId: number, key: string, body: Uint8Array): void;
  /** Starts again at the front of its buffer. */
  reset(): void;
  /** What has been written since; for a look at it, not for speed. */
  written(): Uint8Array;
}

export const BUFFER_BYTES = 1 << 20;

/** The two hexadecimal digits of a byte. */
export const HEX: readonly string[] = Array.from(
  { length: 256 },
  (_, byte) => byte.toString(16).toUpperCase().padStart(2, "0"),
);

/** Makes unique ids of a prefix, a time and a counter. */
export function uniqueIds({ uniquePrefix, uniqueTime }: SendTarget): () => string {
  let counter = 0;
  return () => {
    counter = (counter + 1) & 0xffff;
    return uniquePrefix + uniqueTime + HEX[counter >> 8] + HEX[counter & 0xff];
  };
}

/** What must be escaped inside a JSON string. */
export const ESCAPED = /["\\\u0000-\u001f]/;
