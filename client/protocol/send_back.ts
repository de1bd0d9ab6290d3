import { RequestCode } from "./codes.ts";
import type { Request } from "./command.ts";
import { type ExtFields, optionalBoolean, optionalText, requireInt, requireLong, requireText } from "./fields.ts";

/** Asks the broker to deliver a message to its group again, later. */
export interface SendBack {
  readonly group: string;
  /** Commit-log offset of the message. */
  readonly offset: bigint;
  /** 0: the broker decides; -1: to the dead letter queue. */
  readonly delayLevel: number;
  readonly originMsgId?: string | undefined;
  readonly originTopic?: string | undefined;
  readonly unitMode?: boolean;
  /** Left out: the group's own limit at the broker. */
  readonly maxReconsumeTimes?: number | undefined;
  readonly brokerName?: string | undefined;
}

export const sendBackRequest = (back: SendBack): Request => ({
  code: RequestCode.CONSUMER_SEND_MSG_BACK,
  extFields: {
    group: back.group,
    offset: String(back.offset),
    delayLevel: String(back.delayLevel),
    unitMode: String(back.unitMode ?? false),
    ...(back.maxReconsumeTimes === undefined ? {} : { maxReconsumeTimes: String(back.maxReconsumeTimes) }),
    ...(back.originMsgId && { originMsgId: back.originMsgId }),
    ...(back.originTopic && { originTopic: back.originTopic }),
    ...(back.brokerName && { bname: back.brokerName }),
  },
});

export const decodeSendBack = (fields: ExtFields): SendBack => ({
  group: requireText(fields, "group"),
  offset: requireLong(fields, "offset"),
  delayLevel: requireInt(fields, "delayLevel"),
  originMsgId: optionalText(fields, "originMsgId"),
  originTopic: optionalText(fields, "originTopic"),
  unitMode: optionalBoolean(fields, "unitMode", false),
  maxReconsumeTimes: fields["maxReconsumeTimes"] ? requireInt(fields, "maxReconsumeTimes") : undefined,
  brokerName: optionalText(fields, "bname"),
});
