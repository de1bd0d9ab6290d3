// What a send is above its frame: its queue, its slot, its promise and its result, by the classes that `send()` uses. There is no
// connection: a slot is taken where the frame would be encoded, and all sends are settled by one lent answer.
import { Core, type Frame } from "../../client/core.ts";
import type { SendResult } from "../../client/message.ts";
import type { DefaultProducer } from "../../client/producer/producer.ts";
import type { ProducerKind } from "../../client/producer/send_kinds.ts";
import { type SendContext, Sending } from "../../client/producer/sending.ts";
import { Calls, CALLS_MAX } from "../../client/remoting/calls.ts";
import type { Call } from "../../client/remoting/remoting.ts";
import { SendKinds } from "../../client/producer/send_kinds.ts";
import { frameOf, sendAnswerBinary } from "../inputs/responses.ts";
import { sendInput } from "../inputs/send.ts";
import { cannedHost } from "./canned_host.ts";
import { cannedProducer } from "./canned_producer.ts";
import { coreModule } from "./core_module.ts";

const { topic, tags } = sendInput;
const TIMEOUT = 3_000;
const ANSWER = frameOf(sendAnswerBinary(0));

export class AwaitedSends {
  readonly #producer: DefaultProducer<Uint8Array>;
  readonly #kind: ProducerKind = new SendKinds().of(tags, true, true, false, undefined);
  readonly #calls = new Calls<object>({ clock: cannedHost.clock, expired: never, watch: () => undefined });
  readonly #context: SendContext;
  readonly #core = new Core(coreModule, 16);
  readonly #connection = this.#core.openConnection();
  /** Opaques of the calls in flight. */
  readonly #opaques = new Int32Array(CALLS_MAX);
  #begun = 0;
  #now = cannedHost.clock.monotonic();

  private constructor(producer: DefaultProducer<Uint8Array>) {
    this.#producer = producer;
    const { instance, options, targets } = producer;
    const { core, host, routes, uniqueIds } = instance;
    const remoting = {
      now: 0,
      isConnected: () => true,
      begin: (_: string, call: Call, timeout: number) => {
        this.#opaques[this.#begun++] = this.#calls.opaque(this.#calls.take(call, timeout, this.#now));
      },
    };
    this.#context = {
      instance: { core, host, routes, uniqueIds, remoting },
      options,
      targets,
      left: () => undefined,
    };
  }

  static async open(): Promise<AwaitedSends> {
    const producer = cannedProducer();
    // Afterwards the route is known.
    await producer.send({ topic, body: Uint8Array.of(1) });
    return new AwaitedSends(producer);
  }

  /** What `send()` returns for a message that has been checked. */
  send(args: string[], body: Uint8Array): Promise<SendResult> {
    const sending = new Sending(this.#context, topic, this.#kind, args, body);
    const promise = sending.begin(this.#now + TIMEOUT, undefined, undefined);
    sending.try(this.#context.targets.of(topic), TIMEOUT);
    return promise;
  }

  /** Answers all sends. */
  settle(): void {
    this.#core.room(this.#connection).set(ANSWER);
    this.#core.feed(this.#connection, ANSWER.length, this.#settleAll);
    this.#begun = 0;
    this.#now = cannedHost.clock.monotonic();
  }

  readonly #settleAll = (frame: Frame): void => {
    const calls = this.#calls;
    for (let at = 0; at < this.#begun; at++) {
      const slot = calls.slotOf(this.#opaques[at]!), call = calls.call[slot]!;
      calls.release(slot);
      call.settle(frame);
    }
  };

  close(): Promise<void> {
    this.#calls.close();
    return this.#producer.shutdown();
  }
}

function never(): never {
  throw new Error("A send has expired: it should have been settled");
}
