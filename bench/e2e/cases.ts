// The rows of the end-to-end table: what is done, how often, and what ours may cost.

export const CLIENTS = ["ours", "raw socket", "Java", "Go", "ali-ons"] as const;
export type ClientName = typeof CLIENTS[number];

/** Ours may cost at most `goal` times the CPU of `baseline`; without a goal it is only told. */
export interface Bar {
  readonly baseline: string;
  readonly goal?: number;
}

/** What rows are made of. */
export interface BenchCase {
  readonly name: string;
  readonly bars: readonly Bar[];
  /** In the order of the table. */
  readonly clients: readonly string[];
}

export interface EndToEndCase extends BenchCase {
  readonly kind: "send" | "push" | "through";
  readonly bodyBytes: number;
  /** Sends in flight; 0 where that says nothing. */
  readonly window: number;
  readonly messages: number;
  readonly warmUp: number;
  /** Of Java: its compilers need longer. */
  readonly javaWarmUp: number;
  /** Bytes of a body while Java warms up: large ones would fill the disk. */
  readonly javaWarmUpBytes: number;
  /** Messages that wait in the topic before the first run. */
  readonly backlog: number;
  readonly clients: readonly ClientName[];
}

/** Peak of resident memory: at most this times the raw socket's. */
export const MEMORY_GOAL = 1.3;

/** Messages a second where the rate is given. */
export const RATE = 1_000;

const raw = (goal: number): Bar => ({ baseline: "raw socket", goal });
const java = (goal: number): Bar => ({ baseline: "Java", goal });
/** No row may be above Java, also those that have a bar against something else. */
const NOT_ABOVE_JAVA = java(1);

const sendBars: Readonly<Record<string, readonly Bar[]>> = {
  "128/512": [raw(1.6), java(0.4)],
  "1024/512": [raw(1.6), java(0.4)],
  "16384/512": [raw(1.3), NOT_ABOVE_JAVA],
  "128/64": [raw(1.5), NOT_ABOVE_JAVA],
  "128/1": [raw(1.3), NOT_ABOVE_JAVA],
};

const sendCase = (bodyBytes: number, window: number, messages: number, warmUp: number, javaWarmUp: number) => ({
  name: `send-${bodyBytes}-w${window}`,
  kind: "send" as const,
  bodyBytes,
  window,
  messages,
  warmUp,
  javaWarmUp,
  javaWarmUpBytes: Math.min(bodyBytes, 1024),
  backlog: 0,
  clients: CLIENTS,
  bars: sendBars[`${bodyBytes}/${window}`] ?? [NOT_ABOVE_JAVA],
});

const pushCase = (bodyBytes: number, messages: number, warmUp: number, javaWarmUp: number, bars: readonly Bar[]) => ({
  name: `push-${bodyBytes}`,
  kind: "push" as const,
  bodyBytes,
  window: 0,
  messages,
  warmUp,
  javaWarmUp,
  javaWarmUpBytes: bodyBytes,
  // Pulls are not evenly spread over the queues: none may run dry before the count is reached.
  backlog: Math.ceil((messages + javaWarmUp) * 1.15 / 32) * 32,
  clients: CLIENTS,
  bars,
});

export const cases: readonly EndToEndCase[] = [
  sendCase(128, 512, 300_000, 100_000, 200_000),
  sendCase(1024, 512, 200_000, 100_000, 200_000),
  sendCase(16_384, 512, 25_000, 10_000, 100_000),
  sendCase(128, 64, 200_000, 50_000, 128_000),
  sendCase(1024, 64, 150_000, 50_000, 128_000),
  sendCase(16_384, 64, 25_000, 10_000, 100_000),
  sendCase(128, 1, 20_000, 5_000, 20_000),
  sendCase(1024, 1, 20_000, 5_000, 20_000),
  sendCase(16_384, 1, 10_000, 2_000, 20_000),
  pushCase(128, 1_200_000, 100_000, 300_000, [raw(2.5), java(0.35)]),
  pushCase(1024, 400_000, 50_000, 200_000, [raw(2.2), NOT_ABOVE_JAVA]),
  pushCase(16_384, 100_000, 20_000, 20_000, [raw(1.5), NOT_ABOVE_JAVA]),
  {
    name: "through-128",
    kind: "through",
    bodyBytes: 128,
    window: 0,
    messages: 10_000,
    warmUp: 3_000,
    javaWarmUp: 5_000,
    javaWarmUpBytes: 128,
    backlog: 0,
    clients: CLIENTS.filter((name) => name !== "raw socket"),
    bars: [{ baseline: "ali-ons", goal: 0.7 }, NOT_ABOVE_JAVA],
  },
];

/** The cases whose names contain one of the parts; all when there are none. Throws when a part fits no case. */
export function chosenCases<Case extends BenchCase>(only: readonly string[], cases: readonly Case[]): readonly Case[] {
  for (const part of only) {
    if (!cases.some(({ name }) => name.includes(part))) {
      throw new Error(`--only "${part}" fits no case: ${cases.map(({ name }) => name).join(", ")}`);
    }
  }
  return only.length === 0 ? cases : cases.filter(({ name }) => only.some((part) => name.includes(part)));
}
