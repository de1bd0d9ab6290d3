import type { NewRecord } from "../../client/protocol/record.ts";
import { encodeText } from "../../client/protocol/text.ts";

/** A record with something in each field. */
export const newRecord = (given: Partial<NewRecord> = {}): NewRecord => ({
  topic: "TopicA",
  queueId: 3,
  flag: 0,
  queueOffset: 42n,
  physicalOffset: 4711n,
  sysFlag: 0,
  bornTimestamp: 1_700_000_000_000,
  bornHost: "10.0.0.9:50000",
  storeTimestamp: 1_700_000_000_001,
  storeHost: "10.0.0.1:10911",
  reconsumeTimes: 0,
  preparedTransactionOffset: 0n,
  body: encodeText("hello"),
  properties: "TAGS\u0001a\u0002",
  ...given,
});
