import type { ClusterOptions, EmbeddedCluster } from "../../broker/mod.ts";
import { startClusterWith } from "../../broker/mod.ts";
import { RequestCode } from "../../client/protocol/codes.ts";
import type { RemotingCommand } from "../../client/protocol/command.ts";
import { heartbeatRequest } from "../../client/protocol/heartbeat.ts";
import { encodeProperties } from "../../client/protocol/properties.ts";
import { decodeRecord, type StoredRecord } from "../../client/protocol/record.ts";
import { decodeRoute } from "../../client/protocol/route.ts";
import { buildSubscription } from "../../client/protocol/subscription.ts";
import { formatAddress, parseAddress } from "../../client/remoting/address.ts";
import { utf8 } from "../support/frames.ts";
import { Simulation } from "../support/sim.ts";
import { type Choice, type Fields, RawClient } from "./raw_client.ts";

export const TOPIC = "Orders";
export const GROUP = "billing";

/** A cluster on the simulated host, and connections to it. */
export interface Rig {
  readonly sim: Simulation;
  readonly cluster: EmbeddedCluster;
  readonly names: RawClient;
  /** The first broker, by its own port and by the VIP port. */
  readonly broker: RawClient;
  readonly vip: RawClient;
  readonly brokerAddr: string;
  connect(addr?: string): Promise<RawClient>;
  /** Asks the broker and lets time pass until it answers. */
  ask(code: number, extFields?: Fields, body?: Uint8Array, choice?: Choice): Promise<RemotingCommand>;
}

/** Runs a test in a cluster of its own; one topic with one queue is there unless told otherwise. */
export function inCluster(test: (rig: Rig) => Promise<void>, options: ClusterOptions = {}): () => Promise<void> {
  return async () => {
    using sim = new Simulation(1);
    const cluster = await sim.run(
      startClusterWith(sim.host(), sim.listener, {
        listenHost: "10.0.0.1",
        topics: { [TOPIC]: { queues: 1 } },
        ...options,
      }),
    );
    const host = sim.host();
    const connect = (addr: string) => sim.run(RawClient.connect(host, addr));
    const names = await connect(cluster.namesrvAddr);
    const brokerAddr = await masterOf(sim, names, "TBW102");
    const { host: ip, port } = parseAddress(brokerAddr);
    const broker = await connect(brokerAddr);
    await test({
      sim,
      cluster,
      names,
      broker,
      vip: await connect(formatAddress(ip, port - 2)),
      brokerAddr,
      connect: (addr = brokerAddr) => connect(addr),
      ask: (...request) => sim.run(broker.request(...request)),
    });
    await sim.run(cluster.close());
  };
}

async function masterOf(sim: Simulation, names: RawClient, topic: string): Promise<string> {
  const answer = await sim.run(names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, { topic }));
  return decodeRoute(answer.body).brokerDatas[0]!.brokerAddrs.get(0)!;
}

export interface Sent {
  topic?: string;
  queueId?: number;
  sysFlag?: number;
  flag?: number;
  bornTimestamp?: number;
  reconsumeTimes?: number;
  maxReconsumeTimes?: number;
  defaultTopic?: string;
  properties?: Record<string, string>;
}

/** The fields of SEND_MESSAGE_V2. */
export function sendFields(sent: Sent = {}): Record<string, string> {
  const { topic = TOPIC, queueId = 0, properties = { UNIQ_KEY: "0A00000100010000000100000001000A" } } = sent;
  return {
    a: "producers",
    b: topic,
    c: sent.defaultTopic ?? "TBW102",
    d: "4",
    e: String(queueId),
    f: String(sent.sysFlag ?? 0),
    g: String(sent.bornTimestamp ?? 1_700_000_000_000),
    h: String(sent.flag ?? 0),
    i: encodeProperties(properties),
    j: String(sent.reconsumeTimes ?? 0),
    k: "false",
    m: "false",
    ...(sent.maxReconsumeTimes === undefined ? {} : { l: String(sent.maxReconsumeTimes) }),
  };
}

export const send = ({ ask }: Pick<Rig, "ask">, sent?: Sent, body = "hello"): Promise<RemotingCommand> =>
  ask(RequestCode.SEND_MESSAGE_V2, sendFields(sent), utf8(body));

/** Bits 2 and 4: may be held, carries its subscription. */
export const SUSPEND = 2, SUBSCRIPTION = 4, COMMIT = 1;

export const pullFields = (fields: Record<string, string | number> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      consumerGroup: GROUP,
      topic: TOPIC,
      queueId: 0,
      queueOffset: 0,
      maxMsgNums: 32,
      sysFlag: SUBSCRIPTION,
      commitOffset: 0,
      suspendTimeoutMillis: 15_000,
      subscription: "*",
      subVersion: 0,
      ...fields,
    }).map(([name, value]) => [name, String(value)]),
  );

export const pull = ({ ask }: Pick<Rig, "ask">, fields?: Record<string, string | number>): Promise<RemotingCommand> =>
  ask(RequestCode.PULL_MESSAGE, pullFields(fields));

/** State and numbers of a pull's answer, as one line. */
export const stateOf = (
  { code, remark, extFields: { nextBeginOffset, minOffset, maxOffset } }: RemotingCommand,
): string => `${code} ${remark} next ${nextBeginOffset} min ${minOffset} max ${maxOffset}`;

export function recordsOf({ body }: RemotingCommand): (StoredRecord & { readonly totalSize: number })[] {
  const records: ReturnType<typeof recordsOf> = [];
  for (let at = 0; at < body.length; at += records.at(-1)!.totalSize) records.push(decodeRecord(body, at));
  return records;
}

export interface Member {
  clientID?: string;
  group?: string;
  messageModel?: string;
  subscriptions?: Readonly<Record<string, string>>;
  subVersion?: number;
  heartbeatFingerprint?: number;
  withoutSub?: boolean;
}

/** A consumer's heartbeat. */
export function heartbeat(member: Member = {}): Uint8Array {
  const { subVersion = 1, subscriptions = { [TOPIC]: "*" } } = member;
  return heartbeatRequest({
    clientID: member.clientID ?? "10.0.0.2@1",
    producerDataSet: [],
    consumerDataSet: [{
      groupName: member.group ?? GROUP,
      consumeType: "CONSUME_PASSIVELY",
      messageModel: member.messageModel ?? "CLUSTERING",
      consumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
      subscriptionDataSet: member.withoutSub
        ? []
        : Object.entries(subscriptions).map(([topic, expression]) => buildSubscription(topic, expression, subVersion)),
      unitMode: false,
    }],
    heartbeatFingerprint: member.heartbeatFingerprint ?? 0,
    withoutSub: member.withoutSub ?? false,
  }).body!;
}
