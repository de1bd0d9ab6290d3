// The canned server where there is no C compiler: the same answers, from raw sockets. canned_server.c says what they are.
import { Buffer } from "node:buffer";
import net from "node:net";
import process from "node:process";
import { frameOf, sendAnswerBinary, sendAnswerJson } from "../inputs/responses.ts";

const SEND_MESSAGE_V2 = 310, GET_ROUTEINFO_BY_TOPIC = 105;
const ONEWAY = 2;
const OPAQUE = Buffer.from('"opaque":'), CODE = Buffer.from('"code":'), FLAG = Buffer.from('"flag":');
const SPACE = 32, ZERO = 48;
/** Where a frame with a ROCKETMQ header has its opaque. */
const BINARY_OPAQUE_AT = 13;

export interface CannedServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens on a free port of the loopback address. */
export async function startCannedServer(): Promise<CannedServer> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    serve(socket, () => route);
    socket.on("close", () => sockets.delete(socket));
    // A client that ends without a farewell is none of our business.
    socket.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port");
  const route = Buffer.from(JSON.stringify({
    brokerDatas: [{
      brokerAddrs: { "0": `127.0.0.1:${address.port}` },
      brokerName: "broker-a",
      cluster: "DefaultCluster",
    }],
    filterServerTable: {},
    queueDatas: [{ brokerName: "broker-a", perm: 6, readQueueNums: 8, topicSysFlag: 0, writeQueueNums: 8 }],
  }));
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function serve(socket: net.Socket, route: () => Buffer): void {
  let held: Buffer | undefined;
  socket.on("data", (chunk) => {
    const bytes = held ? Buffer.concat([held, chunk]) : chunk, out: Buffer[] = [];
    let at = 0;
    while (bytes.length - at >= 8) {
      const end = at + 4 + bytes.readInt32BE(at);
      if (end < at + 8) return void socket.destroy();
      if (end > bytes.length) break;
      const answer = answerOf(bytes, at, route);
      if (answer) out.push(answer);
      at = end;
    }
    held = at < bytes.length ? Buffer.from(bytes.subarray(at)) : undefined;
    if (out.length > 0) socket.write(Buffer.concat(out));
  });
}

const sendBinary = frameOf(sendAnswerBinary(0));
const [sendJsonStart = "", sendJsonEnd = ""] = sendAnswerJson(0).split(/(?<="opaque":)\d+/);

/** None for a oneway request. */
function answerOf(bytes: Buffer, at: number, route: () => Buffer): Buffer | undefined {
  const header = at + 8, word = bytes.readInt32BE(at + 4), headerEnd = header + (word & 0xffffff);
  if (word >>> 24 === 1) {
    const code = bytes.readInt16BE(header), opaque = bytes.readInt32BE(header + 5);
    if (code !== SEND_MESSAGE_V2 && (bytes.readInt32BE(header + 9) & ONEWAY) !== 0) return undefined;
    const answer = code === SEND_MESSAGE_V2
      ? Buffer.from(sendBinary)
      : plainBinary(code === GET_ROUTEINFO_BY_TOPIC ? route() : undefined);
    answer.writeInt32BE(opaque, BINARY_OPAQUE_AT);
    return answer;
  }
  const code = numberAfter(bytes, CODE, header, headerEnd), opaque = numberAfter(bytes, OPAQUE, header, headerEnd);
  if (code === SEND_MESSAGE_V2) return framed(sendJsonStart + opaque + sendJsonEnd);
  if ((numberAfter(bytes, FLAG, header, headerEnd) & ONEWAY) !== 0) return undefined;
  const text = JSON.stringify({
    code: 0,
    flag: 1,
    language: "JAVA",
    opaque,
    serializeTypeCurrentRPC: "JSON",
    version: 513,
  });
  return framed(text, code === GET_ROUTEINFO_BY_TOPIC ? route() : undefined);
}

function framed(header: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const frame = Buffer.allocUnsafe(8 + header.length + body.length);
  frame.writeInt32BE(4 + header.length + body.length, 0);
  frame.writeInt32BE(header.length, 4);
  frame.write(header, 8, "latin1");
  frame.set(body, 8 + header.length);
  return frame;
}

/** Success without fields; the opaque is written by the caller. */
function plainBinary(body: Buffer = Buffer.alloc(0)): Buffer {
  const header = new Uint8Array(21), view = new DataView(header.buffer);
  view.setInt16(3, 513);
  view.setInt32(9, 1);
  return Buffer.from(frameOf(header, body));
}

/** The digits behind a name, and behind spaces: the best client patches its opaque in right-aligned. */
function numberAfter(bytes: Buffer, name: Buffer, from: number, end: number): number {
  const found = bytes.indexOf(name, from);
  if (found < 0 || found >= end) return -1;
  let at = found + name.length, value = 0;
  while (bytes[at] === SPACE) at++;
  for (let digit; (digit = bytes[at]! - ZERO) >= 0 && digit <= 9; at++) value = value * 10 + digit;
  return value;
}

/** As a program: prints its port and ends with its standard input. */
export async function runCannedServer(): Promise<void> {
  const { port, close } = await startCannedServer();
  console.log(port);
  process.stdin.resume().once("end", close);
}
