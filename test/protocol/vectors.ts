import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import * as zlib from "node:zlib";
import { modelReadLz4 } from "../core/lz4_model.ts";

const FOLDER = new URL("../vectors/", import.meta.url);

/** One recorded frame and what Java decoded of it; the README of the vectors tells what the fields mean. */
export interface FrameVector {
  readonly id: string;
  readonly header: "json" | "binary";
  readonly type: "request" | "oneway" | "response";
  readonly code: number;
  readonly requestCode: number | null;
  readonly broker: string;
  readonly step: string;
  readonly bytes: Uint8Array;
  readonly expect: {
    readonly code: number;
    readonly language: string | null;
    readonly version: number;
    readonly opaque: number;
    readonly flag: number;
    readonly remark: string | null;
    readonly extFields: Readonly<Record<string, string | null>> | null;
    readonly bodyLength: number;
    readonly records?: readonly RecordVector[];
    readonly batch?: readonly ElementVector[];
    readonly body?: BodyVector;
    readonly bodyText?: string;
  };
}

export type BodyVector = null | string | { readonly length: number; readonly sha256: string };

export interface ElementVector {
  readonly flag: number;
  readonly body: BodyVector;
  readonly properties: Readonly<Record<string, string>> | null;
}

export interface RecordVector {
  readonly topic: string;
  readonly queueId: number;
  readonly queueOffset: string;
  readonly physicalOffset: string;
  readonly storeSize: number;
  readonly flag: number;
  readonly sysFlag: number;
  readonly bornTimestamp: number;
  readonly bornHost: string;
  readonly storeTimestamp: number;
  readonly storeHost: string;
  readonly reconsumeTimes: number;
  readonly preparedTransactionOffset: string;
  readonly bodyCRC: number;
  readonly properties: Readonly<Record<string, string>> | null;
  readonly offsetMsgId: string;
  readonly msgId: string;
  readonly uniqKey: string | null;
  readonly body: BodyVector;
  readonly inner?: readonly ElementVector[];
}

// deno-lint-ignore no-explicit-any
export type Row = any;

/** Every line of a vector file. */
export const readLines = (name: string): Row[] =>
  readFileSync(new URL(name, FOLDER), "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));

export const readTable = (version: string): Row =>
  JSON.parse(readFileSync(new URL(`table-${version}.json`, FOLDER), "utf8"));

export const bodyVersions = ["4.4.0", "4.9.7", "5.3.3", "5.5.0"] as const;

/** All recorded frames. */
export function readFrames(): FrameVector[] {
  const files = readdirSync(FOLDER).filter((name) => name.startsWith("frames-")).sort();
  return files.flatMap(readLines).map(({ frame, encoding, ...rest }) => {
    const bytes = fromBase64(frame);
    return { ...rest, bytes: encoding === "gzip+base64" ? new Uint8Array(zlib.gunzipSync(bytes)) : bytes };
  });
}

export const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));
export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** A body in the form the vectors use: base64 up to 1 KiB, beyond that length and hash. */
export function bodyVector(body: Uint8Array, like: BodyVector): BodyVector {
  if (like === null) return body.length === 0 ? null : toBase64(body);
  if (typeof like === "string") return toBase64(body);
  return { length: body.length, sha256: createHash("sha256").update(body).digest("hex") };
}

/** Whether this runtime can read ZSTD: Node from 22.15 on. */
export const canReadZstd = "zstdDecompressSync" in zlib;

/** A stored body as the client would give it; undefined when this runtime cannot read ZSTD. */
export function expand(body: Uint8Array, type: "ZLIB" | "LZ4" | "ZSTD" | undefined): Uint8Array | undefined {
  if (type === "ZLIB") return new Uint8Array(zlib.inflateSync(body));
  if (type === "LZ4") return modelReadLz4(body, Infinity);
  if (type === "ZSTD" && canReadZstd) {
    return new Uint8Array(
      (zlib as unknown as { zstdDecompressSync(bytes: Uint8Array): Uint8Array }).zstdDecompressSync(body),
    );
  }
  return undefined;
}

/** Java's map without what it calls null. */
export const present = (fields: Readonly<Record<string, string | null>> | null | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(fields ?? {}).filter((entry): entry is [string, string] => entry[1] !== null));

/** Java prints an IPv6 address without brackets. */
export const javaHost = (host: string): string => host.replace(/[[\]]/g, "");
