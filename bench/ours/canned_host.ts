// A machine in memory: its only peer answers sends from a prepared frame. So a producer can be measured without sockets.
import process from "node:process";
import type { Endpoint, Host, Inbox, Socket } from "../../client/host.ts";
import { frameOf, sendAnswerBinary } from "../inputs/responses.ts";
import { sendInput } from "../inputs/send.ts";
import { coreModule } from "./core_module.ts";
import { decodeCommand, encodeCommand } from "../../client/protocol/command.ts";

/** Where an opaque is in a frame with a ROCKETMQ header. */
export const OPAQUE_AT = 13;
const CODE_AT = 8;
const SEND_MESSAGE_V2 = 310;
const GET_ROUTEINFO_BY_TOPIC = 105;

/** Answers every frame of a run of bytes into `answers`; returns how many bytes that are. Headers are ROCKETMQ's. */
export class CannedPeer {
  readonly answers = new Uint8Array(1 << 18);
  readonly #view = new DataView(this.answers.buffer);
  readonly #sendAnswer = frameOf(sendAnswerBinary(0));

  answer(parts: readonly Uint8Array[]): number {
    let length = 0;
    for (const part of parts) {
      const view = new DataView(part.buffer, part.byteOffset, part.length);
      for (let at = 0; at < part.length;) {
        const size = 4 + view.getInt32(at);
        const answer = view.getInt16(at + CODE_AT) === SEND_MESSAGE_V2 && part[at + 4] === 1
          ? this.#sendAnswer
          : coldAnswer(part.slice(at, at + size));
        this.answers.set(answer, length);
        if (answer === this.#sendAnswer) this.#view.setInt32(length + OPAQUE_AT, view.getInt32(at + OPAQUE_AT));
        length += answer.length;
        at += size;
      }
    }
    return length;
  }
}

/** A host whose sockets end at a canned peer. */
export const cannedHost: Host = {
  core: coreModule,
  clock: {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    setTimer(delay, task) {
      const timer = setTimeout(task, delay);
      return { cancel: () => clearTimeout(timer) };
    },
  },
  separateBodyAbove: 32_768,
  defer: (task) => process.nextTick(task),
  connect: (endpoint, inbox) => Promise.resolve(new CannedSocket(endpoint, inbox)),
  inflate: unused,
  deflate: unused,
  hmacSha1: unused,
};

class CannedSocket implements Socket {
  readonly localAddress = "127.0.0.1";
  readonly #inbox: Inbox;
  readonly #peer = new CannedPeer();

  constructor(_: Endpoint, inbox: Inbox) {
    this.#inbox = inbox;
  }

  write(parts: readonly Uint8Array[], done: (error?: Error) => void): void {
    const length = this.#peer.answer(parts);
    process.nextTick(() => {
      for (let at = 0; at < length;) {
        const room = this.#inbox.room(), count = Math.min(room.length, length - at);
        room.set(this.#peer.answers.subarray(at, at + count));
        this.#inbox.received(count);
        at += count;
      }
      // Last: the next write begins here, and the peer has one place for its answers.
      done();
    });
  }

  close(): void {
    this.#inbox.closed();
  }
}

function unused(): never {
  throw new Error("Nothing here is compressed or signed");
}

const encoder = new TextEncoder();

const ROUTE = encoder.encode(JSON.stringify({
  brokerDatas: [{ brokerAddrs: { "0": "127.0.0.1:10911" }, brokerName: sendInput.brokerName, cluster: "C" }],
  queueDatas: [{
    brokerName: sendInput.brokerName,
    perm: 6,
    readQueueNums: sendInput.queues,
    topicSysFlag: 0,
    writeQueueNums: sendInput.queues,
  }],
  filterServerTable: {},
}));

/** Routes, and success for everything else. */
function coldAnswer(frame: Uint8Array): Uint8Array {
  const { code, opaque, serializeType } = decodeCommand(frame);
  return encodeCommand({
    code: 0,
    flag: 1,
    opaque,
    language: "JAVA",
    version: 513,
    serializeType,
    remark: "",
    extFields: {},
    body: code === GET_ROUTEINFO_BY_TOPIC ? ROUTE : new Uint8Array(0),
  });
}
