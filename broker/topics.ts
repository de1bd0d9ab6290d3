import { ResponseCode } from "../client/protocol/codes.ts";
import { AUTO_CREATE_TOPIC, checkTopic, isRetryTopic, SCHEDULE_TOPIC } from "../client/protocol/names.ts";
import { PERM_INHERIT, PERM_READ, PERM_WRITE } from "../client/protocol/sys_flag.ts";
import { Refusal } from "./answer.ts";

export interface TopicConfig {
  readonly topic: string;
  readonly readQueueNums: number;
  readonly writeQueueNums: number;
  readonly perm: number;
}

/** Queues of the topic that new ones are created from (`defaultTopicQueueNums` of a broker). */
const TEMPLATE_QUEUES = 8;
const DELAY_LEVELS = 18;
const READ_WRITE = PERM_READ | PERM_WRITE;

/** The topics of one broker. */
export class Topics {
  readonly #topics = new Map<string, TopicConfig>();

  constructor(clusterName: string, brokerName: string) {
    this.create(AUTO_CREATE_TOPIC, TEMPLATE_QUEUES, READ_WRITE | PERM_INHERIT);
    this.create(SCHEDULE_TOPIC, DELAY_LEVELS);
    this.create("SELF_TEST_TOPIC", 1);
    this.create("OFFSET_MOVED_EVENT", 1);
    this.create(clusterName, 16, READ_WRITE | PERM_INHERIT);
    this.create(brokerName, 1, READ_WRITE | PERM_INHERIT);
    this.create(`${clusterName}_REPLY_TOPIC`, 1);
  }

  get(topic: string): TopicConfig | undefined {
    return this.#topics.get(topic);
  }

  create(topic: string, queues: number, perm = READ_WRITE): TopicConfig {
    const config = { topic, readQueueNums: queues, writeQueueNums: queues, perm };
    this.#topics.set(topic, config);
    return config;
  }

  /** A retry or dead letter topic of a group. */
  ensure(topic: string, queues = 1): TopicConfig {
    return this.#topics.get(topic) ?? this.create(topic, queues);
  }

  /** As a send finds it, created from its template if it must be (`TopicConfigManager#createTopicInSendMessageMethod`). */
  toSend(topic: string, defaultTopic: string, defaultTopicQueueNums: number): TopicConfig {
    const known = this.#topics.get(topic);
    if (known) return known;
    checkName(topic);
    const template = this.#topics.get(defaultTopic);
    if (template && (template.perm & PERM_INHERIT) !== 0 && defaultTopicQueueNums > 0) {
      const queues = Math.min(defaultTopicQueueNums, template.writeQueueNums);
      return this.create(topic, queues, template.perm & ~PERM_INHERIT);
    }
    if (isRetryTopic(topic)) return this.create(topic, 1);
    throw new Refusal(ResponseCode.TOPIC_NOT_EXIST, `topic[${topic}] not exist, apply first please!`);
  }
}

function checkName(topic: string): void {
  // Retry and dead letter topics carry a group's name of up to 255 characters.
  if (topic.startsWith("%")) return;
  try {
    checkTopic(topic);
  } catch (error) {
    throw new Refusal(ResponseCode.INVALID_PARAMETER, (error as Error).message);
  }
}
