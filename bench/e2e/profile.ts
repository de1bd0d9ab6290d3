// The top of a CPU profile as V8 writes it: self time by function.

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

export interface ProfileLine {
  readonly name: string;
  /** "ours.js:120", empty for the engine's own. */
  readonly place: string;
  /** Of the time that was not idle. */
  readonly share: number;
  readonly ms: number;
}

/** The functions that took most time themselves, idle time left out. */
export function topOfProfile(text: string, lines: number): readonly ProfileLine[] {
  const { nodes, samples, timeDeltas } = JSON.parse(text) as Profile;
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const micros = new Map<string, number>();
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id);
    if (!frame || frame.functionName === "(idle)") continue;
    const file = frame.url.slice(frame.url.lastIndexOf("/") + 1);
    const key = `${frame.functionName || "(anonymous)"}\0${file === "" ? "" : `${file}:${frame.lineNumber + 1}`}`;
    const taken = timeDeltas[index] ?? 0;
    micros.set(key, (micros.get(key) ?? 0) + taken);
    busy += taken;
  }
  return [...micros].toSorted(([, a], [, b]) => b - a).slice(0, lines).map(([key, taken]) => {
    const [name = "", place = ""] = key.split("\0");
    return { name, place, share: taken / busy, ms: taken / 1e3 };
  });
}

export const profileText = (lines: readonly ProfileLine[]): string =>
  lines.map(({ name, place, share, ms }) =>
    `${(share * 100).toFixed(1).padStart(5)} %  ${ms.toFixed(0).padStart(6)} ms  ${name}  ${place}`.trimEnd()
  ).join("\n");
