/** Misbehaves on purpose: for requests of `code` (all without one), `count` times (for ever without it). */
export interface FaultRule {
  readonly code?: number;
  readonly count?: number;
  readonly action: "drop" | "close" | "garble" | { readonly delay: number } | {
    readonly answer: number;
    readonly remark?: string;
  };
}

/** The rules of one cluster, oldest first. */
export class Faults {
  readonly #rules = new Map<FaultRule, number>();

  add(rule: FaultRule): () => void {
    this.#rules.set(rule, rule.count ?? Infinity);
    return () => void this.#rules.delete(rule);
  }

  /** What is to be done to a request, if anything. */
  next(code: number): FaultRule["action"] | undefined {
    for (const [rule, left] of this.#rules) {
      if (left <= 0 || (rule.code !== undefined && rule.code !== code)) continue;
      if (left === 1) this.#rules.delete(rule);
      else this.#rules.set(rule, left - 1);
      return rule.action;
    }
    return undefined;
  }
}
