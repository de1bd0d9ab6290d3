// Message properties that the client, the broker or both give a meaning (`MessageConst`).
/** Index keys, joined by one space. */
export const KEYS = "KEYS";
export const KEY_SEPARATOR = " ";
/** One tag. */
export const TAGS = "TAGS";
/** "false": the broker need not wait until the message is stored as configured. */
export const WAIT = "WAIT";
/** Delay level, decimal. */
export const DELAY = "DELAY";
/** The highest of a broker's delay levels. */
export const DELAY_LEVEL_MAX = 18;
/** The client's unique id. */
export const UNIQ_KEY = "UNIQ_KEY";
export const SHARDING_KEY = "__SHARDINGKEY";
export const PRODUCER_GROUP = "PGROUP";
export const TRANSACTION_PREPARED = "TRAN_MSG";
/** Original topic of a message in a retry topic. */
export const RETRY_TOPIC = "RETRY_TOPIC";
/** Offset id of the message that was first sent back. */
export const ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID";
export const RECONSUME_TIME = "RECONSUME_TIME";
export const MAX_RECONSUME_TIMES = "MAX_RECONSUME_TIMES";
export const CONSUME_START_TIME = "CONSUME_START_TIME";
/** Original topic and queue of delayed and half messages. */
export const REAL_TOPIC = "REAL_TOPIC";
export const REAL_QID = "REAL_QID";
/** Written by the client into what it pulled. */
export const MIN_OFFSET = "MIN_OFFSET";
export const MAX_OFFSET = "MAX_OFFSET";
export const MSG_REGION = "MSG_REGION";
export const TRACE_ON = "TRACE_ON";
/** Number of elements of an inner batch. */
export const INNER_NUM = "INNER_NUM";
export const TRANSACTION_ID = "__transactionId__";
export const START_DELIVER_TIME = "__STARTDELIVERTIME";
export const TIMER_DELIVER_MS = "TIMER_DELIVER_MS";
export const DLQ_ORIGIN_TOPIC = "DLQ_ORIGIN_TOPIC";
export const DLQ_ORIGIN_MESSAGE_ID = "DLQ_ORIGIN_MESSAGE_ID";

/** Names that RocketMQ keeps for itself: users do not set them as properties (`MessageConst#STRING_HASH_SET`). */
export const RESERVED_PROPERTIES: ReadonlySet<string> = new Set([
  KEYS,
  TAGS,
  WAIT,
  DELAY,
  UNIQ_KEY,
  PRODUCER_GROUP,
  TRANSACTION_PREPARED,
  RETRY_TOPIC,
  ORIGIN_MESSAGE_ID,
  RECONSUME_TIME,
  MAX_RECONSUME_TIMES,
  CONSUME_START_TIME,
  REAL_TOPIC,
  REAL_QID,
  MIN_OFFSET,
  MAX_OFFSET,
  MSG_REGION,
  TRACE_ON,
  TIMER_DELIVER_MS,
  DLQ_ORIGIN_TOPIC,
  DLQ_ORIGIN_MESSAGE_ID,
  "EXTEND_UNIQ_INFO",
  "TRAN_PREPARED_QUEUE_OFFSET",
  "CORRELATION_ID",
  "REPLY_TO_CLIENT",
  "TTL",
  "ARRIVE_TIME",
  "PUSH_REPLY_TIME",
  "CLUSTER",
  "MSG_TYPE",
  "POP_CK",
  "POP_CK_OFFSET",
  "1ST_POP_TIME",
  "TIMER_DELAY_MS",
  "TIMER_DELAY_SEC",
  "TIMER_ENQUEUE_MS",
  "TIMER_DEQUEUE_MS",
  "TIMER_ROLL_TIMES",
  "TIMER_OUT_MS",
  "TIMER_DEL_UNIQKEY",
  "TIMER_DELAY_LEVEL",
  "INNER_MULTI_QUEUE_OFFSET",
  "DUP_INFO",
  "INSTANCE_ID",
  "BUYER_ID",
  "TRANSFER_FLAG",
  "CORRECTION_FLAG",
  "MQ2_FLAG",
  "__BORNHOST",
  "BORN_TIMESTAMP",
  "__CRC32#",
]);
