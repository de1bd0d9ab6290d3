import { Core } from "./core.ts";
import {
  BrokerError,
  ClosedError,
  type CoreError,
  HandlerError,
  InternalError,
  isRocketMQError,
  type RocketMQError,
  TimeoutError,
} from "./errors.ts";
import type { ClientEvents } from "./events.ts";
import type { Host, Timer } from "./host.ts";
import type { ResolvedClientOptions } from "./options.ts";
import { RequestCode, ResponseCode } from "./protocol/codes.ts";
import type { Response } from "./protocol/command.ts";
import { type ConsumerData, heartbeatRequest } from "./protocol/heartbeat.ts";
import { UniqueIds } from "./protocol/ids.ts";
import { AUTO_CREATE_TOPIC } from "./protocol/names.ts";
import { decodeNotify } from "./protocol/notify.ts";
import { routeRequest } from "./protocol/route.ts";
import { unregisterRequest } from "./protocol/unregister.ts";
import { NameServers } from "./remoting/name_servers.ts";
import { Remoting } from "./remoting/remoting.ts";
import { Routes } from "./route/routes.ts";
import { MASTER_ID, type TopicRoute } from "./route/topic_route.ts";
import { SharedAttempt } from "./shared_attempt.ts";
import { callUser, reasonOf } from "./show.ts";
import { Signals } from "./signals.ts";

/** Hears what happens to an instance, whether it has started or not. */
export interface Listener {
  emit<Name extends keyof ClientEvents & string>(event: Name, detail: ClientEvents[Name]): void;
}

/** A producer or a consumer, as its instance sees it. */
export interface Member extends Listener {
  readonly producerGroup?: string;
  /** What the heartbeat says of a consumer; undefined before it has started. */
  consumerData?(): ConsumerData | undefined;
  /** Topics whose routes it needs. */
  topics?(): Iterable<string>;
  routeChanged?(route: TopicRoute): void;
  /** The broker says that members of the group have changed. */
  membersChanged?(consumerGroup: string): void;
  /** A broker can be reached again, or for the first time. */
  brokerConnected?(addr: string): void;
}

/** Waiting for one broker to hear a heartbeat or a farewell, ms. */
const HEARTBEAT_TIMEOUT = 3_000;

/** What producers and consumers of one client share: core, connections, routes, heartbeat, client id. */
export class Instance {
  readonly host: Host;
  readonly options: ResolvedClientOptions;
  readonly core: Core;
  readonly remoting: Remoting;
  readonly nameServers: NameServers;
  readonly routes: Routes;
  readonly uniqueIds: UniqueIds;
  readonly signals = new Signals();
  readonly #members = new Set<Member>();
  /** A shared client is one of them and no member: those start without it. */
  readonly #listeners = new Set<Listener>();
  readonly #brokerVersions = new Map<string, number>();
  /** Heartbeats that wait for their answer. */
  readonly #heartbeats = new Set<Promise<void>>();
  readonly #timers = new Set<Timer>();
  #clientId = "";
  readonly #starting: SharedAttempt<void>;
  #started = false;
  #closing: Promise<void> | undefined;
  #isBroken = false;
  readonly #whenBroken = new Set<(failure: CoreError) => void>();

  constructor(host: Host, options: ResolvedClientOptions) {
    this.host = host;
    this.options = options;
    this.core = new Core(host.core, options.coreMemory, host.crc32);
    this.uniqueIds = new UniqueIds(host.clock.now());
    this.remoting = new Remoting({
      host,
      core: this.core,
      signals: this.signals,
      serializeType: options.serializeType,
      connectTimeout: options.connectTimeout,
      uniqueIds: this.uniqueIds,
      onConnect: (addr, localAddress) => this.#connected(addr, localAddress),
      onDisconnect: (addr, error) => this.#tell("disconnect", error ? { addr, error } : { addr }),
      onError: (error) => this.report(error),
    });
    this.nameServers = new NameServers({
      remoting: this.remoting,
      clock: host.clock,
      signals: this.signals,
      source: options.namesrvAddr,
      onError: (error) => this.report(error),
    });
    this.routes = new Routes({
      nameServers: this.nameServers,
      clock: host.clock,
      signals: this.signals,
      requestTimeout: options.requestTimeout,
      changed: (route) => this.#routeChanged(route),
      onError: (error) => this.report(error),
    });
    this.#starting = new SharedAttempt(
      host.clock,
      this.signals,
      (timeout, signal) => this.#start(timeout, signal),
      didNotStart,
    );
    this.remoting.handle(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, ({ extFields }) => {
      const { consumerGroup } = decodeNotify(extFields);
      for (const member of this.#members) member.membersChanged?.(consumerGroup);
      return undefined;
    });
  }

  /** Empty until the first connection is made. */
  get clientId(): string {
    return this.#clientId;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  get isStarted(): boolean {
    return this.#started && !this.#closing;
  }

  /** Whether a second producer here is of the same group. */
  hasAnother(member: Member): boolean {
    return [...this.#members].some((each) => each !== member && each.producerGroup === member.producerGroup);
  }

  /** Tells `listener` every event from now on. Returns what ends that. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  join(member: Member): void {
    this.#members.add(member);
  }

  leave(member: Member): void {
    this.#members.delete(member);
  }

  /** Makes sure that a name server answers, so that the client has an address and an id. A failed start can be tried again. */
  start(timeout: number, signal?: AbortSignal): Promise<void> {
    if (this.isStarted) return Promise.resolve();
    return this.#starting.join(timeout, signal);
  }

  async #start(timeout: number, signal?: AbortSignal): Promise<void> {
    if (this.#closing) throw new ClosedError("Cannot start: the client was closed");
    const request = routeRequest(AUTO_CREATE_TOPIC);
    await this.nameServers.invoke(request, signal ? { timeout, signal } : { timeout });
    if (this.#closing) throw new ClosedError("Cannot start: the client was closed");
    this.#started = true;
    const { pollNameServerInterval, heartbeatBrokerInterval } = this.options;
    this.every(pollNameServerInterval, () => this.#refreshRoutes());
    this.every(heartbeatBrokerInterval, () => this.heartbeat());
  }

  /** Brokers that no route names any more are left (`MQClientInstance#cleanOfflineBroker`). */
  async #refreshRoutes(): Promise<void> {
    await this.routes.refresh(this.#topics());
    const wanted = new Set([...this.routes.brokers().keys(), ...this.nameServers.addresses]);
    for (const addr of this.remoting.addresses) if (!wanted.has(addr)) this.remoting.disconnect(addr);
    for (const addr of this.#brokerVersions.keys()) if (!wanted.has(addr)) this.#brokerVersions.delete(addr);
  }

  /** Runs `task` again and again, each time `interval` ms after the last run has ended. Ends with the instance. */
  every(interval: number, task: () => Promise<unknown> | void): Timer {
    let timer: Timer;
    let ended = false;
    const own: Timer = {
      cancel: () => {
        ended = true;
        timer.cancel();
        this.#timers.delete(own);
      },
    };
    const plan = (): void => {
      if (!ended) timer = this.host.clock.setTimer(interval, () => void run());
    };
    const run = async (): Promise<void> => {
      try {
        await task();
      } catch (error) {
        this.report(error);
      }
      plan();
    };
    plan();
    this.#timers.add(own);
    return own;
  }

  /** A failure that has no caller. Never throws. After the core broke down only that is told, once. */
  report(error: unknown): void {
    const { failure } = this.core;
    if (failure) return this.#brokeDown(failure);
    if (this.isClosed && isRocketMQError(error) && error.code === "ROCKETMQ_CLOSED") return;
    this.#reportKnown(isRocketMQError(error) ? error : new InternalError(reasonOf(error), { cause: error }));
  }

  #reportKnown(error: RocketMQError): void {
    this.log("warn", error.message, { code: error.code, err: error });
    this.#tellOnError(error);
    this.#tell("error", error);
  }

  /** Something the user gave us for being told has failed: that is not told to itself again. */
  listenerFailed(what: string, cause: unknown): void {
    const error = new HandlerError(`${what} failed: ${reasonOf(cause)}`, { cause });
    this.log("error", error.message, { code: error.code, err: error });
    this.#tellOnError(error);
  }

  #tellOnError(error: RocketMQError, failed = this.#onErrorFailed): void {
    const { onError } = this.options;
    if (onError) callUser(() => onError(error), failed);
  }

  readonly #onErrorFailed = (cause: unknown): void =>
    this.log("error", `onError failed: ${reasonOf(cause)}`, { err: cause });

  /** Never throws. */
  log(level: "debug" | "info" | "warn" | "error", message: string, fields: object = {}): void {
    const { logger } = this.options;
    if (logger) callUser(() => logger[level](fields, message), (cause) => this.#loggerFailed(level, cause));
  }

  #loggerFailed(level: string, cause: unknown): void {
    const nobodyIsLeftToTell = (): void => {};
    this.#tellOnError(new HandlerError(`logger.${level} failed: ${reasonOf(cause)}`, { cause }), nobodyIsLeftToTell);
  }

  /** Runs `task` when the core has broken down; every member ends then. Returns what takes it back. */
  whenBroken(task: (failure: CoreError) => void): () => void {
    this.#whenBroken.add(task);
    return () => void this.#whenBroken.delete(task);
  }

  #brokeDown(failure: CoreError): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#reportKnown(failure);
    // In a turn of their own: the calls in flight still fail with what happened.
    this.host.defer(() => {
      for (const task of [...this.#whenBroken]) task(failure);
      void this.close();
    });
  }

  /** Tells every known broker who we are, all at once. A slave is told by consumers alone. */
  async heartbeat(): Promise<void> {
    const hasConsumers = [...this.#members].some((member) => member.consumerData?.());
    const brokers = [...this.routes.brokers()].filter(([, { brokerId }]) => hasConsumers || brokerId === MASTER_ID);
    await Promise.all(brokers.map(([addr]) => this.#heartbeat(addr)));
  }

  /** The version a broker said last, 0 when it has not been asked yet. */
  brokerVersion(addr: string): number {
    return this.#brokerVersions.get(addr) ?? 0;
  }

  async #heartbeat(addr: string): Promise<void> {
    const data = this.#heartbeatData();
    if (!data || this.#clientId === "" || this.isClosed) return;
    const beat = this.#beat(addr, data);
    this.#heartbeats.add(beat);
    await beat;
    this.#heartbeats.delete(beat);
  }

  /** Never rejects. */
  async #beat(addr: string, data: Parameters<typeof heartbeatRequest>[0]): Promise<void> {
    try {
      const response = await this.remoting.invoke(addr, heartbeatRequest(data), { timeout: HEARTBEAT_TIMEOUT });
      if (response.code === ResponseCode.SUCCESS) this.#brokerVersions.set(addr, response.version);
      else this.report(brokerError(`The broker ${addr} refused a heartbeat`, response, addr));
    } catch (error) {
      this.report(error);
    }
  }

  #heartbeatData(): Parameters<typeof heartbeatRequest>[0] | undefined {
    const producers = new Set<string>();
    const consumers: ConsumerData[] = [];
    for (const member of this.#members) {
      if (member.producerGroup !== undefined) producers.add(member.producerGroup);
      const consumer = member.consumerData?.();
      if (consumer) consumers.push(consumer);
    }
    if (producers.size === 0 && consumers.length === 0) return undefined;
    return {
      clientID: this.#clientId,
      producerDataSet: [...producers].map((groupName) => ({ groupName })),
      consumerDataSet: consumers,
    };
  }

  /** Tells every broker that a group's member leaves. Failures do not matter: a broker sees the connection end. */
  async unregister(
    group: { readonly producerGroup?: string; readonly consumerGroup?: string },
    timeout: number,
  ): Promise<void> {
    if (this.#clientId === "") return;
    // A broker takes up heartbeats in threads of their own: one that comes after the farewell, or even after the end of
    // the connection, leaves a member behind that holds queues for two minutes.
    const end = this.host.clock.monotonic() + timeout;
    await Promise.all(this.#heartbeats);
    const request = unregisterRequest({ clientID: this.#clientId, ...group });
    const known = [...this.routes.brokers().keys()].filter((addr) => this.#brokerVersions.has(addr));
    const limit = Math.max(1, Math.min(end - this.host.clock.monotonic(), HEARTBEAT_TIMEOUT));
    await Promise.all(
      known.map((addr) =>
        this.remoting.invoke(addr, request, { timeout: limit }).catch((error: unknown) =>
          this.log("debug", `Cannot unregister at ${addr}`, { error: reasonOf(error) })
        )
      ),
    );
  }

  /** Ends timers and connections; calls in flight fail with `ClosedError`. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    for (const timer of [...this.#timers]) timer.cancel();
    this.nameServers.close();
    await this.remoting.close();
  }

  #topics(): Set<string> {
    return new Set([...this.#members].flatMap((member) => [...member.topics?.() ?? []]));
  }

  #connected(addr: string, localAddress: string): void {
    const { instanceName, unitName } = this.options;
    if (this.#clientId === "") {
      this.#clientId = `${localAddress}@${instanceName}${unitName === "" ? "" : `@${unitName}`}`;
    }
    this.#tell("connect", { addr });
    if (!this.routes.brokers().has(addr)) return;
    // A broker forgets who we are when a connection ends; a consumer it does not list yet would give all its queues up.
    void this.#heartbeat(addr).then(() => {
      for (const member of this.#members) member.brokerConnected?.(addr);
    });
  }

  #routeChanged(route: TopicRoute): void {
    this.#tell("route", { topic: route.topic });
    for (const member of this.#members) member.routeChanged?.(route);
  }

  #tell<Name extends keyof ClientEvents & string>(event: Name, detail: ClientEvents[Name]): void {
    for (const listener of this.#listeners) listener.emit(event, detail);
  }
}

export const didNotStart = (timeout: number): TimeoutError =>
  new TimeoutError(`The client did not start within ${Math.round(timeout)} ms`);

/** What a broker's answer means to a caller who cannot use it. */
export function brokerError(
  what: string,
  response: Pick<Response, "code" | "remark">,
  addr: string,
  { topic, brokerName }: { readonly topic?: string; readonly brokerName?: string } = {},
): RocketMQError {
  const { code: responseCode, remark } = response;
  return new BrokerError(`${what}: ${remark || "no remark"} (code ${responseCode})`, {
    responseCode,
    remark,
    addr,
    ...(topic === undefined ? {} : { topic }),
    ...(brokerName === undefined ? {} : { brokerName }),
  });
}
