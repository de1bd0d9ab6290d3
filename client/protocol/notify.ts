import { RequestCode } from "./codes.ts";
import type { Request } from "./command.ts";
import { type ExtFields, requireText } from "./fields.ts";

/** The broker tells, oneway, that the members of a group have changed. */
export const notifyRequest = (consumerGroup: string): Request => ({
  code: RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
  extFields: { consumerGroup },
});

export const decodeNotify = (fields: ExtFields): { readonly consumerGroup: string } => ({
  consumerGroup: requireText(fields, "consumerGroup"),
});
