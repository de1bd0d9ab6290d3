import { ArgumentError, type RocketMQError } from "./errors.ts";
import type { MessageQueue } from "./message.ts";
import { checkNames } from "./option_names.ts";
import { callUser, show } from "./show.ts";

export interface ClientEvents {
  connect: { readonly addr: string };
  disconnect: { readonly addr: string; readonly error?: RocketMQError };
  route: { readonly topic: string };
  error: RocketMQError;
}

export interface ConsumerEvents extends ClientEvents {
  rebalance: {
    readonly topic: string;
    readonly assigned: readonly MessageQueue[];
    readonly revoked: readonly MessageQueue[];
  };
  backpressure: { readonly queue: MessageQueue; readonly cachedMessages: number; readonly cachedBytes: number };
}

export const CLIENT_EVENTS: readonly (keyof ClientEvents)[] = ["connect", "disconnect", "route", "error"];
export const CONSUMER_EVENTS: readonly (keyof ConsumerEvents)[] = [...CLIENT_EVENTS, "rebalance", "backpressure"];

type Listener = (detail: unknown) => unknown;

/** Listeners by event. One that throws hurts nobody else: what it threw is reported. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener>>();
  readonly #names: readonly string[];
  readonly #failed: (event: string, error: unknown) => void;

  /** `names` are the events there are. */
  constructor(names: readonly string[], failed: (event: string, error: unknown) => void) {
    this.#names = names;
    this.#failed = failed;
  }

  on<Name extends keyof Events & string>(
    event: Name,
    listener: (detail: Events[Name]) => void,
    options: { signal?: AbortSignal } = {},
  ): () => void {
    if (!this.#names.includes(event)) throw new ArgumentError(`There is no event ${show(event)}`);
    if (typeof listener !== "function") throw new ArgumentError(`A listener of "${event}" must be a function`);
    checkNames(options, ["signal"]);
    const { signal } = options;
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    const own: Listener = (detail) => listener(detail as Events[Name]);
    const off = (): void => {
      listeners.delete(own);
      signal?.removeEventListener("abort", off);
    };
    if (signal?.aborted) return off;
    listeners.add(own);
    signal?.addEventListener("abort", off);
    return off;
  }

  emit<Name extends keyof Events & string>(event: Name, detail: Events[Name]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      callUser(() => listener(detail), (error) => this.#failed(event, error));
    }
  }
}
