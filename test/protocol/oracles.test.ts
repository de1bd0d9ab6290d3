import { expect, test } from "vitest";
import { parseDelayLevels } from "../../broker/schedule.ts";
import { retryLevel } from "../../broker/send_back.ts";
import { bytes } from "../../client/body_codec.ts";
import { ArgumentError, UnsupportedError } from "../../client/errors.ts";
import { SendKinds } from "../../client/producer/send_kinds.ts";
import type { SendContext } from "../../client/producer/sending.ts";
import { toSending } from "../../client/producer/to_sending.ts";
import { decodeBatch, encodeBatch } from "../../client/protocol/batch.ts";
import { crc32 } from "../../client/protocol/crc32.ts";
import { javaHashCode } from "../../client/protocol/hash.ts";
import { parseIp } from "../../client/protocol/hosts.ts";
import { createOffsetMsgId, decodeOffsetMsgId, hexText, UniqueIds } from "../../client/protocol/ids.ts";
import {
  checkGroup,
  checkSendTopic,
  checkTopic,
  dlqTopic,
  isDlqTopic,
  isRetryTopic,
  isSystemGroup,
  isSystemTopic,
  replyTopic,
  retryTopic,
} from "../../client/protocol/names.ts";
import { decodeProperties, encodeProperties } from "../../client/protocol/properties.ts";
import { decodeRecord, encodeRecord, offsetMsgIdOf } from "../../client/protocol/record.ts";
import { buildSubscription } from "../../client/protocol/subscription.ts";
import { COMPRESSED, compressionOf } from "../../client/protocol/sys_flag.ts";
import { encodeText } from "../../client/protocol/text.ts";
import { openCore } from "../support/core.ts";
import { sameBytes } from "../support/frames.ts";
import { everyRow, NotOurs } from "./oracle.ts";
import { bodyVector, canReadZstd, expand, fromBase64, javaHost, present, type Row, toBase64 } from "./vectors.ts";

test("hash: texts hash as in Java, as tags too, and choose the same queue", () => {
  everyRow("oracle-hash", ({ text, hashCode, tagsCode, selectByHash }) => {
    if (text === undefined) return new NotOurs("keys that are no texts");
    expect(javaHashCode(text), text).toBe(hashCode);
    // Java takes an empty tag for none.
    expect(text === "" ? 0 : javaHashCode(text), text).toBe(tagsCode);
    for (const [queues, queue] of Object.entries(selectByHash)) {
      expect(Math.abs(javaHashCode(text) % Number(queues)), `${text} among ${queues}`).toBe(queue);
    }
  });
});

test("crc32: the table and the core agree with Java, whole and in two parts", () => {
  const core = openCore();
  everyRow("oracle-crc32", (row) => {
    const bytes = row.text === undefined ? generated(row) : encodeText(row.text);
    if (row.hex !== undefined) expect(hexText(bytes)).toBe(row.hex);
    const cut = bytes.length >> 1;
    for (const sum of [crc32, (part: Uint8Array, seed?: number) => core.crc32(part, seed)]) {
      expect(sum(bytes) & 0x7fffffff).toBe(row.crc32);
      expect(sum(bytes.subarray(cut), sum(bytes.subarray(0, cut)))).toBe(sum(bytes));
    }
  });
});

const generated = ({ size, mul, add }: Row): Uint8Array =>
  Uint8Array.from({ length: size }, (_, i) => (i * mul + add + (i >> 3)) & 255);

test("ids: offset message ids and unique ids are made and read as in Java; bad ones are errors", () => {
  everyRow("oracle-ids", (row) => {
    if (row.kind === "offsetMsgId") expectOffsetMsgId(row);
    else if (row.kind === "decodeMessageId") expectDecoding(row);
    else if (row.kind === "uniqKey") expectUniqueId(row);
    else return new NotOurs("names of the files of a commit log");
  });
});

function expectOffsetMsgId({ address, port, offset, id, decoded }: Row): void {
  expect(createOffsetMsgId(address, port, BigInt(offset))).toBe(id);
  const { host, port: read, offset: place } = decodeOffsetMsgId(id);
  expect({ host: `${host}:${read}`, offset: String(place) }).toEqual(decoded);
}

/** Bad ids are errors, also the one that Java reads as 255.0.0.1. */
function expectDecoding({ id, result }: Row): void {
  if (result.error || /[^0-9a-fA-F]/.test(id)) {
    expect(() => decodeOffsetMsgId(id), id).toThrow(ArgumentError);
    return;
  }
  const { host, port, offset } = decodeOffsetMsgId(id);
  expect({ host: `${host}:${port}`, offset: String(offset) }).toEqual(result);
}

/** Address, process, 4 bytes, time since the month began, counter: where Java finds them is where ours are. */
function expectUniqueId({ id, ip, pid, nearlyTime }: Row): void {
  const address = parseIp(ip), hex = hexText(address);
  expect(id.slice(0, hex.length)).toBe(hex);
  expect(Number.parseInt(id.slice(hex.length, hex.length + 4), 16)).toBe(pid);
  // The clock on Java's wall was UTC's; ours is the machine's, and may change to summer time within the month.
  const clock = new Date(nearlyTime);
  const [year, month] = [clock.getUTCFullYear(), clock.getUTCMonth()];
  const hours = [
    clock.getUTCHours(),
    clock.getUTCMinutes(),
    clock.getUTCSeconds(),
    clock.getUTCMilliseconds(),
  ] as const;
  const local = new Date(year, month, clock.getUTCDate(), ...hours), start = new Date(year, month, 1);
  const shift = (local.getTimezoneOffset() - start.getTimezoneOffset()) * 60_000;
  const since = Number.parseInt(id.slice(-12, -4), 16);
  expect(new UniqueIds(local.getTime()).sinceMonth(local.getTime()) - shift).toBe(since);
}

test("properties: are written and read as in Java; what would be cut in two is refused", () => {
  everyRow("oracle-properties", ({ op, map, text, parsedBack, base64, result }) => {
    if (op === "string2messageProperties") {
      expect({ ...decodeProperties(text ?? "") }, JSON.stringify(text)).toEqual(result);
      return;
    }
    const properties = present(map);
    const isCut = ([name, value]: [string, string]): boolean => /[\u0001\u0002]/.test(name) || value.includes("\u0002");
    if (Object.entries(properties).some(isCut)) {
      expect(() => encodeProperties(properties)).toThrow(ArgumentError);
      return;
    }
    expect(encodeProperties(properties)).toBe(text);
    if (!/\p{Surrogate}/u.test(text)) expect(toBase64(encodeText(text))).toBe(base64);
    expect({ ...decodeProperties(text) }).toEqual(parsedBack);
  });
});

test("batch: bodies are byte for byte Java's, in the property order it gives", () => {
  everyRow("oracle-batch", ({ messages, encoded }) => {
    const elements = messages.map(({ flag, body, propertiesText }: Row) => ({
      flag,
      body: fromBase64(body),
      properties: encodeProperties(inOrder(propertiesText)),
    }));
    expect(toBase64(encodeBatch(elements))).toBe(encoded);
    expect(
      decodeBatch(fromBase64(encoded)).map(({ flag, body, properties }) => ({
        flag,
        body: toBase64(body),
        properties,
      })),
    ).toEqual(
      messages.map(({ flag, body, propertiesText }: Row) => ({ flag, body, properties: propertiesText })),
    );
  });
});

/** Also the pairs with an empty value, which Java writes and does not read. */
const inOrder = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split("\u0002").filter((pair) => pair !== "").map((pair) => pair.split("\u0001") as [string, string]),
  );

test("record: stored messages are byte for byte Java's, both ways", () => {
  everyRow("oracle-record", ({ case: number, compressed, result: { encoded, decoded } }) => {
    const bytes = fromBase64(encoded);
    const record = decodeRecord(bytes);
    expect(record.totalSize).toBe(bytes.length);
    expect(toBase64(encodeRecord(record)), `case ${number}`).toBe(encoded);
    // Java leaves the checksum of some of its cases at 0: it is a field like any other.
    expect({
      topic: record.topic,
      queueId: record.queueId,
      queueOffset: String(record.queueOffset),
      physicalOffset: String(record.physicalOffset),
      storeSize: record.totalSize,
      flag: record.flag,
      bornTimestamp: record.bornTimestamp,
      bornHost: javaHost(record.bornHost),
      storeTimestamp: record.storeTimestamp,
      storeHost: javaHost(record.storeHost),
      reconsumeTimes: record.reconsumeTimes,
      preparedTransactionOffset: String(record.preparedTransactionOffset),
      bodyCRC: record.bodyCRC,
      offsetMsgId: offsetMsgIdOf(record),
      properties: { ...decodeProperties(record.properties) },
    }, `case ${number}`).toMatchObject({
      topic: decoded.topic,
      queueId: decoded.queueId,
      queueOffset: decoded.queueOffset,
      physicalOffset: decoded.physicalOffset,
      storeSize: decoded.storeSize,
      flag: decoded.flag,
      bornTimestamp: decoded.bornTimestamp,
      bornHost: decoded.bornHost,
      storeTimestamp: decoded.storeTimestamp,
      storeHost: decoded.storeHost,
      reconsumeTimes: decoded.reconsumeTimes,
      preparedTransactionOffset: decoded.preparedTransactionOffset,
      bodyCRC: decoded.bodyCRC,
      offsetMsgId: decoded.offsetMsgId,
      properties: present(decoded.properties),
    });
    expect((record.sysFlag & COMPRESSED) !== 0).toBe(compressed);
    const body = compressed ? expand(record.body, compressionOf(record.sysFlag)) : record.body;
    if (body) expect(bodyVector(body, decoded.body)).toEqual(decoded.body);
    // Only ZSTD, and only where there is none.
    else expect([compressionOf(record.sysFlag), canReadZstd]).toEqual(["ZSTD", false]);
  });
});

test("subscription: expressions are parsed as in Java", () => {
  everyRow("oracle-subscription", ({ topic, expression, type, result }) => {
    const build = () => buildSubscription(topic, expression ?? undefined, 7, type.startsWith("(") ? "TAG" : type);
    if (result.error) {
      expect(build, expression).toThrow(ArgumentError);
      return;
    }
    const { tagsSet, codeSet, ...rest } = build();
    expect(
      { ...rest, tagsSet: [...tagsSet].sort(), codeSet: [...codeSet].sort((a, b) => a - b) },
      `${type} ${expression}`,
    ).toEqual({
      ...result,
      topic,
      subVersion: 7,
      tagsSet: [...result.tagsSet].sort(),
      codeSet: [...result.codeSet].sort((a: number, b: number) => a - b),
    });
  });
});

test("validate: the client's checks of topics, groups and messages are Java's", () => {
  const passes = (check: () => void): boolean => {
    try {
      check();
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(ArgumentError);
      return false;
    }
  };
  everyRow("oracle-validate", (row) => {
    if ("message" in row) {
      if ("INNER_MULTI_DISPATCH" in (row.message ?? {})) return new NotOurs("light message queues");
      expect(passes(() => checkMessage(row.message)), JSON.stringify(row.message)).toBe(row.checkMessage === "ok");
      return;
    }
    expect(passes(() => checkTopic(row.name)), `topic ${row.name}`).toBe(row.checkTopic === "ok");
    expect(passes(() => checkGroup(row.name)), `group ${row.name}`).toBe(row.checkGroup === "ok");
    expect(passes(() => checkSendTopic(row.name)), `send ${row.name}`).toBe(row.isNotAllowedSendTopic === "ok");
  });
});

/** What a producer does first; a length of -1 is a body that is null. */
function checkMessage(row: Row): void {
  const { topic, bodyLength, maxMessageSize } = row ?? {};
  const body = bodyLength < 0 ? null as unknown as Uint8Array : new Uint8Array(bodyLength);
  const context = { targets: { knows: () => false }, options: { maxMessageSize } } as unknown as SendContext;
  toSending(row && { topic, body }, bytes, context, new SendKinds());
}

test("names: retry, dead letter and system names are Java's", () => {
  everyRow("oracle-names", (row) => {
    if (row.isSysConsumerGroup) expect(isSystemGroup(row.resource), row.resource).toBe(true);
    expect({
      isRetryTopic: isRetryTopic(row.resource),
      isDLQTopic: isDlqTopic(row.resource),
      isSystemTopic: isSystemTopic(row.resource),
      retryTopic: retryTopic(row.resource),
      dlqTopic: dlqTopic(row.resource),
      replyTopic: replyTopic(row.resource),
    }, row.resource).toEqual({
      isRetryTopic: row.isRetryTopic,
      isDLQTopic: row.isDLQTopic,
      isSystemTopic: row.isSystemTopic,
      retryTopic: row.retryTopic,
      dlqTopic: row.dlqTopic,
      replyTopic: row.replyTopic,
    });
  });
});

test("compression: what Java's compressors wrote is read, by the core and by this runtime's host", async () => {
  const core = openCore();
  const { inflate } = "Deno" in globalThis
    ? await import("../../host-deno/compression.ts")
    : await import("../../host-node/compression.ts");
  everyRow("oracle-compression", ({ type, flag, length, crc32: sum, result }) => {
    const compressed = fromBase64(result.compressed);
    expect(compressionOf(flag)).toBe(type);
    const read = () => type === "LZ4" ? core.inflateLz4(compressed, length) : inflate(type, compressed, length, false);
    if (type === "ZSTD" && !canReadZstd) {
      expect(read).toThrow(UnsupportedError);
      return;
    }
    const content = read() as Uint8Array;
    expect({ length: content.length, crc32: crc32(content) & 0x7fffffff }).toEqual({ length, crc32: sum });
    expect(sameBytes(content, text(length))).toBe(true);
  });
});

/** The formula of its README. */
const text = (length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => i % 64 === 63 ? 10 : 97 + (Math.floor(i * i / 7) + i) % 26);

test("delay: levels are read as Java reads them, and a retry without one goes three further", () => {
  everyRow("oracle-delay", ({ delayLevel, parsed, table, retry, delayLevelWhenZero }) => {
    if (retry !== undefined) expect(retryLevel(0, retry)).toBe(delayLevelWhenZero);
    else if (parsed) expect(parseDelayLevels(delayLevel)).toEqual(Object.values(table));
    else expect(() => parseDelayLevels(delayLevel), delayLevel).toThrow(ArgumentError);
  });
});
