import { BORN_HOST_V6, STORE_HOST_V6 } from "./sys_flag.ts";

// A stored message, in the commit log and in pull bodies:
//
//   0 totalSize int32 │ 4 magic int32 │ 8 bodyCRC int32 │ 12 queueId int32 │ 16 flag int32 │ 20 queueOffset int64
//  28 physicalOffset int64 │ 36 sysFlag int32 │ 40 bornTimestamp int64 │ 48 bornHost 8 or 20
//     storeTimestamp int64 │ storeHost 8 or 20 │ reconsumeTimes int32 │ preparedTransactionOffset int64
//     bodyLength int32, body │ topicLength int8 (V1) or int16 (V2), topic │ propertiesLength int16, properties
export const MAGIC_V1 = 0xdaa320a7 | 0;
/** For topics of more than 127 bytes. */
export const MAGIC_V2 = 0xdaa320ab | 0;

export const MAGIC_AT = 4;
export const BODY_CRC_AT = 8;
export const QUEUE_ID_AT = 12;
export const FLAG_AT = 16;
export const QUEUE_OFFSET_AT = 20;
export const PHYSICAL_OFFSET_AT = 28;
export const SYS_FLAG_AT = 36;
export const BORN_TIMESTAMP_AT = 40;
export const BORN_HOST_AT = 48;

/** With short hosts and nothing in it. */
export const RECORD_MIN = 91;

/** Positions of a record's parts, counted from the start of the bytes. */
export interface RecordLayout {
  readonly storeTimestampAt: number;
  readonly storeHostAt: number;
  readonly reconsumeTimesAt: number;
  readonly bodyAt: number;
  readonly bodyLength: number;
  readonly topicAt: number;
  readonly topicLength: number;
  readonly propertiesAt: number;
  readonly propertiesLength: number;
}

/** Where the parts of the record at `at` are; undefined unless magic and lengths make sense within `size` bytes. */
export function layoutOf(view: DataView, at: number, size: number): RecordLayout | undefined {
  const magic = view.getInt32(at + MAGIC_AT);
  if (magic !== MAGIC_V1 && magic !== MAGIC_V2) return undefined;
  const end = at + size;
  const sysFlag = view.getInt32(at + SYS_FLAG_AT);
  const storeTimestampAt = storeTimestampOf(at, sysFlag), storeHostAt = storeHostOf(at, sysFlag);
  const reconsumeTimesAt = reconsumeTimesOf(at, sysFlag);
  const bodyAt = reconsumeTimesAt + 16;
  if (bodyAt > end) return undefined;
  const bodyLength = view.getInt32(bodyAt - 4);
  const topicAt = bodyAt + bodyLength + (magic === MAGIC_V1 ? 1 : 2);
  if (bodyLength < 0 || topicAt > end) return undefined;
  const topicLength = magic === MAGIC_V1 ? view.getInt8(topicAt - 1) : view.getInt16(topicAt - 2);
  const propertiesAt = topicAt + topicLength + 2;
  if (topicLength < 0 || propertiesAt > end) return undefined;
  const propertiesLength = view.getInt16(propertiesAt - 2);
  if (propertiesLength < 0 || propertiesAt + propertiesLength > end) return undefined;
  return {
    storeTimestampAt,
    storeHostAt,
    reconsumeTimesAt,
    bodyAt,
    bodyLength,
    topicAt,
    topicLength,
    propertiesAt,
    propertiesLength,
  };
}

/** Where the parts around the hosts of the record at `at` are: its sysFlag says how long those are. */
export const storeTimestampOf = (at: number, sysFlag: number): number =>
  at + BORN_HOST_AT + (sysFlag & BORN_HOST_V6 ? 20 : 8);
export const storeHostOf = (at: number, sysFlag: number): number => storeTimestampOf(at, sysFlag) + 8;
export const reconsumeTimesOf = (at: number, sysFlag: number): number =>
  storeHostOf(at, sysFlag) + (sysFlag & STORE_HOST_V6 ? 20 : 8);
