import { ArgumentError } from "../errors.ts";
import { javaHashCode } from "./hash.ts";
import { booleanOf, int32Of, listOf, objectOf, optionalTextOf, safeIntegerOf, textOf } from "./json_access.ts";
import type { JsonValue, WritableObject } from "./json.ts";

/** What one consumer group wants of one topic, as heartbeats carry it. */
export interface SubscriptionData {
  readonly topic: string;
  /** The expression as it was given; "*" is everything. */
  readonly subString: string;
  /** The tags of a TAG expression; empty for "*" and for SQL92. */
  readonly tagsSet: readonly string[];
  /** Java hash codes of the tags: what brokers compare. */
  readonly codeSet: readonly number[];
  readonly expressionType: string;
  readonly classFilterMode: boolean;
  /** Milliseconds; the newest of a group wins at the broker. */
  readonly subVersion: number;
}

export const SUB_ALL = "*";
export const TAG = "TAG";

/** Parses as Java's `FilterAPI`. Throws `ArgumentError` for an expression that is nothing but "||". */
export function buildSubscription(
  topic: string,
  expression: string | undefined,
  subVersion: number,
  expressionType: string = TAG,
): SubscriptionData {
  const base = { topic, expressionType, classFilterMode: false, subVersion };
  if (expression === undefined || expression === "" || expression === SUB_ALL) {
    return { ...base, subString: SUB_ALL, tagsSet: [], codeSet: [] };
  }
  if (expressionType !== TAG) return { ...base, subString: expression, tagsSet: [], codeSet: [] };
  const parts = expression.split("||");
  if (parts.every((part) => part === "")) {
    throw new ArgumentError(`Cannot subscribe to topic "${topic}": "${expression}" names no tag`, { topic });
  }
  const tags = new Set(parts.map(trim).filter((tag) => tag !== ""));
  return { ...base, subString: expression, tagsSet: [...tags], codeSet: [...new Set([...tags].map(javaHashCode))] };
}

/** Java's `trim`: control characters and spaces only. */
function trim(text: string): string {
  let from = 0, to = text.length;
  while (from < to && text.charCodeAt(from) <= 0x20) from++;
  while (to > from && text.charCodeAt(to - 1) <= 0x20) to--;
  return text.slice(from, to);
}

export const writableSubscription = (data: SubscriptionData): WritableObject => ({ ...data });

export function readSubscription(value: JsonValue | undefined): SubscriptionData {
  const data = objectOf(value, "subscriptionData");
  return {
    topic: textOf(data.get("topic"), "topic"),
    subString: optionalTextOf(data.get("subString"), "subString") ?? SUB_ALL,
    tagsSet: listOf(data.get("tagsSet"), "tagsSet").map((tag) => textOf(tag, "tagsSet")),
    codeSet: listOf(data.get("codeSet"), "codeSet").map((code) => int32Of(code, "codeSet")),
    expressionType: optionalTextOf(data.get("expressionType"), "expressionType") ?? TAG,
    classFilterMode: booleanOf(data.get("classFilterMode"), "classFilterMode", false),
    subVersion: safeIntegerOf(data.get("subVersion"), "subVersion", 0),
  };
}
