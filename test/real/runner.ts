import { type Scenario, type SerializeType, Trial, type TrialParts } from "./trial.ts";

const SERIALIZE_TYPES: readonly SerializeType[] = ["JSON", "ROCKETMQ"];
/** So long after its deadline a scenario may say what it was waiting for. */
const LAST_WORDS_MS = 2_000;
const END_MS = 20_000;

/** Runs scenarios, prints one line each, and counts. */
export class Runner {
  passed = 0;
  failed = 0;
  readonly #only: string | undefined;
  readonly #repeat: number;
  readonly #interruption = new AbortController();

  /** `only`: a part of the name; `repeat`: how often each is run, to find what happens now and then. */
  constructor(only?: string, repeat = 1) {
    this.#only = only;
    this.#repeat = repeat;
  }

  get interrupted(): boolean {
    return this.#interruption.signal.aborted;
  }

  /** Ends the running scenarios as failed; no other is begun. */
  interrupt(): void {
    this.#interruption.abort(new Error("interrupted"));
  }

  /** Those whose name holds the text that was asked for. */
  chosen(scenarios: readonly Scenario[]): readonly Scenario[] {
    const named = scenarios.filter(({ name }) => name.includes(this.#only ?? ""));
    return named.flatMap((scenario) => Array.from({ length: this.#repeat }, () => scenario));
  }

  /** All scenarios with both kinds of header: idle ones beside the others, then those that want the cluster alone. */
  async runAll(scenarios: readonly Scenario[], parts: Omit<TrialParts, "serializeType" | "signal">): Promise<void> {
    const lane = async (manner: Scenario["manner"], serializeTypes = SERIALIZE_TYPES): Promise<void> => {
      for (const serializeType of serializeTypes) {
        for (const scenario of scenarios) {
          if (scenario.manner === manner && !this.interrupted) await this.#run(scenario, { ...parts, serializeType });
        }
      }
    };
    await Promise.all([lane(undefined), ...SERIALIZE_TYPES.map((serializeType) => lane("idle", [serializeType]))]);
    await lane("alone");
  }

  /** What comes before or after scenarios; counted only if it fails. */
  async step(name: string, task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      this.#fail(name, error);
    }
  }

  async #run(scenario: Scenario, parts: Omit<TrialParts, "signal">): Promise<void> {
    const label = `${parts.version} ${parts.serializeType} ${scenario.name}`;
    const started = performance.now();
    const deadline = new AbortController();
    const timer = setTimeout(
      () => deadline.abort(new Error(`the deadline of ${scenario.deadlineMs / 1_000} s has passed`)),
      scenario.deadlineMs,
    );
    const signal = AbortSignal.any([deadline.signal, this.#interruption.signal]);
    const trial = new Trial({ ...parts, signal });
    const errors: unknown[] = [];
    try {
      await Promise.race([scenario.run(trial), tooLate(signal)]);
    } catch (error) {
      errors.push(error);
    }
    clearTimeout(timer);
    errors.push(...await Promise.race([trial.end(), tooLong()]));
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    if (errors.length === 0) {
      this.passed++;
      console.log(`ok     ${label}  (${seconds} s)`);
    } else {
      this.#fail(
        `${label}  (${seconds} s)`,
        ...errors,
        ...trial.background.slice(0, 5).map((error) => ["background", error]),
      );
    }
  }

  #fail(label: string, ...errors: unknown[]): void {
    this.failed++;
    console.log(`FAILED ${label}`);
    for (const error of errors) console.log(describe(error).replace(/^/gm, "       "));
  }
}

/** Rejects some time after the signal: the scenario's own error says more. */
const tooLate = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => setTimeout(() => reject(signal.reason), LAST_WORDS_MS));
  });

const tooLong = (): Promise<unknown[]> =>
  new Promise((resolve) => {
    setTimeout(() => resolve([new Error(`what it had started did not end within ${END_MS / 1_000} s`)]), END_MS)
      .unref?.();
  });

/** The error with its causes, and the errors of an AggregateError. */
function describe(error: unknown, isCause = false): string {
  if (Array.isArray(error)) return error.map((each) => describe(each, true)).join(": ");
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError ? error.errors : error.cause === undefined ? [] : [error.cause];
  const stack = isCause
    ? ""
    : error.stack?.split("\n").filter((line) => /^\s+at /.test(line)).slice(0, 6).join("\n") ?? "";
  return [`${error.name}: ${error.message}`, stack, ...inner.map((each) => `caused by ${describe(each, true)}`)]
    .filter((line) => line !== "").join("\n");
}
