// What an operation is made of: cases, each with variants that do the same work, and the bars between them.

/** The engine family: some goals differ by it. */
export type Family = "node" | "deno" | "bun";

/** What an operation may know about where it runs. */
export interface Place {
  readonly family: Family;
  /** Folder of what the benchmark has built for itself. */
  readonly buildFolder: string;
  /** Folder that ali-ons is installed in; undefined when it is not to be measured. */
  readonly aliOnsFolder: string | undefined;
}

/** One way of doing the work of a case. */
export interface Variant {
  readonly name: string;
  /** The work of one run; a case says how many units that is. */
  run(): void | Promise<void>;
  /** What the work comes to, for comparing variants before anything is timed. Undefined: nothing to compare. */
  outcome(): unknown;
}

/** Two variants of which one is measured against the other. */
export interface Bar {
  readonly ours: string;
  readonly baseline: string;
  /** Most that ours may take, as a part of the baseline; absent where no goal is set. */
  readonly goal?: number | undefined;
  /** The best plain JavaScript we know for this work. */
  readonly isBestJs?: boolean;
}

export interface Case {
  readonly name: string;
  /** Of one message; 0 where there is none. */
  readonly bodyBytes: number;
  /** What a figure is per: "frame", "message". */
  readonly unit: string;
  /** Units of one run. */
  readonly perRun: number;
  readonly variants: readonly Variant[];
  readonly bars: readonly Bar[];
  /** Names of variants whose time is part of another's and is taken off it: [of, part]. */
  readonly without?: readonly (readonly [of: string, part: string])[];
  /** A batch is a multiple of so many runs: after them the work begins again. 1 unless given. */
  readonly period?: number;
  /** Ends what the case has opened. */
  close?(): void | Promise<void>;
}

/** A figure that has no baseline: a size, or a time with a limit of its own. */
export interface Fact {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Most it may be. */
  readonly limit?: number;
}

/** Makes a case. Only one is opened in a process: an engine optimizes a function best for the first work that it does. */
export type Opening = (place: Place) => Case | Promise<Case>;

export interface Operation {
  readonly name: string;
  readonly cases: readonly Opening[];
  /** Measured in a process of their own, like a case. */
  facts?(): Promise<readonly Fact[]>;
  /** In how many processes the facts are measured, the lowest counts; one unless given. */
  readonly processes?: number;
}

/** Throws unless all variants of a case come to the same. */
export async function requireAgreement({ name, variants }: Pick<Case, "name" | "variants">): Promise<void> {
  let first: { readonly variant: string; readonly text: string } | undefined;
  for (const variant of variants) {
    const outcome = await variant.outcome();
    if (outcome === undefined) continue;
    const text = JSON.stringify(outcome);
    if (!first) first = { variant: variant.name, text };
    else if (first.text !== text) {
      throw new Error(`${name}: "${variant.name}" comes to ${text}, but "${first.variant}" to ${first.text}`);
    }
  }
}
