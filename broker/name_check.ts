import { GROUP_MAX, isDlqTopic, isRetryTopic, TOPIC_MAX } from "../client/protocol/names.ts";

/** What a 5.5.0 broker has against a topic's name; undefined when it takes it (`TopicValidator#validateTopic`). */
export function topicProblem(topic: string): string | undefined {
  const problem = problemOf("topic", topic);
  if (problem) return problem;
  if (isRetryTopic(topic) || isDlqTopic(topic)) {
    return topic.length > GROUP_TOPIC_MAX
      ? `The specified topic is DLQ or Retry topic: ${topic}, and it's longer than topic max length: ${GROUP_TOPIC_MAX}`
      : undefined;
  }
  return tooLong("topic", topic, TOPIC_MAX);
}

/** The same for a group. */
export const groupProblem = (group: string): string | undefined =>
  problemOf("group", group) ?? tooLong("group", group, GROUP_MAX);

/** Topics that carry a group's name may be longer. */
const GROUP_TOPIC_MAX = 255;
const LEGAL = /^[%|a-zA-Z0-9_-]+$/;

function problemOf(kind: string, name: string): string | undefined {
  if (name.trim() === "") return `The specified ${kind} is blank.`;
  if (LEGAL.test(name)) return undefined;
  return `The specified ${kind}: ${name}, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$`;
}

const tooLong = (kind: string, name: string, max: number): string | undefined =>
  name.length > max ? `The specified ${kind}: ${name}, is longer than ${kind} max length: ${max}` : undefined;
