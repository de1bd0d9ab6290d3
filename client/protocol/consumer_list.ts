import { RequestCode } from "./codes.ts";
import type { Request } from "./command.ts";
import { type ExtFields, requireText } from "./fields.ts";
import { parseJson, writeJson } from "./json.ts";
import { listOf, objectOf, textOf } from "./json_access.ts";
import { decodeText, encodeText } from "./text.ts";

/** Asks who consumes in a group; the answer is 1 when nobody does. */
export const consumerListRequest = (consumerGroup: string): Request => ({
  code: RequestCode.GET_CONSUMER_LIST_BY_GROUP,
  extFields: { consumerGroup },
});

export const decodeConsumerListRequest = (fields: ExtFields): { readonly consumerGroup: string } => ({
  consumerGroup: requireText(fields, "consumerGroup"),
});

/** Client ids, in any order. Throws `FrameError`. */
export function decodeConsumerList(body: Uint8Array): string[] {
  const list = objectOf(parseJson(decodeText(body)), "consumers");
  return listOf(list.get("consumerIdList"), "consumerIdList").map((id) => textOf(id, "consumerIdList"));
}

export const encodeConsumerList = (consumerIdList: readonly string[]): Uint8Array =>
  encodeText(writeJson({ consumerIdList }));
