import { ConnectError, isRocketMQError, type RocketMQError, TimeoutError } from "../errors.ts";
import type { Clock, Timer } from "../host.ts";
import { ResponseCode } from "../protocol/codes.ts";
import type { Request, Response } from "../protocol/command.ts";
import type { Signals } from "../signals.ts";
import { AddressList, type NamesrvAddr } from "./address_list.ts";
import type { InvokeOptions, Remoting } from "./remoting.ts";

export interface NameServersOptions {
  readonly remoting: Pick<Remoting, "invoke" | "disconnect">;
  readonly clock: Clock;
  /** Shared with whoever else waits for the same signals. */
  readonly signals?: Signals;
  /** As in `ClientOptions`: "a:9876;b:9876", an array, a function, or the URL of an address server. */
  readonly source: NamesrvAddr;
  /** How often a function or an address server is asked again, ms; 120 s unless given. */
  readonly pollInterval?: number;
  /** A failed poll: the old list is kept. */
  readonly onError?: (error: RocketMQError) => void;
  /** 0 ≤ random < 1, for the order; Math.random unless given. */
  readonly random?: () => number;
  /** Asks the address server; the global one unless given. */
  readonly fetch?: typeof fetch;
}

const POLL_INTERVAL = 120_000;

/**
 * The name servers of one client. The chosen one is asked first, then the others, all within the timeout: each gets its
 * share of the time that is left. The one that answers stays chosen.
 */
export class NameServers {
  readonly #options: NameServersOptions;
  readonly #list: AddressList;
  #addresses: readonly string[] = [];
  #chosen: string | undefined;
  #poll: Timer | undefined;
  #isClosed = false;

  /** Throws `ArgumentError` when the list is given and makes no sense. */
  constructor(options: NameServersOptions) {
    this.#options = options;
    this.#list = new AddressList(options.source, {
      clock: options.clock,
      ...(options.signals ? { signals: options.signals } : {}),
      ...(options.fetch ? { fetch: options.fetch } : {}),
    });
    if (this.#list.fixed) this.update(this.#list.fixed);
  }

  /** In the order in which they are asked; empty before a function or an address server has answered. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Asks the chosen name server, then the others. Rejects when none has answered, naming them all. */
  async invoke(request: Request, { timeout, signal }: InvokeOptions): Promise<Response> {
    const { clock, remoting } = this.#options;
    const deadline = clock.monotonic() + timeout;
    await this.#ready(timeout, signal);
    const errors: RocketMQError[] = [];
    const candidates = this.#candidates();
    for (const [index, addr] of candidates.entries()) {
      const share = Math.ceil((deadline - clock.monotonic()) / (candidates.length - index));
      if (share <= 0) {
        errors.push(new TimeoutError(`${addr} was not asked: no time was left`, { addr }));
        continue;
      }
      try {
        const response = await remoting.invoke(addr, request, signal ? { timeout: share, signal } : { timeout: share });
        if (response.code === ResponseCode.GO_AWAY && index + 1 < candidates.length) continue;
        if (this.#addresses.includes(addr)) this.#chosen = addr;
        return response;
      } catch (error) {
        if (signal?.aborted || !isRocketMQError(error) || !error.retryable) throw error;
        errors.push(error);
      }
    }
    throw noneAnswered(candidates, errors);
  }

  /** Takes over a new list. Connections to name servers that are no longer on it end. */
  update(addresses: readonly string[]): void {
    if (this.#isClosed || isSame(addresses, this.#addresses)) return;
    const gone = this.#addresses.filter((addr) => !addresses.includes(addr));
    this.#addresses = shuffled(addresses, this.#options.random ?? Math.random);
    if (this.#chosen !== undefined && !addresses.includes(this.#chosen)) this.#chosen = undefined;
    for (const addr of gone) this.#options.remoting.disconnect(addr);
  }

  /** Ends the polling. */
  close(): void {
    this.#isClosed = true;
    this.#poll?.cancel();
    this.#list.close();
  }

  #candidates(): readonly string[] {
    const chosen = this.#chosen;
    if (chosen === undefined) return this.#addresses;
    return [chosen, ...this.#addresses.filter((addr) => addr !== chosen)];
  }

  async #ready(timeout: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#list.fixed || this.#addresses.length > 0) return;
    this.update(await this.#list.first(timeout, signal));
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isClosed || this.#poll) return;
    this.#poll = this.#options.clock.setTimer(this.#options.pollInterval ?? POLL_INTERVAL, () => {
      this.#poll = undefined;
      this.#refresh();
    });
  }

  async #refresh(): Promise<void> {
    try {
      this.update(await this.#list.ask());
    } catch (error) {
      if (!this.#isClosed) this.#options.onError?.(error as RocketMQError);
    }
    this.#schedule();
  }
}

function noneAnswered(addresses: readonly string[], errors: readonly RocketMQError[]): ConnectError {
  const last = errors.at(-1);
  const message = `No name server answered (${addresses.join(", ")})${last ? `: ${last.message}` : ""}`;
  return new ConnectError(message, { cause: new AggregateError(errors, message) });
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((addr) => other.includes(addr));
}

function shuffled(addresses: readonly string[], random: () => number): readonly string[] {
  const result = [...addresses];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}
