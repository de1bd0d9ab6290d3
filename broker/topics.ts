import { ResponseCode } from "../client/protocol/codes.ts";
import { AUTO_CREATE_TOPIC, isRetryTopic, replyTopic, SCHEDULE_TOPIC } from "../client/protocol/names.ts";
import { PERM_INHERIT, PERM_READ, PERM_WRITE } from "../client/protocol/sys_flag.ts";
import { Refusal } from "./answer.ts";
import { topicProblem } from "./name_check.ts";

export interface TopicConfig {
  readonly topic: string;
  readonly readQueueNums: number;
  readonly writeQueueNums: number;
  readonly perm: number;
}

/** Queues of the topic that new ones are created from (`defaultTopicQueueNums` of a broker). */
const TEMPLATE_QUEUES = 8;
/** Levels of RocketMQ's own delays; more than that have queues too. */
const DELAY_LEVELS = 18;
const READ_WRITE = PERM_READ | PERM_WRITE;
const TEMPLATE = READ_WRITE | PERM_INHERIT;

/** The topics of one broker. */
export class Topics {
  readonly #topics = new Map<string, TopicConfig>();

  constructor(clusterName: string, brokerName: string, delayLevels: number) {
    this.create(AUTO_CREATE_TOPIC, TEMPLATE_QUEUES, TEMPLATE);
    this.create(clusterName, 16, TEMPLATE);
    this.create(brokerName, 1, TEMPLATE);
    this.create(SCHEDULE_TOPIC, Math.max(DELAY_LEVELS, delayLevels));
    this.create(replyTopic(clusterName), 1);
    this.create("BenchmarkTest", 1_024);
    this.create("SELF_TEST_TOPIC", 1);
    this.create("OFFSET_MOVED_EVENT", 1);
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
    const problem = topicProblem(topic);
    if (problem) throw new Refusal(ResponseCode.INVALID_PARAMETER, problem);
    const template = this.#topics.get(defaultTopic);
    if (template && (template.perm & PERM_INHERIT) !== 0 && defaultTopicQueueNums > 0) {
      const queues = Math.min(defaultTopicQueueNums, template.writeQueueNums);
      return this.create(topic, queues, template.perm & ~PERM_INHERIT);
    }
    if (isRetryTopic(topic)) return this.create(topic, 1);
    throw new Refusal(ResponseCode.TOPIC_NOT_EXIST, `topic[${topic}] not exist, apply first please!`);
  }
}
