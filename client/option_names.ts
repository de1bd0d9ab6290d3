import { ArgumentError } from "./errors.ts";

/**
 * Refuses names that no option has: a typing error would be a setting that silently does nothing. `path` says where the
 * options stand, as in `topics.orders`. Throws `ArgumentError`, also when `options` is no object.
 */
export function checkNames(options: unknown, known: readonly string[], path = ""): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new ArgumentError(`${path === "" ? "The options" : path} must be an object`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !known.includes(name)) throw noOption(path === "" ? name : `${path}.${name}`);
  }
}

export const noOption = (name: string): ArgumentError =>
  new ArgumentError(`There is no option ${JSON.stringify(name)}`);
