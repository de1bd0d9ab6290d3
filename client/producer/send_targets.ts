import type { Core } from "../core.ts";
import { OverloadError } from "../errors.ts";
import type { MessageQueue } from "../message.ts";
import type { UniqueIds } from "../protocol/ids.ts";
import { AUTO_CREATE_TOPIC } from "../protocol/names.ts";
import { sendProgram, type SendTarget } from "../protocol/send.ts";
import type { Routes } from "../route/routes.ts";
import type { TopicRoute } from "../route/topic_route.ts";
import type { ProducerKind } from "./send_kinds.ts";
import { StoredIds } from "./send_result.ts";

/** Programs that one producer has; further sends go the cold way. */
const PROGRAMS_MAX = 1_024;
/** For each MiB of the arena. A program takes 4 KiB, so a sixteenth of it is theirs: segments must find room. */
const PROGRAMS_PER_MIB = 16;
const ANYWHERE = 2 ** 30;

/** A queue to send to, and its broker. */
export interface QueueTarget {
  readonly queue: MessageQueue;
  readonly broker: BrokerTarget;
}

/** What sends of one topic to one broker have in common. */
export class BrokerTarget implements SendTarget {
  readonly producerGroup: string;
  readonly topic: string;
  readonly brokerName: string;
  readonly defaultTopic = AUTO_CREATE_TOPIC;
  readonly defaultTopicQueueNums: number;
  /** Undefined while the route does not say it. */
  addr: string | undefined;
  /** Its queues in the route: in the order of their ids, which mostly begin at 0. */
  queues: MessageQueue[] = [];
  /** By the index of the kind of message; 0: none yet. */
  readonly programs: number[] = [];
  readonly storedIds: StoredIds;

  constructor(topic: string, brokerName: string, options: SendTargetsOptions) {
    this.topic = topic;
    this.brokerName = brokerName;
    this.producerGroup = options.producerGroup;
    this.defaultTopicQueueNums = options.defaultTopicQueueNums;
    this.storedIds = new StoredIds(options.uniqueIds);
  }

  /** The compiled header of a kind of message; 0: there is none, and the message goes out field by field. */
  programOf({ index }: ProducerKind): number {
    const { programs } = this;
    return index >= 0 && index < programs.length ? programs[index]! : 0;
  }
}

/** What is known of one topic for as long as its route is the same. */
export class TopicTargets {
  readonly topic: string;
  route: TopicRoute | undefined;
  /** Whether its queues are there, and not only those that it would be created with. */
  isReady = false;
  /** Never empty once it is ready. */
  queues: readonly QueueTarget[] = [];
  /** Whether its queues are at more than one broker. */
  hasBrokers = false;
  /** `Routes.version` that the fields above belong to. */
  version = -1;
  readonly brokers = new Map<string, BrokerTarget>();
  /** Begins anywhere, so that many producers do not begin at the same queue. */
  #next = Math.floor(Math.random() * ANYWHERE);

  constructor(topic: string) {
    this.topic = topic;
  }

  /** The queues of a new route. */
  take(queues: readonly QueueTarget[]): void {
    this.queues = queues;
    this.#next %= Math.max(1, queues.length);
  }

  /** The next queue in turn, not of the broker to be avoided if there is another. */
  nextQueue(avoid?: BrokerTarget): QueueTarget {
    const next = this.#inTurn();
    return next.broker === avoid ? this.#elsewhere(avoid) : next;
  }

  #elsewhere(avoid: BrokerTarget): QueueTarget {
    for (let more = this.queues.length - 1; more > 0; more--) {
      const next = this.#inTurn();
      if (next.broker !== avoid) return next;
    }
    return this.#inTurn();
  }

  #inTurn(): QueueTarget {
    const queues = this.queues, at = this.#next;
    this.#next = at + 1 < queues.length ? at + 1 : 0;
    return queues[at]!;
  }
}

export interface SendTargetsOptions {
  readonly core: Core;
  readonly serializeType: "JSON" | "ROCKETMQ";
  readonly routes: Routes;
  readonly uniqueIds: UniqueIds;
  readonly producerGroup: string;
  readonly defaultTopicQueueNums: number;
  /** Of the arena, MiB. */
  readonly coreMemory: number;
}

/** Where the sends of one producer go, and their compiled headers: one for each topic, broker and kind of message. */
export class SendTargets {
  readonly #options: SendTargetsOptions;
  readonly #topics = new Map<string, TopicTargets>();
  #last: TopicTargets | undefined;
  readonly #most: number;
  #programs = 0;

  constructor(options: SendTargetsOptions) {
    this.#options = options;
    this.#most = Math.min(PROGRAMS_MAX, PROGRAMS_PER_MIB * options.coreMemory);
  }

  /** Whether this topic has been sent to before. */
  knows(topic: string): boolean {
    return this.#last !== undefined && this.#last.topic === topic || this.#topics.has(topic);
  }

  /** What the route says now. */
  of(topic: string): TopicTargets {
    let targets = this.#last;
    if (targets === undefined || targets.topic !== topic) {
      targets = this.#topics.get(topic);
      if (targets === undefined) this.#topics.set(topic, targets = new TopicTargets(topic));
      this.#last = targets;
    }
    if (targets.version !== this.#options.routes.version) this.#refresh(targets);
    return targets;
  }

  /** A broker of a topic, whether it is in the route or not. */
  broker(targets: TopicTargets, brokerName: string): BrokerTarget {
    let broker = targets.brokers.get(brokerName);
    if (broker === undefined) {
      broker = new BrokerTarget(targets.topic, brokerName, this.#options);
      broker.addr = this.#options.routes.brokerAddr(targets.topic, brokerName);
      targets.brokers.set(brokerName, broker);
    }
    return broker;
  }

  /** Compiles the header of a kind of message, unless that was done or there is no room for another one. */
  compile(broker: BrokerTarget, kind: ProducerKind): void {
    if (broker.programOf(kind) === 0 && kind.index >= 0) this.#compile(broker, kind);
  }

  /** Frees all programs. */
  close(): void {
    const { core } = this.#options;
    for (const { brokers } of this.#topics.values()) {
      for (const { programs } of brokers.values()) {
        for (const program of programs) if (program) core.freeProgram(program);
        programs.length = 0;
      }
    }
    this.#programs = 0;
  }

  #compile(broker: BrokerTarget, kind: ProducerKind): void {
    if (this.#programs >= this.#most) return;
    const { core, serializeType, uniqueIds } = this.#options;
    try {
      const program = core.program(sendProgram(broker, kind, uniqueIds.prefix, serializeType), serializeType);
      while (broker.programs.length < kind.index) broker.programs.push(0);
      broker.programs[kind.index] = program;
      this.#programs++;
    } catch (error) {
      if (!(error instanceof OverloadError)) throw error;
    }
  }

  #refresh(targets: TopicTargets): void {
    const { routes } = this.#options, { topic } = targets;
    const route = routes.known(topic);
    for (const broker of targets.brokers.values()) broker.addr = routes.brokerAddr(topic, broker.brokerName);
    if (route && route !== targets.route) {
      targets.take(route.publishQueues.map((queue) => ({ queue, broker: this.broker(targets, queue.brokerName) })));
      targets.hasBrokers = new Set(route.publishQueues.map(({ brokerName }) => brokerName)).size > 1;
      for (const broker of targets.brokers.values()) {
        broker.queues = route.publishQueues.filter(({ brokerName }) => brokerName === broker.brokerName);
      }
    }
    targets.route = route;
    targets.isReady = route !== undefined && route.publishQueues.length > 0 && !routes.isNew(topic);
    targets.version = routes.version;
  }
}
