// The least of the remoting protocol that sends prepared frames and sets a broker up.
import { Buffer } from "node:buffer";
import net from "node:net";

/** A prepared frame with a JSON header, whose opaque of ten digits is written over in place. */
export interface Frame {
  readonly bytes: Buffer;
  readonly opaqueAt: number;
}

/** Opaques have ten digits from here on. */
export const FIRST_OPAQUE = 1_000_000_000;

const NO_BODY = new Uint8Array(0);

export function frameOf(code: number, extFields: Readonly<Record<string, string>>, body: Uint8Array = NO_BODY): Frame {
  const header = Buffer.from(JSON.stringify({
    code,
    extFields,
    flag: 0,
    language: "JAVA",
    opaque: FIRST_OPAQUE,
    serializeTypeCurrentRPC: "JSON",
    version: 485,
  }));
  const lengths = Buffer.alloc(8);
  lengths.writeInt32BE(4 + header.length + body.length, 0);
  lengths.writeInt32BE(header.length, 4);
  return { bytes: Buffer.concat([lengths, header, body]), opaqueAt: 8 + header.indexOf('"opaque":') + 9 };
}

export function writeOpaque(bytes: Buffer, at: number, opaque: number): void {
  for (let digit = 9, rest = opaque; digit >= 0; digit--, rest = Math.floor(rest / 10)) {
    bytes[at + digit] = 48 + rest % 10;
  }
}

export interface Answer {
  readonly code: number;
  readonly remark: string | undefined;
  readonly body: Buffer;
}

/** One request on a connection of its own. */
export function ask(address: string, { bytes }: Frame): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(endpointOf(address));
    let received = Buffer.alloc(0);
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`${address} closed the connection without an answer`)));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return;
      const headerEnd = 8 + (received.readInt32BE(4) & 0xffffff);
      const { code, remark } = JSON.parse(received.toString("utf8", 8, headerEnd)) as Omit<Answer, "body">;
      resolve({ code, remark, body: received.subarray(headerEnd, 4 + received.readInt32BE(0)) });
      socket.destroy();
    });
    socket.write(bytes);
  });
}

export function endpointOf(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

export interface Route {
  readonly address: string;
  readonly brokerName: string;
  readonly queues: number;
}

const GET_ROUTEINFO_BY_TOPIC = 105, UPDATE_AND_CREATE_TOPIC = 17;

/** Undefined while the name server does not know the topic. */
export async function routeOf(nameServer: string, topic: string): Promise<Route | undefined> {
  const { code, body } = await ask(nameServer, frameOf(GET_ROUTEINFO_BY_TOPIC, { topic }));
  if (code !== 0) return undefined;
  // fastjson writes numbers as keys.
  const route = JSON.parse(body.toString().replace(/([{,])(\d+):/g, '$1"$2":')) as {
    readonly brokerDatas: readonly { readonly brokerName: string; readonly brokerAddrs: Record<string, string> }[];
    readonly queueDatas: readonly { readonly readQueueNums: number }[];
  };
  const broker = route.brokerDatas[0], queues = route.queueDatas[0]?.readQueueNums;
  const address = broker?.brokerAddrs["0"];
  if (!broker || address === undefined || queues === undefined) return undefined;
  return { address, brokerName: broker.brokerName, queues };
}

/** The same, and an error when there is none. */
export async function requireRoute(nameServer: string, topic: string): Promise<Route> {
  const route = await routeOf(nameServer, topic);
  if (!route) throw new Error(`${nameServer} knows no route for topic "${topic}"`);
  return route;
}

const REGISTERED_WITHIN_MS = 20_000, ASK_AGAIN_MS = 100;

/** Creates a topic at a broker and waits until the name server knows it. */
export async function createTopic(nameServer: string, broker: string, topic: string, queues: number): Promise<void> {
  const { code, remark } = await ask(
    broker,
    frameOf(UPDATE_AND_CREATE_TOPIC, {
      topic,
      defaultTopic: "TBW102",
      readQueueNums: String(queues),
      writeQueueNums: String(queues),
      perm: "6",
      topicFilterType: "SINGLE_TAG",
      topicSysFlag: "0",
      order: "false",
    }),
  );
  if (code !== 0) throw new Error(`The broker did not create topic "${topic}": ${code} ${remark}`);
  for (const end = performance.now() + REGISTERED_WITHIN_MS; performance.now() < end;) {
    if (await routeOf(nameServer, topic)) return;
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
  throw new Error(`The broker did not register topic "${topic}" with the name server`);
}
