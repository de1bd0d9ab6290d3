/** The number that an option of the command line has; undefined when it was not given. Throws an `Error` that says what it takes. */
export function wholeNumber(option: string, text: string | undefined, least = 0): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${option} takes a whole number from ${least}, got "${text}"`);
}
