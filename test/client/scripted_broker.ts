import { bytes } from "../../client/body_codec.ts";
import type { ProducerOptions } from "../../client/options.ts";
import type { Producer } from "../../client/producer/producer.ts";
import { RequestCode, ResponseCode } from "../../client/protocol/codes.ts";
import type { RemotingCommand } from "../../client/protocol/command.ts";
import { encodeRoute, type TopicRouteData } from "../../client/protocol/route.ts";
import { decodeSendRequest, encodeSendAnswer } from "../../client/protocol/send.ts";
import { createProducerOn } from "../../client/shared_client.ts";
import { Peer, type PeerConnection } from "../support/peer.ts";
import { Simulation } from "../support/sim.ts";

export interface BrokerScript {
  readonly queues?: number;
  readonly writeQueues?: number;
  readonly perm?: number;
  /** Answers a send, or does not; the default stores it. */
  readonly onSend?: (request: RemotingCommand, connection: PeerConnection) => void;
  /** Whatever else comes; true when it has been answered. */
  readonly onOther?: (request: RemotingCommand, connection: PeerConnection) => boolean;
  /** In the route, but nobody is there. */
  readonly down?: boolean;
}

/** A name server and brokers that do what a test says. Every topic is at all of them. */
export interface Scripted {
  readonly namesrvAddr: string;
  readonly nameServer: Peer;
  /** Sends in the order in which they came, with the name of the broker. */
  readonly sends: { readonly broker: string; readonly request: RemotingCommand; readonly at: number }[];
  /** What name servers answer; may be changed. */
  route: TopicRouteData | undefined;
  close(): Promise<void>;
}

/** Answers as if the message were stored. */
export const stored = (request: RemotingCommand, connection: PeerConnection, code = 0): void =>
  connection.answer(request, {
    code,
    extFields: encodeSendAnswer({
      msgId: "0A000001000078BF0000000000000007",
      queueId: decodeSendRequest(request.extFields, request.code).queueId,
      queueOffset: 7n,
    }),
  });

export async function scripted(sim: Simulation, brokers: Record<string, BrokerScript>): Promise<Scripted> {
  const sends: Scripted["sends"] = [];
  const peers: Peer[] = [];
  const addrs = new Map<string, string>();
  let ip = 0;
  for (const [broker, { onSend = stored, onOther, down }] of Object.entries(brokers)) {
    const host = `10.8.0.${++ip}`;
    if (down) {
      addrs.set(broker, `${host}:1`);
      continue;
    }
    const peer = await sim.run(Peer.listen(
      sim.listener,
      (request, connection) => {
        if (request.code === RequestCode.SEND_MESSAGE_V2 || request.code === RequestCode.SEND_MESSAGE) {
          sends.push({ broker, request, at: sim.now });
          onSend(request, connection);
        } else if (!onOther?.(request, connection)) {
          connection.answer(request);
        }
      },
      host,
    ));
    peers.push(peer);
    addrs.set(broker, peer.addr);
  }
  const nameServer = await sim.run(Peer.listen(
    sim.listener,
    (request, connection) => {
      const { route } = world;
      if (route) connection.answer(request, { body: encodeRoute(route, false) });
      else connection.answer(request, { code: ResponseCode.TOPIC_NOT_EXIST, remark: "No topic route info" });
    },
    "10.8.1.1",
  ));
  const world: Scripted = {
    namesrvAddr: nameServer.addr,
    nameServer,
    sends,
    route: {
      brokerDatas: [...addrs].map(([brokerName, addr]) => ({
        brokerName,
        cluster: "c",
        brokerAddrs: new Map([[0, addr]]),
      })),
      queueDatas: Object.entries(brokers).map(([brokerName, { queues = 4, writeQueues = queues, perm = 6 }]) => ({
        brokerName,
        readQueueNums: queues,
        writeQueueNums: writeQueues,
        perm,
        topicSysFlag: 0,
      })),
    },
    close: async () => {
      await Promise.all([nameServer, ...peers].map((peer) => peer.close()));
    },
  };
  return world;
}

/** One producer's world with brokers that do what the test says. */
export interface ProducerBench extends Scripted {
  readonly sim: Simulation;
  /** Shut down at the end. */
  producer(options?: Partial<ProducerOptions<Uint8Array>>): Producer;
}

/** Runs a test in a world of its own. */
export function withBrokers(
  brokers: Record<string, BrokerScript>,
  run: (bench: ProducerBench) => Promise<void>,
): () => Promise<void> {
  return async () => {
    using sim = new Simulation(3);
    const world = await scripted(sim, brokers);
    const made: Producer[] = [];
    const bench: ProducerBench = Object.assign(world, {
      sim,
      producer(options: Partial<ProducerOptions<Uint8Array>> = {}) {
        const { namesrvAddr } = world;
        const producer = createProducerOn<Uint8Array>(sim.host(), {
          namesrvAddr,
          coreMemory: 8,
          codec: bytes,
          ...options,
        });
        made.push(producer);
        return producer;
      },
    });
    await run(bench);
    await sim.run(Promise.all(made.map((producer) => producer.shutdown())));
    await sim.run(world.close());
  };
}
