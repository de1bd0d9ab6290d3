import { ArgumentError } from "../errors.ts";

export const TOPIC_MAX = 127;
export const GROUP_MAX = 120;

export const RETRY_PREFIX = "%RETRY%";
export const DLQ_PREFIX = "%DLQ%";
/** The topic whose route new topics are created from. */
export const AUTO_CREATE_TOPIC = "TBW102";
export const SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX";
export const TRANS_HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC";
export const TRANS_OP_HALF_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC";
export const DEFAULT_PRODUCER_GROUP = "DEFAULT_PRODUCER";
export const DEFAULT_CONSUMER_GROUP = "DEFAULT_CONSUMER";

/** Topics that nobody may send to. */
const FORBIDDEN_FOR_SENDS: ReadonlySet<string> = new Set([
  SCHEDULE_TOPIC,
  TRANS_HALF_TOPIC,
  TRANS_OP_HALF_TOPIC,
  "TRANS_CHECK_MAX_TIME_TOPIC",
  "SELF_TEST_TOPIC",
  "OFFSET_MOVED_EVENT",
]);

const SYSTEM_TOPICS: ReadonlySet<string> = new Set([
  ...FORBIDDEN_FOR_SENDS,
  AUTO_CREATE_TOPIC,
  "BenchmarkTest",
  "RMQ_SYS_TRACE_TOPIC",
  "CHECKPOINT_TOPIC",
  "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
  "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
]);
const SYSTEM_TOPIC_PREFIX = "rmq_sys_";

const SYSTEM_GROUPS: ReadonlySet<string> = new Set([
  DEFAULT_CONSUMER_GROUP,
  DEFAULT_PRODUCER_GROUP,
  "TOOLS_CONSUMER",
  "SCHEDULE_CONSUMER",
  "FILTERSRV_CONSUMER",
  "__MONITOR_CONSUMER",
  "CLIENT_INNER_PRODUCER",
  "SELF_TEST_P_GROUP",
  "SELF_TEST_C_GROUP",
  "CID_ONS-HTTP-PROXY",
  "CID_ONSAPI_PERMISSION",
  "CID_ONSAPI_OWNER",
  "CID_ONSAPI_PULL",
]);
const SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_";

const LEGAL = /^[%|a-zA-Z0-9_-]+$/;

/** Throws `ArgumentError` unless `topic` is 1 to 127 letters, digits, `%`, `|`, `-` or `_`. */
export function checkTopic(topic: string): void {
  checkName("topic", topic, TOPIC_MAX);
}

/** Throws `ArgumentError` unless `group` is 1 to 120 letters, digits, `%`, `|`, `-` or `_`. */
export function checkGroup(group: string): void {
  checkName("group", group, GROUP_MAX);
}

/** Throws `ArgumentError` for a topic that belongs to brokers. */
export function checkSendTopic(topic: string): void {
  if (FORBIDDEN_FOR_SENDS.has(topic)) {
    throw new ArgumentError(`Cannot send to topic "${topic}": it belongs to the broker`, { topic });
  }
}

function checkName(kind: "topic" | "group", name: string, max: number): void {
  const detail = kind === "topic" && typeof name === "string" ? { topic: name } : {};
  if (typeof name !== "string" || name.trim() === "") {
    throw new ArgumentError(`A ${kind} name must not be blank`, detail);
  }
  if (name.length > max) {
    throw new ArgumentError(
      `Cannot use ${kind} "${name}": ${name.length} characters, at most ${max} are allowed`,
      detail,
    );
  }
  if (!LEGAL.test(name)) {
    throw new ArgumentError(
      `Cannot use ${kind} ${JSON.stringify(name)}: only letters, digits, %, |, - and _ are allowed`,
      detail,
    );
  }
}

export const retryTopic = (group: string): string => RETRY_PREFIX + group;
export const dlqTopic = (group: string): string => DLQ_PREFIX + group;
export const replyTopic = (cluster: string): string => `${cluster}_REPLY_TOPIC`;
export const isRetryTopic = (topic: string): boolean => topic.startsWith(RETRY_PREFIX);
export const isDlqTopic = (topic: string): boolean => topic.startsWith(DLQ_PREFIX);
export const isSystemTopic = (topic: string): boolean =>
  SYSTEM_TOPICS.has(topic) || topic.startsWith(SYSTEM_TOPIC_PREFIX);
export const isSystemGroup = (group: string): boolean =>
  SYSTEM_GROUPS.has(group) || group.startsWith(SYSTEM_GROUP_PREFIX);
