import { describe, expect, test } from "vitest";
import { ArgumentError } from "../../client/errors.ts";
import { decodeBatch, encodeBatch } from "../../client/protocol/batch.ts";
import { crc32 } from "../../client/protocol/crc32.ts";
import { javaHashCode } from "../../client/protocol/hash.ts";
import { createOffsetMsgId, decodeOffsetMsgId } from "../../client/protocol/ids.ts";
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
import { encodeText } from "../../client/protocol/text.ts";
import { bodyVector, fromBase64, javaHost, present, readLines, type Row, toBase64 } from "./vectors.ts";

test("hash: texts hash as in Java", () => {
  for (const row of readLines("oracle-hash.jsonl")) {
    if (row.text !== undefined) expect(javaHashCode(row.text), row.text).toBe(row.hashCode);
  }
});

test("crc32: the table agrees with Java, whole and in two parts", () => {
  for (const row of readLines("oracle-crc32.jsonl")) {
    const bytes = row.text === undefined ? generated(row) : encodeText(row.text);
    expect(crc32(bytes) & 0x7fffffff).toBe(row.crc32);
    const cut = bytes.length >> 1;
    expect(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut)))).toBe(crc32(bytes));
  }
});

const generated = ({ size, mul, add }: Row): Uint8Array =>
  Uint8Array.from({ length: size }, (_, i) => (i * mul + add + (i >> 3)) & 255);

describe("ids", () => {
  const rows = readLines("oracle-ids.jsonl");

  test("offset message ids are made and read as in Java", () => {
    for (const row of rows.filter(({ kind }) => kind === "offsetMsgId")) {
      expect(createOffsetMsgId(row.address, row.port, BigInt(row.offset))).toBe(row.id);
      const { host, port, offset } = decodeOffsetMsgId(row.id);
      expect({ host: `${host}:${port}`, offset: String(offset) }).toEqual(row.decoded);
    }
  });

  test("bad offset message ids are errors, also the one Java reads as 255.0.0.1", () => {
    for (const { id, result } of rows.filter(({ kind }) => kind === "decodeMessageId")) {
      if (result.error || /[^0-9a-fA-F]/.test(id)) {
        expect(() => decodeOffsetMsgId(id), id).toThrow(ArgumentError);
        continue;
      }
      const { host, port, offset } = decodeOffsetMsgId(id);
      expect({ host: `${host}:${port}`, offset: String(offset) }).toEqual(result);
    }
  });
});

describe("properties", () => {
  const rows = readLines("oracle-properties.jsonl");

  test("are written as in Java; what would be cut in two is refused", () => {
    let written = 0;
    for (const { op, map, text, parsedBack } of rows) {
      if (op !== "messageProperties2String") continue;
      const properties = present(map);
      if (
        Object.entries(properties).some(([name, value]) =>
          name.includes("\u0001") || name.includes("\u0002") || value.includes("\u0002")
        )
      ) {
        expect(() => encodeProperties(properties)).toThrow(ArgumentError);
        continue;
      }
      written++;
      expect(encodeProperties(properties)).toBe(text);
      expect({ ...decodeProperties(text) }).toEqual(parsedBack);
    }
    expect(written).toBeGreaterThan(20);
  });

  test("are read as in Java", () => {
    for (const { op, text, result } of rows) {
      if (op === "string2messageProperties" && text !== null) {
        expect({ ...decodeProperties(text) }, JSON.stringify(text)).toEqual(result);
      }
    }
  });
});

test("batch: bodies are byte for byte Java's, in the property order it gives", () => {
  for (const { messages, encoded } of readLines("oracle-batch.jsonl")) {
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
  }
});

/** Also the pairs with an empty value, which Java writes and does not read. */
const inOrder = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split("\u0002").filter((pair) => pair !== "").map((pair) => pair.split("\u0001") as [string, string]),
  );

test("record: stored messages are byte for byte Java's, both ways", () => {
  let compared = 0;
  for (const { case: number, result: { encoded, decoded } } of readLines("oracle-record.jsonl")) {
    if (!encoded) continue;
    const bytes = fromBase64(encoded);
    const record = decodeRecord(bytes);
    expect(record.totalSize).toBe(bytes.length);
    expect(toBase64(encodeRecord(record)), `case ${number}`).toBe(encoded);
    // Java leaves the checksum of some of its cases at 0: it is a field like any other.
    if (!decoded || decoded.error) continue;
    compared++;
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
    if (!(record.sysFlag & 1)) expect(bodyVector(record.body, decoded.body)).toEqual(decoded.body);
  }
  expect(compared).toBeGreaterThan(40);
});

test("subscription: expressions are parsed as in Java", () => {
  for (const { topic, expression, type, result } of readLines("oracle-subscription.jsonl")) {
    const build = () => buildSubscription(topic, expression ?? undefined, 7, type.startsWith("(") ? "TAG" : type);
    if (result.error) {
      expect(build, expression).toThrow(ArgumentError);
      continue;
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
  }
});

test("validate: the client's checks of topics and groups are Java's", () => {
  const passes = (check: () => void): boolean => {
    try {
      check();
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(ArgumentError);
      return false;
    }
  };
  for (const row of readLines("oracle-validate.jsonl")) {
    if (!("name" in row)) continue;
    expect(passes(() => checkTopic(row.name)), `topic ${row.name}`).toBe(row.checkTopic === "ok");
    expect(passes(() => checkGroup(row.name)), `group ${row.name}`).toBe(row.checkGroup === "ok");
    expect(passes(() => checkSendTopic(row.name)), `send ${row.name}`).toBe(row.isNotAllowedSendTopic === "ok");
  }
});

test("names: retry, dead letter and system names are Java's", () => {
  for (const row of readLines("oracle-names.jsonl")) {
    if (typeof row.resource !== "string") continue;
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
  }
});
