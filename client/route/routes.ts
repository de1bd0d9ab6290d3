import { BrokerError, isRocketMQError, type RocketMQError, RouteError, TimeoutError } from "../errors.ts";
import type { Clock } from "../host.ts";
import { ResponseCode } from "../protocol/codes.ts";
import { AUTO_CREATE_TOPIC } from "../protocol/names.ts";
import { decodeRoute, routeRequest, type TopicRouteData } from "../protocol/route.ts";
import type { InvokeOptions } from "../remoting/remoting.ts";
import type { NameServers } from "../remoting/name_servers.ts";
import { SharedAttempt } from "../shared_attempt.ts";
import type { Signals } from "../signals.ts";
import { asNewTopic, isSameRoute, MASTER_ID, QueueNames, type TopicRoute, toTopicRoute } from "./topic_route.ts";

export interface RoutesOptions {
  readonly nameServers: Pick<NameServers, "invoke" | "addresses">;
  readonly clock: Clock;
  readonly signals: Signals;
  readonly requestTimeout: number;
  /** Told of each topic whose route is new or another than before. */
  readonly changed: (route: TopicRoute) => void;
  readonly onError: (error: RocketMQError) => void;
}

/** Topics that are asked for at once when all are refreshed. */
const REFRESH_AT_ONCE = 64;

/** The routes of all topics one client has met, asked for once for many callers and refreshed by `refresh`. */
export class Routes {
  readonly queueNames = new QueueNames();
  /** Another number after each change of any route. */
  version = 0;
  readonly #options: RoutesOptions;
  readonly #routes = new Map<string, TopicRoute>();
  /** Routes of topics that do not exist yet: made from the template, and asked for again at every send. */
  readonly #new = new Set<string>();
  /** Questions under way, by topic and what is asked for. */
  readonly #asking = new Map<string, SharedAttempt<TopicRoute>>();

  constructor(options: RoutesOptions) {
    this.#options = options;
  }

  /** What is known now. */
  known(topic: string): TopicRoute | undefined {
    return this.#routes.get(topic);
  }

  /** Whether the route of a topic is the template's, because the topic is not there yet. */
  isNew(topic: string): boolean {
    return this.#new.has(topic);
  }

  /** Every broker address in any route, with its broker's name and id. */
  brokers(): Map<string, { readonly brokerName: string; readonly brokerId: number }> {
    const result = new Map<string, { brokerName: string; brokerId: number }>();
    for (const { data } of this.#routes.values()) {
      for (const { brokerName, brokerAddrs } of data.brokerDatas) {
        for (const [brokerId, addr] of brokerAddrs) result.set(addr, { brokerName, brokerId });
      }
    }
    return result;
  }

  /**
   * The address of one broker; of its master unless an id is given. When that id is gone and `orAny`: of the slave with the
   * next id, if one was asked for, then of any (`MQClientInstance#findBrokerAddressInSubscribe`).
   */
  brokerAddr(topic: string, brokerName: string, brokerId = MASTER_ID, orAny = false): string | undefined {
    const addrs = this.#routes.get(topic)?.data.brokerDatas.find((each) => each.brokerName === brokerName)?.brokerAddrs;
    const addr = addrs?.get(brokerId);
    if (addr !== undefined || !orAny) return addr;
    return (brokerId === MASTER_ID ? undefined : addrs?.get(brokerId + 1)) ?? addrs?.values().next().value;
  }

  /**
   * The route of a topic to send to; a topic that nobody knows gets the queues it would be created with. Throws `RouteError`
   * when no name server knows it or the topic to create it from, `ConnectError` when none answers.
   */
  async findToSend(
    topic: string,
    defaultTopicQueueNums: number,
    options: Partial<InvokeOptions> = {},
  ): Promise<TopicRoute> {
    const known = this.#routes.get(topic);
    if (known && !this.#new.has(topic) && known.publishQueues.length > 0) return known;
    const { clock, requestTimeout } = this.#options;
    const deadline = clock.monotonic() + (options.timeout ?? requestTimeout);
    let unknown: RouteError;
    try {
      const route = await this.#ask(topic, topic, undefined, options);
      if (route.publishQueues.length > 0) return route;
      throw new RouteError(`Cannot send to topic "${topic}": it has no writable queue`, { topic });
    } catch (error) {
      if (!(error instanceof RouteError)) throw error;
      unknown = error;
    }
    if (this.#routes.has(topic) && !this.#new.has(topic)) throw unknown;
    try {
      const timeout = Math.max(0, deadline - clock.monotonic());
      const route = await this.#ask(topic, AUTO_CREATE_TOPIC, defaultTopicQueueNums, { ...options, timeout });
      if (route.publishQueues.length > 0) return route;
    } catch (error) {
      if (!(error instanceof RouteError)) throw error;
    }
    throw unknown;
  }

  /** Asks for every known topic again, and for those that should be known. Failures are reported; what is known stays. */
  async refresh(wanted: Iterable<string>): Promise<void> {
    const topics = new Set([...this.#routes.keys(), ...wanted]).values();
    const refreshSome = async (): Promise<void> => {
      for (const topic of topics) await this.#refresh(topic);
    };
    await Promise.all(Array.from({ length: REFRESH_AT_ONCE }, refreshSome));
  }

  async #refresh(topic: string): Promise<void> {
    try {
      await this.#ask(topic, topic, undefined, {});
    } catch (error) {
      // A topic that is not there yet is nobody's fault.
      if (isRocketMQError(error) && error.code !== "ROCKETMQ_ROUTE") this.#options.onError(error);
    }
  }

  /** Asks for one topic now, for example because its broker was not where the route says. */
  update(topic: string, options: Partial<InvokeOptions> = {}): Promise<TopicRoute> {
    return this.#ask(topic, topic, undefined, options);
  }

  /** One question for many callers, each of whom waits no longer than it likes. */
  async #ask(
    topic: string,
    asked: string,
    newQueues: number | undefined,
    options: Partial<InvokeOptions>,
  ): Promise<TopicRoute> {
    const { clock, signals, requestTimeout } = this.#options;
    const key = `${topic}\n${asked}`;
    let asking = this.#asking.get(key);
    if (!asking) {
      asking = new SharedAttempt(
        clock,
        signals,
        (timeout, signal) => this.#askNow(topic, asked, newQueues, signal ? { timeout, signal } : { timeout }),
        (timeout) =>
          new TimeoutError(`Cannot get the route of topic "${topic}" within ${Math.round(timeout)} ms`, { topic }),
      );
      this.#asking.set(key, asking);
    }
    try {
      return await asking.join(Math.min(options.timeout ?? requestTimeout, requestTimeout), options.signal);
    } finally {
      if (!asking.isRunning && this.#asking.get(key) === asking) this.#asking.delete(key);
    }
  }

  async #askNow(
    topic: string,
    asked: string,
    newQueues: number | undefined,
    options: InvokeOptions,
  ): Promise<TopicRoute> {
    const { nameServers } = this.#options;
    const response = await nameServers.invoke(routeRequest(asked), options);
    if (response.code === ResponseCode.TOPIC_NOT_EXIST) {
      throw new RouteError(
        `No route for topic "${topic}": the name servers ${nameServers.addresses.join(", ")} do not know it`,
        { topic, cause: new BrokerError(response.remark, { responseCode: response.code, remark: response.remark }) },
      );
    }
    if (response.code !== ResponseCode.SUCCESS) {
      const { code: responseCode, remark } = response;
      throw new BrokerError(`Cannot get the route of topic "${topic}": ${remark}`, { responseCode, remark, topic });
    }
    const data = decodeRoute(response.body);
    return this.#keep(topic, newQueues === undefined ? data : asNewTopic(data, newQueues), newQueues !== undefined);
  }

  #keep(topic: string, data: TopicRouteData, isNew: boolean): TopicRoute {
    const before = this.#routes.get(topic);
    if (isNew && before && !this.#new.has(topic)) return before;
    this.version++;
    if (isNew) this.#new.add(topic);
    else this.#new.delete(topic);
    if (before && isSameRoute(before.data, data)) return before;
    const route = toTopicRoute(topic, data, this.queueNames);
    this.#routes.set(topic, route);
    this.#options.changed(route);
    return route;
  }
}
