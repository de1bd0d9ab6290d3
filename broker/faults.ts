import { ArgumentError } from "../client/errors.ts";
import { checkNames } from "../client/option_names.ts";

/** Misbehaves on purpose: for requests of `code` (all without one), `count` times (for ever without it). */
export interface FaultRule {
  readonly code?: number;
  readonly count?: number;
  readonly action: "drop" | "close" | "garble" | { readonly delay: number } | {
    readonly answer: number;
    readonly remark?: string;
  };
}

/** The rules of one cluster; of several that fit, the oldest is meant. */
export class Faults {
  readonly #rules = new Map<symbol, { readonly rule: FaultRule; left: number }>();

  /** Nothing goes wrong. */
  get isEmpty(): boolean {
    return this.#rules.size === 0;
  }

  /** Returns the function that ends the rule. Throws `ArgumentError` for a rule that means nothing. */
  add(rule: FaultRule): () => void {
    check(rule);
    const key = Symbol();
    if (rule.count !== 0) this.#rules.set(key, { rule, left: rule.count ?? Infinity });
    return () => void this.#rules.delete(key);
  }

  /** What is to be done to a request, if anything. */
  next(code: number): FaultRule["action"] | undefined {
    for (const [key, entry] of this.#rules) {
      const { code: wanted, action } = entry.rule;
      if (wanted !== undefined && wanted !== code) continue;
      if (--entry.left <= 0) this.#rules.delete(key);
      return action;
    }
    return undefined;
  }
}

const NAMES: ReadonlySet<unknown> = new Set(["drop", "close", "garble"]);

function check(rule: FaultRule): void {
  checkNames(rule, ["code", "count", "action"], "fault");
  const { code, count, action } = rule;
  if (code !== undefined && !Number.isInteger(code)) {
    throw new ArgumentError(`code must be a request code, got ${String(code)}`);
  }
  if (count !== undefined && !(Number.isInteger(count) && count >= 0)) {
    throw new ArgumentError(`count must be a whole number, got ${String(count)}`);
  }
  if (NAMES.has(action)) return;
  if (typeof action === "object" && action !== null) {
    checkNames(action, "delay" in action ? ["delay"] : ["answer", "remark"], "fault.action");
    if ("delay" in action && action.delay >= 0 && action.delay <= DELAY_MAX) return;
    if ("answer" in action && action.answer === (action.answer | 0) && isText(action.remark)) return;
  }
  throw new ArgumentError(
    `action must be "drop", "close", "garble", { delay: ms } or { answer: code, remark: text }, got ${
      JSON.stringify(action)
    }`,
  );
}

const isText = (remark: unknown): boolean => remark === undefined || typeof remark === "string";

/** Longest delay that a timer takes. */
const DELAY_MAX = 2_147_483_647;
