import { describe, expect, test } from "vitest";
import type { MessageExt } from "../../client/message.ts";
import * as zlib from "node:zlib";
import { UnsupportedError } from "../../client/errors.ts";
import type { ProducerOptions } from "../../client/options.ts";
import { doors } from "../support/doors.ts";
import { sameBytes } from "../support/frames.ts";

const { createProducer, createPushConsumer, startCluster } = doors;

/** Bytes that do not compress, made from a seed. */
function noise(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed >>> 0 || 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

const SIZES = [1, 4_095, 4_096, 65_536, 300 * 1_024, 3 * 1_024 * 1_024];

describe.each(["JSON", "ROCKETMQ"] as const)("on real sockets with %s headers", (serializeType) => {
  /** Sends each body and waits until all have come back. */
  async function roundTrip(
    bodies: readonly Uint8Array[],
    coreMemory: number,
    compression?: ProducerOptions<Uint8Array>["compression"],
  ): Promise<void> {
    const cluster = await startCluster({ topics: { Bodies: { queues: 2 } } });
    const { namesrvAddr } = cluster;
    const errors: unknown[] = [];
    const base = { namesrvAddr, serializeType, coreMemory, onError: (error: unknown) => void errors.push(error) };
    const producer = createProducer({ ...base, ...(compression === undefined ? {} : { compression }) });
    const consumer = createPushConsumer({
      ...base,
      consumerGroup: "readers",
      consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
      subscriptions: { Bodies: "*" },
    });
    const seen = new Map<number, MessageExt>();
    try {
      const all = new Promise<void>((resolve, reject) => {
        consumer.run({
          eachMessage(message) {
            seen.set(Number(message.keys[0]), message);
            if (seen.size === bodies.length) resolve();
          },
        }).catch(reject);
      });
      const results = await Promise.all(
        bodies.map((body, index) => producer.send({ topic: "Bodies", body, keys: String(index) })),
      );
      await all;
      for (const [index, body] of bodies.entries()) {
        const message = seen.get(index)!;
        expect(sameBytes(message.body, body), `body of ${body.length} bytes`).toBe(true);
        expect(message.msgId).toBe(results[index]!.msgId);
      }
      expect(errors).toEqual([]);
    } finally {
      await Promise.all([producer.shutdown(), consumer.shutdown()]);
      await cluster.close();
    }
    expect(consumer.stats()).toMatchObject({ connections: 0, inFlight: 0 });
  }

  test("bodies of all sizes come back, also those larger than an inbox", () =>
    roundTrip(SIZES.map((size) => noise(size, size)), 16));

  test("so do bodies that were compressed", () =>
    roundTrip(SIZES.map((size) => new Uint8Array(size).fill(size & 0xff)), 16));

  test("so do bodies that were compressed with LZ4, in a core of any size", async () => {
    const bodies = SIZES.map((size) => new Uint8Array(size).fill(size & 0xff));
    await roundTrip(bodies, 16, { type: "LZ4" });
    await roundTrip(bodies, 2, { type: "LZ4", over: 0 });
  });

  test("so do bodies that were compressed with ZSTD where the runtime has it; elsewhere it is refused", async () => {
    const bodies = SIZES.map((size) => new Uint8Array(size).fill(size & 0xff));
    if ("zstdCompressSync" in zlib) return await roundTrip(bodies, 16, { type: "ZSTD" });
    await using producer = createProducer({ namesrvAddr: "127.0.0.1:9", compression: { type: "ZSTD" } });
    await expect(producer.send({ topic: "Bodies", body: bodies[2]! })).rejects.toThrow(UnsupportedError);
  });

  test("so do frames that find no block in a small core", () =>
    roundTrip(SIZES.map((size) => noise(size, size + 1)), 2, false));

  test("a thousand small messages come back", () =>
    roundTrip(Array.from({ length: 1_000 }, (_, index) => noise(100 + index, index + 1)), 16));
});
