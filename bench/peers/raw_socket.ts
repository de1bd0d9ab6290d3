// `raw socket`, the floor: prepared frames over one connection, of the answers no more is read than is needed to go on.
// raw_socket.ts send|push name=value…, one line of JSON. With batch=N a send carries N messages.
import { Buffer } from "node:buffer";
import net from "node:net";
import process from "node:process";
import { Counter, type Mark, mark, measurementOf, print } from "../e2e/meter.ts";
import { bodyOf, limitTime } from "../e2e/paced.ts";
import { ownSettings, type Settings } from "../e2e/settings.ts";
import { endpointOf, FIRST_OPAQUE, type Frame, frameOf, requireRoute, writeOpaque } from "./raw_wire.ts";

const CLIENT = "raw socket";
const SEND_MESSAGE_V2 = 310, SEND_BATCH_MESSAGE = 320, PULL_MESSAGE = 11;
/** Sends of one turn are gathered into one write of at most this. */
const WRITE_BYTES = 1 << 20;
const OPAQUE = Buffer.from('"opaque":'), NEXT_BEGIN_OFFSET = Buffer.from('"nextBeginOffset":"');
/** Where the only digit of the code of a success stands: `{"code":0,` */
const CODE_AT = 8 + 8, COMMA = 44, ZERO = 48;
const PULL_NOT_FOUND = 19;
/** Of every message: as the clients write them, but with one unique id for all. */
const PROPERTIES = "UNIQ_KEY\u00017F000001183C2A139A5500000000000A\u0002WAIT\u0001true\u0002TAGS\u0001TagA\u0002";

const settings = ownSettings();
const inTime = limitTime(settings.number("timeout"), () => {
  console.error(`"${settings.kind}" took more than ${settings.number("timeout")} s`);
  process.exit(3);
});
if (settings.kind === "send") await send(settings);
else if (settings.kind === "push") await pull(settings);
else throw new Error(`There is no case "${settings.kind}"`);
inTime();

async function send(given: Settings): Promise<void> {
  const route = await requireRoute(given.text("nameServer"), given.text("topic"));
  const window = given.number("window"), batch = given.number("batch", 1);
  const warmUp = Math.ceil(given.number("warmUp") / batch),
    total = warmUp + Math.ceil(given.number("messages") / batch);
  const { code, body, properties } = batch === 1 ? single(given) : batchOf(given, batch);
  const frames = Array.from({ length: route.queues }, (_, queueId) =>
    frameOf(code, {
      a: "bench_p",
      b: given.text("topic"),
      c: "TBW102",
      d: "4",
      e: String(queueId),
      f: "0",
      g: String(Date.now()),
      h: "0",
      i: properties,
      j: "0",
      k: "false",
      m: String(batch > 1),
      n: route.brokerName,
    }, body));
  const frameBytes = frames[0]!.bytes.length, atOnce = Math.max(1, Math.floor(WRITE_BYTES / frameBytes));
  const sentAt = new Float64Array(window), latencies = new Float64Array(total - warmUp);
  const free = Array.from({ length: window }, (_, slot) => slot);
  let sent = 0, answered = 0, measured = 0, errors = 0, from: Mark | undefined = warmUp === 0 ? mark() : undefined;
  const socket = net.connect({ ...endpointOf(route.address), noDelay: true });

  const pump = (): void => {
    const limit = answered < warmUp ? warmUp : total;
    const count = Math.min(free.length, limit - sent, atOnce);
    if (count <= 0) return;
    const out = Buffer.allocUnsafe(count * frameBytes), now = performance.now();
    for (let at = 0; at < out.length; at += frameBytes) {
      const { bytes, opaqueAt } = frames[sent++ % frames.length]!, slot = free.pop()!;
      bytes.copy(out, at);
      writeOpaque(out, at + opaqueAt, FIRST_OPAQUE + slot);
      sentAt[slot] = now;
    }
    socket.write(out);
    if (count === atOnce && free.length > 0) setImmediate(pump);
  };

  await eachAnswer(socket, (bytes, at, _headerEnd, now) => {
    if (bytes[at + CODE_AT] !== ZERO && errors++ < 3) console.error(bytes.toString("latin1", at + 8, at + 400));
    const slot = numberAfter(bytes, OPAQUE, at + CODE_AT) - FIRST_OPAQUE;
    free.push(slot);
    answered++;
    if (from !== undefined) latencies[measured++] = now - sentAt[slot]!;
    else if (answered === warmUp) from = mark();
    if (answered < total) return true;
    print(measurementOf(CLIENT, (total - warmUp) * batch, [from!, mark()], latencies, errors));
    return false;
  }, pump);
}

interface Sending {
  readonly code: number;
  readonly body: Uint8Array;
  readonly properties: string;
}

function single(given: Settings): Sending {
  return { code: SEND_MESSAGE_V2, body: bodyOf(given.number("bodyBytes")), properties: PROPERTIES };
}

/** A batch's message: size, magic, CRC, flag, body length, body, properties length, properties. */
function batchOf(given: Settings, batch: number): Sending {
  const body = bodyOf(given.number("bodyBytes")), properties = Buffer.from(PROPERTIES);
  const one = Buffer.alloc(22 + body.length + properties.length);
  one.writeInt32BE(one.length, 0);
  one.writeInt32BE(body.length, 16);
  one.set(body, 20);
  one.writeInt16BE(properties.length, 20 + body.length);
  one.set(properties, 22 + body.length);
  return {
    code: SEND_BATCH_MESSAGE,
    body: Buffer.concat(new Array<Buffer>(batch).fill(one)),
    properties: "WAIT\u0001true\u0002",
  };
}

/** One pull in flight for each queue; bodies are dropped unread. */
async function pull(given: Settings): Promise<void> {
  const topic = given.text("topic"), route = await requireRoute(given.text("nameServer"), topic);
  const offsets = new Array<number>(route.queues).fill(0);
  const counter = new Counter(given.number("warmUp"), given.number("messages"));
  const socket = net.connect({ ...endpointOf(route.address), noDelay: true });
  let out: Buffer[] = [], isDone = false;
  const request = (queueId: number): Buffer => {
    const { bytes, opaqueAt }: Frame = frameOf(PULL_MESSAGE, {
      consumerGroup: given.text("group"),
      topic,
      queueId: String(queueId),
      queueOffset: String(offsets[queueId]),
      maxMsgNums: String(given.number("pullBatchSize", 32)),
      sysFlag: "4",
      commitOffset: "0",
      suspendTimeoutMillis: "15000",
      subscription: "*",
      subVersion: "0",
      expressionType: "TAG",
      maxMsgBytes: "2147483647",
      bname: route.brokerName,
    });
    writeOpaque(bytes, opaqueAt, FIRST_OPAQUE + queueId);
    return bytes;
  };
  counter.done.then((marks) => {
    print(measurementOf(CLIENT, counter.counted, marks));
    isDone = true;
    socket.destroy();
  });
  const ended = eachAnswer(socket, (bytes, at, headerEnd) => {
    const code = codeOf(bytes, at);
    if (code !== 0) {
      if (code !== PULL_NOT_FOUND) throw new Error(bytes.toString("latin1", at + 8, headerEnd));
      throw new Error(`The backlog is over after ${counter.count} messages`);
    }
    const queueId = numberAfter(bytes, OPAQUE, at + CODE_AT) - FIRST_OPAQUE;
    const next = numberAfter(bytes, NEXT_BEGIN_OFFSET, at + 8);
    counter.add(next - offsets[queueId]!);
    offsets[queueId] = next;
    out.push(request(queueId));
    return !isDone;
  }, () => {
    if (out.length > 0) socket.write(out.length === 1 ? out[0]! : Buffer.concat(out));
    out = [];
  }, () => {
    out = offsets.map((_, queueId) => request(queueId));
  });
  await Promise.race([ended, counter.done]);
}

function codeOf(bytes: Buffer, at: number): number {
  const isOneDigit = bytes[at + CODE_AT + 1] === COMMA;
  return isOneDigit
    ? bytes[at + CODE_AT]! - ZERO
    : parseInt(bytes.toString("latin1", at + CODE_AT, at + CODE_AT + 5), 10);
}

/** The digits behind a name. */
function numberAfter(bytes: Buffer, name: Buffer, from: number): number {
  let value = 0;
  for (let at = bytes.indexOf(name, from) + name.length, byte; (byte = bytes[at]!) >= ZERO && byte <= 57; at++) {
    value = value * 10 + byte - ZERO;
  }
  return value;
}

/**
 * Calls `take` with where each answer begins and where its header ends, as soon as the header is there; what follows is
 * skipped. `turn` comes behind every run of bytes, and once at the start, behind `first`. Ends when `take` says false.
 */
function eachAnswer(
  socket: net.Socket,
  take: (bytes: Buffer, at: number, headerEnd: number, now: number) => boolean,
  turn: () => void,
  first: () => void = () => {},
): Promise<void> {
  let held: Buffer | undefined, skip = 0;
  return new Promise((resolve, reject) => {
    socket.on("error", reject).on("connect", () => {
      first();
      turn();
    });
    socket.on("close", () => reject(new Error("The broker closed the connection")));
    socket.on("data", (chunk) => {
      const bytes = held ? Buffer.concat([held, chunk]) : chunk, now = performance.now();
      held = undefined;
      let at = Math.min(skip, bytes.length);
      skip -= at;
      while (bytes.length - at >= 8) {
        const end = at + 4 + bytes.readInt32BE(at), headerEnd = at + 8 + (bytes.readInt32BE(at + 4) & 0xffffff);
        if (headerEnd > bytes.length) break;
        try {
          if (!take(bytes, at, headerEnd, now)) {
            resolve();
            socket.destroy();
            return;
          }
        } catch (error) {
          reject(error);
          socket.destroy();
          return;
        }
        at = Math.min(end, bytes.length);
        skip = end - at;
      }
      if (at < bytes.length) held = Buffer.from(bytes.subarray(at));
      turn();
    });
  });
}
