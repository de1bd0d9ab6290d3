import type { Core, Frame } from "../client/core.ts";
import { isRocketMQError } from "../client/errors.ts";
import type { AcceptedSocket, Host, Inbox, Listener } from "../client/host.ts";
import { RESPONSE_FLAG, ResponseCode } from "../client/protocol/codes.ts";
import { readCommand, type RemotingCommand } from "../client/protocol/command.ts";
import type { Outgoing } from "../client/remoting/outgoing.ts";
import { Refusal } from "./answer.ts";
import type { Service } from "./broker.ts";
import type { FaultRule, Faults } from "./faults.ts";
import { Peer } from "./peer.ts";

export interface ServerOptions {
  readonly host: Host;
  readonly listener: Listener;
  readonly core: Core;
  readonly faults: Faults;
}

/** One listening port: frames in, answers out. Nothing that arrives can throw out of it. */
export class Server {
  readonly #options: ServerOptions;
  readonly #peers = new Set<Peer>();
  #service: Service | undefined;
  #listening: Awaited<ReturnType<Listener["listen"]>> | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  /** Resolves with the port. Rejects with `ConnectError` when it is taken. */
  async listen(host: string, port: number): Promise<number> {
    this.#listening = await this.#options.listener.listen(host, port, (socket) => this.#accept(socket));
    return this.#listening.port;
  }

  /** From here on it answers; who comes before is sent away, and comes again. */
  serve(service: Service): void {
    this.#service = service;
  }

  /** Ends all connections: nothing is answered any more, delayed answers included. */
  async close(): Promise<void> {
    for (const peer of [...this.#peers]) peer.close();
    await this.#listening?.close();
  }

  #accept(socket: AcceptedSocket): Inbox {
    const { core, host } = this.#options;
    try {
      const peer = new Peer({
        core,
        host,
        socket,
        onFrame: (peer, frame) => this.#received(peer, frame),
        onClosed: (peer) => this.#closed(peer),
      });
      this.#peers.add(peer);
      return peer.inbox;
    } catch (error) {
      // No room for one connection more: whoever comes is sent away.
      if (!isRocketMQError(error)) throw error;
      socket.close();
      return DEAF;
    }
  }

  #closed(peer: Peer): void {
    this.#peers.delete(peer);
    this.#service?.disconnected(peer);
  }

  #received(peer: Peer, frame: Frame): void {
    const { faults } = this.#options, service = this.#service;
    if (!service) return peer.close();
    if (faults.isEmpty && service.hot?.(frame, peer)) return;
    const request = readCommand(frame);
    if ((request.flag & RESPONSE_FLAG) !== 0) return;
    const fault = faults.next(request.code);
    const answer = (): void => serve(service, peer, request);
    if (fault === undefined) answer();
    else misbehave(peer, request, fault, answer);
  }
}

function serve({ handler }: Service, peer: Peer, request: RemotingCommand): void {
  let answer: Outgoing | undefined;
  try {
    answer = handler(request, peer);
  } catch (error) {
    answer = refusal(error);
  }
  if (answer) peer.answer(request, answer);
}

function misbehave(peer: Peer, request: RemotingCommand, fault: FaultRule["action"], answer: () => void): void {
  if (fault === "drop") return;
  if (fault === "close") return peer.close();
  if (fault === "garble") return peer.send(new Uint8Array(GARBAGE).fill(0xa5));
  if ("delay" in fault) return peer.later(fault.delay, answer);
  peer.answer(request, { code: fault.answer, remark: fault.remark ?? "a fault was asked for" });
}

/** Bytes that are no frame. */
const GARBAGE = 64;

/** For a connection that is closed at once. */
const DEAF: Inbox = { room: () => new Uint8Array(1_024), received: () => {}, closed: () => {} };

/** As Java answers: what has no code of its own is a system error, with the reason. */
function refusal(error: unknown): Outgoing {
  if (error instanceof Refusal) return { code: error.responseCode, remark: error.message };
  return { code: ResponseCode.SYSTEM_ERROR, remark: error instanceof Error ? error.message : String(error) };
}
