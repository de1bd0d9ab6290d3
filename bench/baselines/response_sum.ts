/**
 * What the readers of response headers come to: the sum of every number a client needs (opaque, code, offsets, queue, broker)
 * and of the length of `msgId`. Reading all of them, and nothing else, is the work that is compared.
 */
export interface ResponseReader {
  /** Reads every frame of the bytes it was made for. */
  readAll(): number;
}
