// Settings of the measured programs: `CASE name=value…`, the same for every client and language.
import process from "node:process";

export interface Settings {
  /** "send", "push" and so on. */
  readonly kind: string;
  text(name: string): string;
  /** Without a `fallback` the setting is required. */
  number(name: string, fallback?: number): number;
}

/** Reads them; throws an `Error` that names what is missing or is no number. */
export function parseSettings(args: readonly string[]): Settings {
  const [kind = "", ...pairs] = args;
  const values = new Map(pairs.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 1) throw new Error(`A setting is name=value, got "${pair}"`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  }));
  const text = (name: string): string => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`The setting "${name}" is missing`);
    return value;
  };
  return {
    kind,
    text,
    number(name, fallback) {
      if (fallback !== undefined && !values.has(name)) return fallback;
      const value = Number(text(name));
      if (!Number.isFinite(value)) throw new Error(`The setting "${name}" must be a number, got "${text(name)}"`);
      return value;
    },
  };
}

/** The other way, for whoever starts such a program. */
export const settingArguments = (kind: string, values: Readonly<Record<string, string | number>>): string[] => [
  kind,
  ...Object.entries(values).map(([name, value]) => `${name}=${value}`),
];

/** What this program was started with. */
export const ownSettings = (): Settings => parseSettings(process.argv.slice(2));
