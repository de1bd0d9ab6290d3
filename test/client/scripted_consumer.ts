import { text } from "../../client/body_codec.ts";
import type { PushConsumer } from "../../client/consumer/push_consumer.ts";
import type { RocketMQError } from "../../client/errors.ts";
import type { PushConsumerOptions } from "../../client/options.ts";
import { RequestCode, ResponseCode } from "../../client/protocol/codes.ts";
import { encodeConsumerList } from "../../client/protocol/consumer_list.ts";
import { decodeHeartbeat } from "../../client/protocol/heartbeat.ts";
import { isRetryTopic } from "../../client/protocol/names.ts";
import { decodeUpdateOffset, encodeOffset } from "../../client/protocol/offsets.ts";
import { decodePullRequest, encodePullAnswer, type PullFields, type PullTarget } from "../../client/protocol/pull.ts";
import { encodeRecord, type NewRecord } from "../../client/protocol/record.ts";
import { decodeSendRequest } from "../../client/protocol/send.ts";
import { decodeSendBack } from "../../client/protocol/send_back.ts";
import { createPushConsumerOn } from "../../client/shared_client.ts";
import { rethrowAssertions } from "../support/assertions.ts";
import type { Answer } from "../support/peer.ts";
import { Simulation } from "../support/sim.ts";
import { scripted, stored } from "./scripted_broker.ts";
import { GROUP, TOPIC } from "./world.ts";

export type Pull = PullTarget & PullFields;

export interface Script {
  /** Answers the pulls of the topic, counted from 0; undefined: the pull is held for ever. */
  pull?(pull: Pull, count: number): Answer | undefined;
  /** Answer to code 14; the default: 22, nothing committed. */
  committed?: number | bigint;
  /** The code of answers to code 36; the default: 0. */
  sendBack?: number;
  /** Answers to codes 30 and 29. */
  maxOffset?: number | bigint;
  searched?: number | bigint;
}

export interface ScriptedConsumer {
  readonly sim: Simulation;
  readonly errors: RocketMQError[];
  /** Of the topic. */
  readonly pulls: Pull[];
  /** Of the retry topic. */
  readonly retryPulls: Pull[];
  /** Committed offsets of the topic in the order in which they came. */
  readonly commits: number[];
  /** What was sent back, and the topics of what was sent. */
  readonly backs: { readonly offset: bigint; readonly group: string }[];
  readonly sent: string[];
  readonly heartbeats: { readonly at: number; readonly json: string }[];
  consumer(options?: Partial<PushConsumerOptions<string>>): PushConsumer<string>;
}

/** Numbers of a pull's answer. */
export const pulled = (nextBeginOffset: number, code = 0, body: Uint8Array = new Uint8Array(0)): Answer => ({
  code,
  body,
  extFields: encodePullAnswer({ nextBeginOffset, minOffset: 0, maxOffset: 1_000_000, suggestWhichBrokerId: 0 }),
});

/** A message of the topic as the broker stores it. */
export function record(offset: number, body: string, more: Partial<NewRecord> = {}): Uint8Array {
  return encodeRecord({
    topic: TOPIC,
    queueId: 0,
    flag: 0,
    queueOffset: BigInt(offset),
    physicalOffset: BigInt(offset * 1_000),
    sysFlag: 0,
    bornTimestamp: 1_700_000_000_000,
    bornHost: "10.0.0.9:40000",
    storeTimestamp: 1_700_000_000_001,
    storeHost: "10.8.0.1:10911",
    reconsumeTimes: 0,
    preparedTransactionOffset: 0n,
    body: new TextEncoder().encode(body),
    properties: "",
    ...more,
  });
}

/** One consumer and one broker with one queue that does what the script says. */
export function withScript(script: Script, run: (world: ScriptedConsumer) => Promise<void>): () => Promise<void> {
  return async () => {
    using sim = new Simulation(5);
    let clientIDs: string[] = [];
    const errors: RocketMQError[] = [], pulls: Pull[] = [], retryPulls: Pull[] = [], commits: number[] = [];
    const heartbeats: ScriptedConsumer["heartbeats"] = [], backs: { offset: bigint; group: string }[] = [];
    const sent: string[] = [];
    const world = await scripted(sim, {
      a: {
        queues: 1,
        onSend(request, connection) {
          sent.push(decodeSendRequest(request.extFields, request.code).topic);
          stored(request, connection);
        },
        onOther(request, connection) {
          const { code, extFields, body } = request;
          if (code === RequestCode.HEART_BEAT) {
            clientIDs = [decodeHeartbeat(body).clientID];
            heartbeats.push({ at: sim.now, json: new TextDecoder().decode(body) });
            return false;
          }
          if (code === RequestCode.GET_CONSUMER_LIST_BY_GROUP) {
            connection.answer(request, { body: encodeConsumerList(clientIDs) });
          } else if (code === RequestCode.QUERY_CONSUMER_OFFSET) {
            const isKnown = script.committed !== undefined && !isRetryTopic(extFields["topic"]!);
            if (isKnown) connection.answer(request, { extFields: encodeOffset(script.committed!) });
            else connection.answer(request, { code: ResponseCode.QUERY_NOT_FOUND });
          } else if (code === RequestCode.GET_MAX_OFFSET) {
            connection.answer(request, { extFields: encodeOffset(script.maxOffset ?? 0) });
          } else if (code === RequestCode.SEARCH_OFFSET_BY_TIMESTAMP) {
            connection.answer(request, { extFields: encodeOffset(script.searched ?? 0) });
          } else if (code === RequestCode.UPDATE_CONSUMER_OFFSET) {
            const { topic, commitOffset } = decodeUpdateOffset(extFields);
            if (topic === TOPIC) commits.push(Number(commitOffset));
            return false;
          } else if (code === RequestCode.CONSUMER_SEND_MSG_BACK) {
            const { offset, group } = decodeSendBack(extFields);
            backs.push({ offset, group });
            connection.answer(request, { code: script.sendBack ?? ResponseCode.SUCCESS });
          } else if (code === RequestCode.PULL_MESSAGE) {
            const pull = decodePullRequest(extFields);
            if (pull.topic !== TOPIC) return retryPulls.push(pull) > 0;
            const answer = script.pull?.(pull, pulls.length);
            pulls.push(pull);
            if (answer) connection.answer(request, answer);
          } else {
            return false;
          }
          return true;
        },
      },
    });
    const made: PushConsumer<string>[] = [];
    await run({
      sim,
      errors,
      pulls,
      retryPulls,
      commits,
      heartbeats,
      backs,
      sent,
      consumer(options = {}) {
        const consumer = createPushConsumerOn<string>(sim.host(), {
          namesrvAddr: world.namesrvAddr,
          consumerGroup: GROUP,
          codec: text,
          coreMemory: 8,
          subscriptions: { [TOPIC]: "*" },
          onError: (error) => void errors.push(error),
          ...options,
        });
        made.push(consumer);
        return consumer;
      },
    });
    await sim.run(Promise.all(made.map((consumer) => consumer.shutdown({ timeout: 1_000 }))));
    await sim.run(world.close());
    rethrowAssertions(errors);
  };
}
