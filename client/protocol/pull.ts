import { FIELD_A, FIELD_B, FIELD_BROKER_ID, FIELD_C, FIELD_READ } from "../../core-as/abi.ts";
import type { Frame, Step } from "../core.ts";
import { RequestCode } from "./codes.ts";
import type { Request, SerializeType } from "./command.ts";
import {
  type ExtFields,
  optionalInt,
  optionalSafe,
  optionalText,
  requireInt,
  requireSafe,
  requireText,
} from "./fields.ts";
import { readHeader } from "./header.ts";
import { ARGUMENT, requestProgram } from "./program.ts";
import { TAG } from "./subscription.ts";
import { PULL_LITE } from "./sys_flag.ts";

/** What stays the same from pull to pull of one queue. */
export interface PullTarget {
  readonly consumerGroup: string;
  readonly topic: string;
  readonly queueId: number;
  readonly brokerName: string;
  readonly maxMsgNums: number;
  /** How long the broker may hold the request. */
  readonly suspendTimeoutMillis: number;
  /** "TAG" unless given. */
  readonly expressionType?: string | undefined;
}

/** What differs from pull to pull. Offsets are below 2^53. */
export interface PullFields {
  readonly queueOffset: number;
  /** Bits of `PullSysFlag`. */
  readonly sysFlag: number;
  /** Committed with the pull when the flag says so. */
  readonly commitOffset: number;
  /** Of the subscription the broker has from the heartbeat. */
  readonly subVersion: number;
  /** The expression, when the flag says that the pull carries one. */
  readonly subscription?: string | undefined;
}

/**
 * PULL_MESSAGE, or LITE_PULL_MESSAGE, without a subscription of its own. The value is not used; `pullArguments` makes the
 * arguments.
 */
export const pullProgram = (to: PullTarget, serializeType: SerializeType, lite = false): readonly Step[] =>
  requestProgram(lite ? RequestCode.LITE_PULL_MESSAGE : RequestCode.PULL_MESSAGE, [
    ["consumerGroup", to.consumerGroup],
    ["topic", to.topic],
    ["queueId", String(to.queueId)],
    ["queueOffset", ARGUMENT],
    ["maxMsgNums", String(to.maxMsgNums)],
    ["sysFlag", ARGUMENT],
    ["commitOffset", ARGUMENT],
    ["suspendTimeoutMillis", String(to.suspendTimeoutMillis)],
    ["subVersion", ARGUMENT],
    ["expressionType", to.expressionType ?? TAG],
    ["bname", to.brokerName],
  ], serializeType);

/** In the order of `pullProgram`. */
export const pullArguments = ({ queueOffset, sysFlag, commitOffset, subVersion }: PullFields): readonly string[] => [
  String(queueOffset),
  String(sysFlag),
  String(commitOffset),
  String(subVersion),
];

/** Any pull, field by field. Pulls of the lite pull consumer have a code of their own, which 4.x brokers do not know. */
export const pullRequest = (
  to: PullTarget,
  fields: PullFields,
  lite = (fields.sysFlag & PULL_LITE) !== 0,
): Request => ({
  code: lite ? RequestCode.LITE_PULL_MESSAGE : RequestCode.PULL_MESSAGE,
  extFields: {
    consumerGroup: to.consumerGroup,
    topic: to.topic,
    queueId: String(to.queueId),
    queueOffset: String(fields.queueOffset),
    maxMsgNums: String(to.maxMsgNums),
    sysFlag: String(fields.sysFlag),
    commitOffset: String(fields.commitOffset),
    suspendTimeoutMillis: String(to.suspendTimeoutMillis),
    ...(fields.subscription === undefined ? {} : { subscription: fields.subscription }),
    subVersion: String(fields.subVersion),
    expressionType: to.expressionType ?? TAG,
    ...(to.brokerName && { bname: to.brokerName }),
  },
});

/** The header of a pull as a broker reads it. Throws `FrameError` when a field is missing that every client sends. */
export const decodePullRequest = (fields: ExtFields): PullTarget & PullFields => ({
  consumerGroup: requireText(fields, "consumerGroup"),
  topic: requireText(fields, "topic"),
  queueId: requireInt(fields, "queueId"),
  brokerName: optionalText(fields, "bname") ?? "",
  queueOffset: requireSafe(fields, "queueOffset"),
  maxMsgNums: requireInt(fields, "maxMsgNums"),
  sysFlag: requireInt(fields, "sysFlag"),
  commitOffset: requireSafe(fields, "commitOffset"),
  suspendTimeoutMillis: requireSafe(fields, "suspendTimeoutMillis"),
  subscription: optionalText(fields, "subscription"),
  subVersion: requireSafe(fields, "subVersion"),
  expressionType: optionalText(fields, "expressionType") ?? TAG,
});

/** What comes with the messages, and with the answers 19, 20 and 21 that have none. Offsets are below 2^53. */
export interface PullAnswer {
  readonly code: number;
  readonly nextBeginOffset: number;
  readonly minOffset: number;
  readonly maxOffset: number;
  /** 0 is the master. */
  readonly suggestWhichBrokerId: number;
}

/** What a 5.x broker may say besides. */
export interface WholePullAnswer extends PullAnswer {
  /** To be added to every queue offset (static topics). */
  readonly offsetDelta: number;
  readonly topicSysFlag: number;
  readonly groupSysFlag: number;
  readonly forbiddenType: number;
}

const NUMBERS = FIELD_READ | FIELD_A | FIELD_B | FIELD_C | FIELD_BROKER_ID;

/**
 * The numbers from what the core has read; the header is only read when the core could not. Only for the codes 0, 19, 20
 * and 21: other answers have no numbers. Throws `FrameError` when one is missing, or is 2^53 or more.
 */
export function readPullAnswer(frame: Frame): PullAnswer {
  if ((frame.fields & NUMBERS) === NUMBERS) {
    return {
      code: frame.code,
      nextBeginOffset: frame.a,
      minOffset: frame.b,
      maxOffset: frame.c,
      suggestWhichBrokerId: frame.brokerId,
    };
  }
  const { code, extFields } = readHeader(frame.headerBytes(), frame.serializeType);
  return decodePullAnswer(code, extFields);
}

export const decodePullAnswer = (code: number, fields: ExtFields): WholePullAnswer => ({
  code,
  nextBeginOffset: requireSafe(fields, "nextBeginOffset"),
  minOffset: requireSafe(fields, "minOffset"),
  maxOffset: requireSafe(fields, "maxOffset"),
  suggestWhichBrokerId: requireSafe(fields, "suggestWhichBrokerId"),
  offsetDelta: optionalSafe(fields, "offsetDelta", 0),
  topicSysFlag: optionalInt(fields, "topicSysFlag", 0),
  groupSysFlag: optionalInt(fields, "groupSysFlag", 0),
  forbiddenType: optionalInt(fields, "forbiddenType", 0),
});

/** The fields of an answer as a broker writes them. */
export const encodePullAnswer = (answer: Omit<PullAnswer, "code">): ExtFields => ({
  suggestWhichBrokerId: String(answer.suggestWhichBrokerId),
  nextBeginOffset: String(answer.nextBeginOffset),
  minOffset: String(answer.minOffset),
  maxOffset: String(answer.maxOffset),
});
