import process from "node:process";
import { stripVTControlCharacters } from "node:util";
import { type ArgsDef, type CommandDef, renderUsage, runCommand } from "citty";

/** The command was called wrongly: exit code 2, and the usage on stderr. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Runs the command that `args` name. Data goes to stdout, talk to stderr; resolves with the exit code. */
export async function runCommandLine<T extends ArgsDef>(
  rootOf: CommandDef<T>,
  args: readonly string[],
): Promise<number> {
  // What a command's arguments are called matters to the command alone.
  const root = rootOf as unknown as CommandDef;
  const { command, rest } = await commandOf(root, args);
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`${plain(await usageOf(root, command), process.stdout)}\n`);
    return 0;
  }
  const { version } = await metaOf(root);
  if (version !== undefined && args.length === 1 && args[0] === "--version") {
    process.stdout.write(`${version}\n`);
    return 0;
  }
  try {
    if (!command.run) throw new UsageError(rest[0] ? `There is no command "${rest[0]}"` : "Name a command");
    refuseUnknown(command.args as ArgsDef, rest);
    await runCommand(command, { rawArgs: rest });
    return 0;
  } catch (error) {
    const wrongCall = error instanceof UsageError || isCittyError(error);
    if (wrongCall) process.stderr.write(`${plain(await usageOf(root, command), process.stderr)}\n\n`);
    process.stderr.write(`${describe(error)}\n`);
    return wrongCall ? 2 : 1;
  }
}

/** The subcommand that the first word names, or the command itself. */
async function commandOf(root: CommandDef, args: readonly string[]): Promise<{ command: CommandDef; rest: string[] }> {
  const commands = typeof root.subCommands === "function" ? await root.subCommands() : await root.subCommands;
  const found = args[0] === undefined || !commands || !Object.hasOwn(commands, args[0]) ? undefined : commands[args[0]];
  const command = typeof found === "function" ? await found() : await found;
  return command ? { command, rest: args.slice(1) } : { command: root, rest: [...args] };
}

const usageOf = (root: CommandDef, command: CommandDef): Promise<string> =>
  command === root ? renderUsage(root) : renderUsage(command, root);

const metaOf = async ({ meta }: CommandDef) => (typeof meta === "function" ? await meta() : await meta) ?? {};

/** citty colours whatever reads it; where that is no terminal, or nobody wants colours, they go. */
const plain = (text: string, { isTTY }: { isTTY?: boolean }): string =>
  isTTY && !process.env["NO_COLOR"] ? text : stripVTControlCharacters(text);

/** citty lets unknown options and words pass; a typing error should not start a broker with other ports. */
function refuseUnknown(known: ArgsDef = {}, words: readonly string[]): void {
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (!word.startsWith("--")) throw new UsageError(`What is "${word}"?`);
    const [, no, name = "", value] = /^--(no-)?([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    const option = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!option || (no && option.type !== "boolean")) {
      throw new UsageError(`There is no option "${word.split("=", 1)[0]}"`);
    }
    if (option.type === "boolean" && value !== undefined && !(/^(true|false)$/.test(value) && !no)) {
      throw new UsageError(`The option "--${name}" is true or false, got "${value}"`);
    }
    if (option.type === "string" && value === undefined) {
      if (i + 1 >= words.length || words[i + 1]?.startsWith("--")) {
        throw new UsageError(`The option "--${name}" wants a value`);
      }
      i++;
    }
  }
}

const isCittyError = (error: unknown): boolean => error instanceof Error && error.name === "CLIError";

/** An error with its causes, one line each; what an error has said already is not said again by its cause. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.message || error.name;
  const inner = error instanceof AggregateError ? error.errors.map(describe) : [];
  const causes = [...inner, ...(error.cause === undefined ? [] : [describe(error.cause)])];
  return [text, ...causes.filter((cause) => !text.includes(cause)).map((cause) => cause.replace(/^/gm, "  "))].join(
    "\n",
  );
}

/** Reads an option's text as an integer from `min` to `max`. */
export function integer(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new UsageError(`The option "--${name}" must be ${min}..${max}, got "${text}"`);
}
