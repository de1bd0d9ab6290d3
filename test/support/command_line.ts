import process from "node:process";

/**
 * What `parse` makes of a tool's arguments. Undefined when there is nothing to run: help was asked for, or they are wrong; that
 * and the usage have been printed then, and the exit code is set.
 */
export function optionsOf<Options extends { readonly help: boolean }>(
  args: readonly string[],
  parse: (args: readonly string[]) => Options,
  usage: string,
): Options | undefined {
  let options: Options;
  try {
    options = parse(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exitCode = 2;
    return undefined;
  }
  if (!options.help) return options;
  console.log(usage);
  return undefined;
}

/** The number that an option of the command line has; undefined when it was not given. Throws an `Error` that says what it takes. */
export function wholeNumber(option: string, text: string | undefined, least = 0): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${option} takes a whole number from ${least}, got "${text}"`);
}
