import type { RocketMQError } from "./errors.ts";
import type { MessageQueue } from "./message.ts";

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

type Listener = (detail: unknown) => void;

/** Listeners by event. One that throws hurts nobody else: what it threw is reported. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener>>();
  readonly #failed: (error: unknown) => void;

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  on<Name extends keyof Events & string>(
    event: Name,
    listener: (detail: Events[Name]) => void,
    { signal }: { signal?: AbortSignal } = {},
  ): () => void {
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
      try {
        listener(detail);
      } catch (error) {
        this.#failed(error);
      }
    }
  }
}

/** The text of anything that was thrown. */
export const reasonOf = (error: unknown): string => error instanceof Error ? error.message : String(error);
