import { ArgumentError, ConnectError, isRocketMQError } from "../errors.ts";
import type { Clock } from "../host.ts";
import { reasonOf } from "../show.ts";
import { orGiveUp } from "../limit.ts";
import { Signals } from "../signals.ts";
import { parseAddress, stripScheme } from "./address.ts";

/** `ClientOptions["namesrvAddr"]` */
export type NamesrvAddr = string | readonly string[] | (() => Promise<readonly string[]>);

/** One question to an address server, ms. */
const ASK_TIMEOUT = 3_000;
const LIST_MAX = 65_536;
/** At the start a failure is tried again so often, after such a pause in ms. */
const FIRST_TRIES = 3;
const FIRST_PAUSE = 1_000;

/**
 * Where the list of name servers comes from. A fixed one is checked at once; a function and an address server (a URL with
 * a path) have to be asked, and what they answer is checked as a whole: an error page is not a list.
 */
export class AddressList {
  /** The list, where nobody has to be asked. */
  readonly fixed: readonly string[] | undefined;
  readonly #source: () => Promise<readonly string[]>;
  readonly #clock: Clock;
  readonly #signals: Signals;
  readonly #fetch: typeof fetch;
  readonly #abort = new AbortController();
  /** The first question, for however many callers wait for it. */
  #asking: Promise<readonly string[]> | undefined;

  constructor(
    source: NamesrvAddr,
    options: { readonly clock: Clock; readonly signals?: Signals; readonly fetch?: typeof fetch },
  ) {
    this.#clock = options.clock;
    this.#signals = options.signals ?? new Signals();
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
    if (typeof source === "function") {
      this.#source = source;
    } else if (typeof source === "string" && isAddressServer(source)) {
      this.#source = () => this.#askServer(source);
    } else {
      const list = checked(typeof source === "string" ? source.split(";") : source);
      this.fixed = list;
      this.#source = () => Promise.resolve(list);
    }
  }

  /** Asks once. Rejects when there was no list in the answer. */
  async ask(): Promise<readonly string[]> {
    try {
      return checked(await this.#source());
    } catch (cause) {
      if (isRocketMQError(cause) && cause.code === "ROCKETMQ_CONNECT") throw cause;
      const reason = reasonOf(cause);
      throw new ConnectError(`Cannot get the list of name servers: ${reason}`, { cause });
    }
  }

  /** Asks, a few times if it must be, within the caller's time. */
  async first(timeout: number, signal: AbortSignal | undefined): Promise<readonly string[]> {
    signal?.throwIfAborted();
    const asking = this.#asking ??= this.#askRepeatedly().finally(() => this.#asking = undefined);
    return await orGiveUp(this.#clock, this.#signals, asking, {
      timeout,
      signal,
      late: () => new ConnectError(`Cannot get the list of name servers within ${Math.round(timeout)} ms`),
    });
  }

  /** Ends questions that are under way. */
  close(): void {
    this.#abort.abort(new ConnectError("Cannot get the list of name servers: the client was closed"));
  }

  async #askRepeatedly(): Promise<readonly string[]> {
    for (let tries = 1;; tries++) {
      try {
        return await this.ask();
      } catch (error) {
        if (tries === FIRST_TRIES || this.#abort.signal.aborted) throw error;
      }
      await this.#pause();
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.#abort;
      const end = () => {
        timer.cancel();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = this.#clock.setTimer(FIRST_PAUSE, end);
      signal.addEventListener("abort", end);
    });
  }

  async #askServer(url: string): Promise<readonly string[]> {
    const abort = new AbortController();
    const closed = () => abort.abort(this.#abort.signal.reason);
    const timer = this.#clock.setTimer(
      ASK_TIMEOUT,
      () => abort.abort(new Error(`${url}: no answer within ${ASK_TIMEOUT} ms`)),
    );
    this.#abort.signal.addEventListener("abort", closed);
    try {
      const response = await this.#fetch(url, { signal: abort.signal });
      if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
      const text = await textOf(response, url);
      return (text.trim().split("\n", 1)[0] ?? "").split(";");
    } finally {
      timer.cancel();
      this.#abort.signal.removeEventListener("abort", closed);
    }
  }
}

/** A list is short: what is longer than 64 KiB is none, and is not read to its end. */
async function textOf(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "", length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > LIST_MAX) throw new Error(`${url} answered more than ${LIST_MAX} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** A URL with a path other than "/" is an address server; from any other the scheme is stripped. */
function isAddressServer(source: string): boolean {
  return /^https?:\/\/[^/;]+\/[^;]*[^/;]/i.test(source.trim());
}

/** Trimmed, without empty entries and doubles. Throws `ArgumentError` when nothing is left or one cannot be read. */
function checked(entries: readonly string[]): readonly string[] {
  const addresses = entries.map((entry) => stripScheme(entry.trim())).filter((entry) => entry !== "");
  if (addresses.length === 0) throw new ArgumentError("Cannot use the list of name servers: it is empty");
  for (const address of addresses) parseAddress(address);
  return [...new Set(addresses)];
}
